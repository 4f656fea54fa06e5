"""The inputs of a thread: files that are kept or read each time, or random numbers."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgewright.config.throughput_case import CaseThread
from edgewright.core.errors import UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.data.input_list import read_input_list
from edgewright.data.input_sets import InputSets
from edgewright.data.tensor_files import ExpectedTensor
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.run.execution.feeds import CacheLimits, Feeds
from edgewright.run.execution.tensors import map_spellings

Feed = Callable[[int], dict[str, Array]]
# Inputs beyond this size are read again each time.
LARGEST_CACHE = 1 << 30


def choose_inputs(thread: CaseThread, graph: Graph, list_file: str) -> Feed:
    """The inputs of the n-th execution of a graph."""
    if thread.is_random:
        return _make_random_feed(graph, zlib.crc32(thread.name.encode()))
    sets = _open_sets(Path(list_file), graph, graph.inputs, is_native=thread.model.is_native)
    limits = CacheLimits(0) if thread.is_loaded_each_time else CacheLimits(-1, LARGEST_CACHE)
    return Feeds(sets.read_set, len(sets), limits)


def read_ground_truth(graph: Graph, list_file: str, *, is_native: bool) -> Feed:
    """The outputs that the n-th execution should have."""
    sets = _open_sets(Path(list_file), graph, graph.outputs, is_native=is_native)
    return Feeds(sets.read_set, len(sets), CacheLimits(-1, LARGEST_CACHE))


def _open_sets(path: Path, graph: Graph, tensors: list[str], *, is_native: bool) -> InputSets:
    listed = read_input_list(path, tensors, map_spellings(tensors))
    return InputSets(listed, [ExpectedTensor(name, graph.types[name], is_native) for name in tensors])


def _make_random_feed(graph: Graph, seed: int) -> Feed:
    generator = np.random.default_rng(seed)
    feed = {name: _make_random_array(name, graph.types[name], generator) for name in graph.inputs}
    return lambda _: feed


def _make_random_array(name: str, tensor_type: TensorType, generator: np.random.Generator) -> Array:
    dtype, shape = tensor_type.dtype, tensor_type.static_shape()
    if dtype == DType.STRING:
        raise UnsupportedFeature("an input is text, which has no random values", Where(tensor=name))
    if dtype.is_float or dtype.is_complex:
        return generator.random(shape).astype(dtype.numpy)
    if tensor_type.encoding is None:
        # Small on purpose: a large number may be an index out of range.
        return generator.integers(0, 2, shape).astype(dtype.numpy)
    low, high = tensor_type.encoding.decode(_make_extremes(dtype))
    return tensor_type.encoding.encode(generator.uniform(low, high, shape).astype(np.float32), dtype)


def _make_extremes(dtype: DType) -> Array:
    limits = np.iinfo(dtype.numpy)
    extremes: Array = np.array([limits.min, limits.max], dtype.numpy)
    return extremes
