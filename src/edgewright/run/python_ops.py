"""Python functions as implementations of custom ops: `@edgewright.op_package`."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.ir.contract import dtype_of_word
from edgewright.ir.op import Param
from edgewright.ir.types import TensorType, type_of
from edgewright.ops.package import Meaning, PackageOpDefinition, ShapeRule, register_meaning

Function = TypeVar("Function", bound=Callable[..., Any])
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def op_package(
    package: str, op: str | None = None, *, shapes: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Registers a function as the implementation of a custom op, for conversion, quantization and every run.

    The function gets the op's inputs as numpy arrays (None where one is left out) and its attributes as
    keywords; it returns an array, or a tuple of them where the op has several outputs.

    Args:
        package: the name of the op package in QNN artifacts.
        op: the op's type in the source model; the function's own name where it is left out.
        shapes: gets the inputs' shapes and the attributes, and returns a list with the shape of each output,
            or with pairs of a shape and a data type such as 'int32'. Without it the function is run on
            zeros.
    """

    def register_function(function: Function) -> Function:
        name = op or function.__name__
        for kind, text in (("package", package), ("op", name)):
            if not _NAME.fullmatch(text):
                raise UsageError(
                    f"{kind} '{shown(text)}' is not a valid name",
                    do="use letters, digits, '_' and '.'",
                )
        meaning = _make_meaning(function)
        rule = _infer_by_running(function, name) if shapes is None else _infer_by_shapes(shapes, name)
        definition = PackageOpDefinition(package, name, is_open=True, shapes=rule)
        register_meaning(package, name, meaning, definition)
        return function

    return register_function


def _make_meaning(function: Callable[..., Any]) -> Meaning:
    def run(
        inputs: Sequence[Array | None], params: Mapping[str, Param], results: Sequence[TensorType]
    ) -> Sequence[Array]:
        del results
        return _list_outputs(function(*inputs, **{name: param.value for name, param in params.items()}))

    return run


def _list_outputs(result: Any) -> list[Array]:
    return list(result) if isinstance(result, tuple | list) else [np.asarray(result)]


def _infer_by_running(function: Callable[..., Any], name: str) -> ShapeRule:
    def infer_types(inputs: Sequence[TensorType | None], params: Mapping[str, Any]) -> Sequence[TensorType]:
        for given in inputs:
            if given is not None and not given.is_static:
                raise BadInput(
                    f"the shape of an output depends on {given}, which has open dimensions",
                    Where(op=name),
                    do=f"fix them with {spell_option('input_shapes')}, or give shapes= to op_package",
                )
        zeros = [None if t is None else np.zeros(t.static_shape(), t.dtype.numpy) for t in inputs]
        try:
            outputs = _list_outputs(function(*zeros, **params))
        except Exception as problem:
            raise BadInput(
                f"the function failed on a trial run with zeros: {type(problem).__name__}: {shown(problem)}",
                Where(op=name),
                do="give shapes= to op_package",
            ) from problem
        return [type_of(_narrow_array(np.asarray(array))) for array in outputs]

    return infer_types


def _narrow_array(array: Array) -> Array:
    # numpy turns a lone Python number into float64, which no network means.
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _infer_by_shapes(shapes: Callable[..., Any], name: str) -> ShapeRule:
    def infer_types(inputs: Sequence[TensorType | None], params: Mapping[str, Any]) -> Sequence[TensorType]:
        answer = shapes(*(None if given is None else given.shape for given in inputs), **params)
        if isinstance(answer, tuple) and all(isinstance(dim, int) for dim in answer):
            answer = [answer]
        first = next((given.dtype for given in inputs if given is not None), dtype_of_word("float32"))
        try:
            pairs = [item if _is_pair(item) else (item, None) for item in answer]
            return [TensorType(tuple(shape), dtype_of_word(word) if word else first) for shape, word in pairs]
        except (TypeError, ValueError, KeyError):
            raise BadInput(
                f"shapes= of op_package returned {shown(answer)}, expected a list of shapes",
                Where(op=name),
                do="return a list such as [(1, 10)] or [((1, 10), 'int32')]",
            ) from None

    return infer_types


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str)
