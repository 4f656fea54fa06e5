"""Every pool over any geometry, against a loop over its windows."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY
from edgewright.ir.types import TensorType
from edgewright.ops.pool import Pool, Rounding

POOLS = sorted((op for op in REGISTRY.values() if issubclass(op, Pool)), key=lambda op: op.qnn_name())
OPTIONS = {"count_pad_for_edges": st.booleans(), "rounding_mode": st.sampled_from(Rounding)}


@st.composite
def geometries(draw: st.DrawFn, kind: type[Pool]) -> tuple[Pool, tuple[int, ...]]:
    """A pool whose windows all touch the data, and the spatial sizes of its input."""
    sizes, windows, strides, pads = [], [], [], []
    for _ in range(kind.axes):
        window = draw(st.integers(1, 4))
        pad = st.integers(0, window - 1)
        windows.append(window)
        strides.append(draw(st.integers(1, 4)))
        pads.append((draw(pad), draw(pad)))
        sizes.append(draw(st.integers(max(1, window - sum(pads[-1])), 7)))
    options = {name: draw(values) for name, values in OPTIONS.items() if hasattr(kind, name)}
    pool = kind(filter_size=tuple(windows), stride=tuple(strides), pad_amount=tuple(pads), **options)
    return pool, tuple(sizes)


def starts_of(pool: Pool, axis: int, size: int) -> list[int]:
    """Where the windows of an axis begin; negative in the padding in front."""
    before, after = (int(pad) for pad in pool.pad_amount[axis])
    window, stride = pool.filter_size[axis], pool.stride[axis]
    starts = [s for s in range(-before, size + after, stride) if s + window <= size + after]
    beyond = starts[-1] + stride
    # Rounded up: one more window where elements are left over, unless it begins behind the data.
    if pool.is_ceil() and starts[-1] + window < size + after and beyond < size:
        starts.append(beyond)
    return starts


def pooled(pool: Pool, x: Array) -> Array:
    """The definition, one window at a time."""
    sizes = x.shape[1:-1]
    starts = [starts_of(pool, axis, size) for axis, size in enumerate(sizes)]
    result = np.zeros((x.shape[0], *map(len, starts), x.shape[-1]))
    for place in product(*(range(len(item)) for item in starts)):
        corner = [item[i] for item, i in zip(starts, place, strict=True)]
        inside = tuple(
            slice(max(c, 0), min(c + window, size))
            for c, window, size in zip(corner, pool.filter_size, sizes, strict=True)
        )
        elements = x[(slice(None), *inside)].reshape(x.shape[0], -1, x.shape[-1]).astype(np.float64)
        result[(slice(None), *place)] = reduced(pool, elements, counted_taps(pool, corner, sizes))
    return result


def counted_taps(pool: Pool, corner: list[int], sizes: tuple[int, ...]) -> int:
    """Elements of a window that are data or declared padding."""
    ends = [size + int(after) for size, (_, after) in zip(sizes, pool.pad_amount, strict=True)]
    return int(
        np.prod([min(c + w, end) - c for c, w, end in zip(corner, pool.filter_size, ends, strict=True)])
    )


def reduced(pool: Pool, elements: Array, taps: int) -> Array:
    name = pool.qnn_name()
    if name.startswith("PoolMax"):
        return elements.max(1)
    if name == "L2Pool2d":
        return np.sqrt(np.square(elements).mean(1))
    divisor = taps if pool.count_pad_for_edges else elements.shape[1]
    return elements.sum(1) / divisor


@pytest.mark.parametrize("kind", POOLS, ids=lambda kind: kind.qnn_name())
@given(data=st.data())
def test_a_pool_is_what_its_windows_say(kind: type[Pool], data: st.DataObject) -> None:
    pool, sizes = data.draw(geometries(kind))
    x = np.random.default_rng(len(sizes)).normal(size=(2, *sizes, 3)).astype(np.float32)
    wanted = pooled(pool, x)
    (found,) = pool.compute(x)
    assert found.shape == pool.infer(TensorType(x.shape))[0].shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    graph = Graph("g")
    graph.add_input("x", TensorType(x.shape))
    graph.add(Node("n", pool, ["x"], ["y"]))
    graph.outputs = ["y"]
    on_cpu = CpuBackend().prepare(graph, RunOptions(threads=1)).run({"x": x})["y"]
    np.testing.assert_allclose(on_cpu, wanted, rtol=1e-5, atol=1e-6)
