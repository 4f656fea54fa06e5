"""Chains of casts over all datatypes, at the ends of their ranges: one cast of two means the same."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.cast import Cast
from edgewright.passes.clean.merge_casts import merge_casts

PLAIN = [dtype for dtype in DType if dtype.numpy.kind in "biuf" and not dtype.is_fixed_point]
CASTABLE = [*PLAIN, DType.BFLOAT_16]
NUMBERS = (0, 1, 2, 127, 128, 255, 256, 2049, 32767, 65535, 65537, 2**24 + 1, 2**31 - 1, 2**32 - 1, 2**53 + 1)
FRACTIONS = (0.1, 1 / 3, 2.5, 1e-8, 1e-40, 3e38, 1e300)


def values_of(dtype: DType) -> Array:
    """The ends of a datatype's range, and numbers that narrower ones cannot hold."""
    if dtype == DType.BOOL_8:
        return np.array([False, True])
    if dtype.is_float:
        limits = ml_dtypes.finfo(dtype.numpy)
        numbers = [float(limits.max), float(limits.smallest_subnormal), *NUMBERS, *FRACTIONS]
        with np.errstate(over="ignore"):
            found = np.array([*numbers, *(-n for n in numbers)]).astype(dtype.numpy)
        return found[np.isfinite(found.astype(np.float64))]
    limits = np.iinfo(dtype.numpy)
    numbers = {limits.min, limits.min + 1, limits.max, limits.max - 1, *NUMBERS, *(-n for n in NUMBERS)}
    return np.array(sorted(n for n in numbers if limits.min <= n <= limits.max), dtype.numpy)


def held_by(values: Array, dtype: DType) -> Array:
    """Those whose whole part an integer datatype can hold: beyond its range a cast has no meaning."""
    if dtype.is_float or dtype == DType.BOOL_8 or values.dtype.kind in "biu":
        return values
    limits = np.iinfo(dtype.numpy)
    wide = values.astype(np.float64)
    return values[(wide > limits.min) & (wide < float(limits.max) * (1 - 2**-24))]


def chain(source: DType, between: DType, target: DType, size: int) -> Graph:
    graph = Graph("g")
    graph.add_input("x", TensorType((size,), source))
    graph.add(Node("first", Cast(dtype=between), ["x"], ["b"]))
    graph.add(Node("second", Cast(dtype=target), ["b"], ["y"]))
    graph.outputs = ["y"]
    return graph


@pytest.mark.parametrize("source", CASTABLE, ids=lambda dtype: dtype.name)
def test_casts_of_any_datatypes_keep_their_meaning_when_they_merge(source: DType) -> None:
    for between, target in product(CASTABLE, CASTABLE):
        values = held_by(held_by(values_of(source), between), target)
        graph = chain(source, between, target, len(values))
        with np.errstate(all="ignore"):
            wanted = reference.run(graph, {"x": values})["y"]
            merge_casts(graph)
            found = reference.run(graph, {"x": values})["y"]
        np.testing.assert_array_equal(found, wanted, err_msg=f"{source.name} {between.name} {target.name}")


@pytest.mark.parametrize("source", PLAIN, ids=lambda dtype: dtype.name)
def test_casts_merge_behind_a_wider_datatype_of_the_same_kind(source: DType) -> None:
    for between in PLAIN:
        is_same_kind = source.is_float == between.is_float and source.is_signed == between.is_signed
        if source != DType.FLOAT_8E5M2 and is_same_kind and between.numpy.itemsize > source.numpy.itemsize:
            graph = chain(source, between, DType.FLOAT_32, 1)
            merge_casts(graph)
            assert len(graph.nodes) == 1, between.name
