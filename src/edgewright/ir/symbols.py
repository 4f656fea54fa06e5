"""Replaces symbolic dimensions by numbers: in an op's parameters, in types, from the shapes of inputs."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from edgewright.core.errors import ShapeMismatch, Where
from edgewright.ir.dims import Expr, evaluate
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.shape_advice import advise_shape
from edgewright.ir.types import TensorType

_BATCH = re.compile(r"batch|^(n|b|bs)$", re.IGNORECASE)
_SEQUENCE = re.compile(r"seq|length|token", re.IGNORECASE)


def resolve(value: Any, values: Mapping[str, int]) -> Any:
    """A parameter, a dimension, a type or nested tuples of them, with symbols replaced."""
    if isinstance(value, Expr):
        return evaluate(value, values)
    if isinstance(value, TensorType):
        return value.with_shape(evaluate(dim, values) for dim in value.shape)
    if isinstance(value, tuple):
        return tuple(resolve(item, values) for item in value)
    return value


def resolve_op(op: Op, values: Mapping[str, int]) -> Op:
    """The op with the symbols in its parameters replaced."""
    changed = {
        item.name: resolve(getattr(op, item.name), values)
        for item in dataclasses.fields(op)
        if symbols_of(getattr(op, item.name))
    }
    return dataclasses.replace(op, **changed) if changed else op


def symbols_of(value: Any) -> frozenset[str]:
    """Names of the symbols in a parameter or shape."""
    if isinstance(value, (Expr, TensorType)):
        return value.symbols
    if isinstance(value, tuple):
        return frozenset().union(*(symbols_of(item) for item in value))
    return frozenset()


def batch_symbols(inputs: Mapping[str, TensorType]) -> frozenset[str]:
    """Symbols of first dimensions that are named like a batch, or nowhere else and not like a sequence."""
    first: set[str] = set()
    elsewhere: set[str] = set()
    for tensor_type in inputs.values():
        for axis, dim in enumerate(tensor_type.shape):
            if isinstance(dim, Expr):
                (first if axis == 0 else elsewhere).update(dim.symbols)
    others = {name for name in first if name in elsewhere or _SEQUENCE.search(name)}
    return frozenset(name for name in first if name not in others or _BATCH.search(name))


def symbol_values(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The values of the symbols for given input shapes; a contradiction is an error."""
    values: dict[str, int] = {}
    for name in graph.inputs:
        expected, found = graph.types[name].shape, shapes[name]
        fits = len(expected) == len(found)
        for dim, number in zip(expected, found, strict=False):
            if isinstance(dim, Expr) and len(dim.symbols) == 1 and str(dim) in dim.symbols:
                fits = fits and values.setdefault(str(dim), number) == number
            elif isinstance(dim, int):
                fits = fits and dim == number
        if not fits:
            text = ",".join(str(dim) for dim in expected)
            raise ShapeMismatch(
                f"shape {list(found)} does not fit [{text}]" + _already(values, expected),
                Where(tensor=name),
                do=advise_shape(found, expected),
            )
    return values


def _already(values: Mapping[str, int], shape: tuple[Any, ...]) -> str:
    known = [f"{name} = {values[name]}" for name in sorted(symbols_of(shape)) if name in values]
    return f" ({', '.join(known)})" if known else ""
