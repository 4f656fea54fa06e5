"""Holds a node against ONNX's own signature of its op, so that translations need not expect nonsense."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import onnx

from edgewright.core.errors import BadInput, TypeMismatch, shown
from edgewright.core.numbers import DType
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import ONNX_CODES

_Option = onnx.defs.OpSchema.FormalParameterOption


@dataclass(frozen=True)
class _Formal:
    """One input place; ``variable`` is the name of its type where all of that name must be equal."""

    name: str
    variable: str | None
    is_required: bool
    dtypes: frozenset[str]


@dataclass(frozen=True)
class _Signature:
    inputs: tuple[_Formal, ...]
    input_range: tuple[int, int]
    output_range: tuple[int, int]
    attributes: dict[str, int]
    required: frozenset[str]


def check_node(node: SourceNode, dtypes: Sequence[DType | None]) -> None:
    """Counts, attributes and datatypes; ``dtypes`` is None where an input is left out or no tensor."""
    signature = _find_signature(node.op_type, node.version, node.domain)
    if signature is None:
        return
    _check_count(node, "inputs", len(node.inputs), signature.input_range)
    _check_count(node, "outputs", len(node.outputs), signature.output_range)
    _check_attributes(node, signature)
    meaning: dict[str, DType] = {}
    for index, value in enumerate(node.inputs):
        formal = signature.inputs[min(index, len(signature.inputs) - 1)]
        if not value and formal.is_required:
            raise BadInput(f"input '{formal.name}' is missing", node.where, do="export the model again")
        dtype = dtypes[index]
        if dtype is not None:
            _check_dtype(node, formal, dtype, meaning)


@lru_cache(maxsize=1024)
def _find_signature(name: str, version: int, domain: str) -> _Signature | None:
    schema = _find_schema(name, version, domain)
    if schema is None:
        return None
    return _Signature(
        tuple(_read_formal(item) for item in schema.inputs),
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        {name: int(cast(Any, item.type).value) for name, item in schema.attributes.items()},
        frozenset(name for name, item in schema.attributes.items() if item.required),
    )


def _find_schema(name: str, version: int, domain: str) -> onnx.defs.OpSchema | None:
    """The op at the model's opset; some exporters use an op before its time, then its newest form."""
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return onnx.defs.get_schema(name, domain) if onnx.defs.has(name, domain) else None


def _read_formal(item: onnx.defs.OpSchema.FormalParameter) -> _Formal:
    is_variable = item.is_homogeneous and "(" not in item.type_str
    return _Formal(
        item.name,
        item.type_str if is_variable else None,
        item.option != _Option.Optional,
        frozenset(item.types),
    )


def _check_count(node: SourceNode, kind: str, found: int, limits: tuple[int, int]) -> None:
    least, most = limits
    if least <= found <= most:
        return
    expected = str(least) if least == most else f"{least} to {most}" if most < 1 << 30 else f"{least} or more"
    raise BadInput(f"{found} {kind} are given, expected {expected}", node.where, do="export the model again")


def _check_attributes(node: SourceNode, signature: _Signature) -> None:
    if len(node.attributes) < len(node.proto.attribute) or "" in node.attributes:
        raise BadInput("an attribute is there twice or has no name", node.where, do="export the model again")
    for name, attribute in node.attributes.items():
        expected = signature.attributes.get(name, attribute.type)
        # The oldest models do not say the type of an attribute at all.
        if attribute.type not in {expected, onnx.AttributeProto.UNDEFINED}:
            raise BadInput(
                f"attribute '{shown(name)}' is of type {_spell_kind(attribute.type)}, "
                f"expected {_spell_kind(expected)}",
                node.where,
                do="export the model again",
            )
    missing = signature.required.difference(node.attributes)
    if missing:
        raise BadInput(f"attribute '{min(missing)}' is missing", node.where, do="export the model again")


def _check_dtype(node: SourceNode, formal: _Formal, dtype: DType, meaning: dict[str, DType]) -> None:
    expected = meaning.setdefault(formal.variable, dtype) if formal.variable else dtype
    if expected != dtype:
        raise TypeMismatch(
            f"input '{formal.name}' is {spell_dtype(dtype)}, "
            f"expected {spell_dtype(expected)} as an input before it",
            node.where,
            do="cast one of them in the source model",
        )
    if f"tensor({spell_dtype(dtype)})" not in formal.dtypes:
        raise TypeMismatch(
            f"input '{formal.name}' is {spell_dtype(dtype)}, "
            f"which ONNX does not define for opset {node.version}",
            node.where,
            do="cast it in the source model",
        )


def _spell_kind(code: int) -> str:
    return onnx.AttributeProto.AttributeType.Name(code).lower() if code in range(15) else str(code)


def spell_dtype(dtype: DType) -> str:
    """A datatype as ONNX writes it."""
    return onnx.TensorProto.DataType.Name(ONNX_CODES[dtype]).lower() if dtype in ONNX_CODES else dtype.name
