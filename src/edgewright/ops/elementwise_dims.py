"""Arithmetic of symbolic dimensions, element by element: they live in arrays of Python objects."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.dims import Dim, Expr, lower_bound, maximum


def compare_objects(relation: Callable[..., Any], left: Array, right: Array) -> Array:
    """What a relation says of dimensions or strings; TypeError where it depends on a symbol's value."""
    decide = np.frompyfunc(lambda a, b: _decided(relation, a, b), 2, 1)
    result: Array = np.asarray(decide(left, right), object)
    is_symbolic = any(isinstance(item, Expr) for array in (left, right) for item in array.reshape(-1))
    return result if is_symbolic else result.astype(np.bool_)


def maximum_objects(left: Array, right: Array) -> Array:
    """The larger dimension of each pair."""
    return np.asarray(np.frompyfunc(maximum, 2, 1)(left, right), object)


def minimum_objects(left: Array, right: Array) -> Array:
    """The smaller dimension of each pair: what the larger one leaves of the sum."""
    return np.asarray(np.frompyfunc(lambda a, b: a + b - maximum(a, b), 2, 1)(left, right), object)


def divide_objects(left: Array, right: Array) -> Array:
    """Quotients of dimensions, rounded down."""
    if any(isinstance(item, int) and item == 0 for item in np.asarray(right).reshape(-1)):
        raise ValueError("a dimension is divided by zero")
    return np.asarray(np.floor_divide(left, right), object)


def _decided(relation: Callable[..., Any], left: Any, right: Any) -> bool:
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        return bool(relation(left, right))
    sign = _sign(left - right)
    if sign is None:
        raise TypeError("the relation depends on a symbolic dimension")
    return bool(relation(sign, 0))


def _sign(difference: Dim) -> int | None:
    """-1, 0 or 1 where every value of the symbols gives that sign."""
    if not isinstance(difference, Expr):
        return int(difference > 0) - int(difference < 0)
    if (lower_bound(difference) or 0) > 0:
        return 1
    return -1 if (lower_bound(difference * -1) or 0) > 0 else None
