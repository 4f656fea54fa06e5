"""Custom ops of any source as package ops: attributes become parameters, types of results are found."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, UnsupportedOp, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Param
from edgewright.ir.types import TensorType
from edgewright.ops.package import PackageOp, PackageOpDefinition, PackageParam, package_op

Declared = Callable[[int], TensorType | None]


def make_package_op(
    definition: PackageOpDefinition,
    attributes: Mapping[str, Any],
    inputs: Sequence[TensorType | None],
    declared: Declared,
    where: Where,
    outputs: int,
) -> PackageOp:
    """The op for a source's node.

    Args:
        definition: what its package says of it.
        attributes: what the source says beside its inputs.
        inputs: the types of its inputs, None where one is left out.
        declared: what the model says of an output's type.
        where: the node.
        outputs: how many outputs the node has.
    """
    if definition.inputs and len(inputs) > len(definition.inputs):
        raise BadInput(
            f"the node has {len(inputs)} inputs, package '{definition.package}' describes "
            f"{len(definition.inputs)}",
            where,
            do="correct the package's description",
        )
    values = tuple(_make_params(definition, attributes, where))
    results = _find_results(definition, values, inputs, declared, where, outputs)
    return package_op(definition.package, definition.type).of(values, results)


def _make_params(definition: PackageOpDefinition, attributes: Mapping[str, Any], where: Where) -> list[Param]:
    params = [_make_param(param, attributes, where) for param in definition.params]
    named = {param.name for param in definition.params}
    loose = {name: value for name, value in attributes.items() if name not in named}
    if definition.is_open:
        params += [_guess_param(name, value, where) for name, value in sorted(loose.items())]
    elif loose:
        raise BadInput(
            f"attribute '{shown(min(loose))}' is not among the parameters that package "
            f"'{definition.package}' describes: {', '.join(sorted(named)) or 'none'}",
            where,
            do="add a Parameter of that name to the package's description",
        )
    return [param for param in params if param is not None]


def _make_param(param: PackageParam, attributes: Mapping[str, Any], where: Where) -> Param | None:
    value = attributes.get(param.name, param.default)
    if value is None:
        if param.is_mandatory:
            raise BadInput(
                f"the node has no attribute '{param.name}', which its package says is mandatory",
                where,
                do="give it in the source model, or a Default in the package's description",
            )
        return None
    if isinstance(value, str) and value in param.words:
        value = param.words.index(value)
    if param.is_tensor:
        return Param(param.name, param.dtype, _nest(np.asarray(value, param.dtype.numpy)), True)
    return Param(param.name, param.dtype, _convert_scalar(param, value, where), False)


def _convert_scalar(param: PackageParam, value: Any, where: Where) -> Any:
    kinds: dict[bool, type] = {True: float, False: int}
    if param.dtype == DType.STRING:
        return str(value)
    try:
        number = kinds[param.dtype.is_float](value)
    except (TypeError, ValueError):
        raise BadInput(
            f"attribute '{param.name}' is {shown(value)}, expected a scalar of {param.dtype.name}",
            where,
            do="correct the source model, or the parameter's Datatype and Shape",
        ) from None
    return bool(number) if param.dtype == DType.BOOL_8 else number


def _guess_param(name: str, value: Any, where: Where) -> Param:
    """A parameter of a function that has no description: its type is that of the value."""
    if isinstance(value, str):
        return Param(name, DType.STRING, value, False)
    array: Array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise BadInput(f"attribute '{shown(name)}' is neither a number nor a text", where, do="leave it out")
    dtype = {"f": DType.FLOAT_32, "b": DType.BOOL_8}.get(array.dtype.kind, DType.INT_32)
    if array.ndim == 0:
        return Param(name, dtype, array.item(), False)
    return Param(name, dtype, _nest(array.astype(dtype.numpy)), True)


def _find_results(
    definition: PackageOpDefinition,
    values: Sequence[Param],
    inputs: Sequence[TensorType | None],
    declared: Declared,
    where: Where,
    outputs: int,
) -> tuple[TensorType, ...]:
    """The package's word counts before the model's (guide 10629)."""
    if definition.shapes is not None:
        results = tuple(definition.shapes(inputs, {param.name: param.value for param in values}))
        if len(results) != outputs:
            raise BadInput(
                f"package '{definition.package}' tells {len(results)} output shapes, the node has {outputs}",
                where,
            )
        return results
    types = [declared(index) for index in range(outputs)]
    if None in types:
        raise UnsupportedOp(
            f"the shape of output {types.index(None)} of op '{definition.type}' is neither in the model nor "
            f"told by package '{definition.package}'",
            where,
            do="run ONNX's shape inference on the model, give --converter_op_package_lib, or register a "
            "function with @edgewright.op_package",
        )
    return tuple(item for item in types if item is not None)


def _nest(data: Array) -> Any:
    return tuple(_nest(item) for item in data) if data.ndim else data.item()
