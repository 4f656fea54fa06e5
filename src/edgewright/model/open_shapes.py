"""Sizes for the open dimensions of a model, read off the samples that it is given."""

from collections.abc import Mapping
from dataclasses import replace

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.spelling import spell_option
from edgewright.config.umbrella import Shapes
from edgewright.core.errors import ShapeMismatch, Where, shown
from edgewright.core.numbers import Array
from edgewright.data.open_samples import Data, open_samples
from edgewright.ir.contract import dtype_of_word
from edgewright.ir.dims import symbol
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols, symbol_values, symbols_of
from edgewright.ir.types import TensorType
from edgewright.model.model import Model


def read_shapes_from_samples(
    model: Model, shapes: Shapes, data: Data, images: Preprocessing | None = None
) -> tuple[Shapes, str]:
    """The shapes with a size for every open dimension but the batch, and a note, empty where none is open.

    Samples of different sizes are an error: a file with fixed shapes suits one of them.
    """
    graph = _make_inputs_graph(model) if model.graph is None else model.graph
    # Values that shape the graph must be known first: what opens the model again says so.
    is_waiting = any(item.is_bound for item in model.inputs)
    sizes = {} if is_waiting else read_open_sizes(graph, data, images)
    if not sizes:
        return shapes, ""
    return replace(shapes, define_symbols=(*shapes.define_symbols, *sizes.items())), explain_sizes(sizes)


def read_open_sizes(graph: Graph, data: Data, images: Preprocessing | None = None) -> dict[str, int]:
    """The sizes that samples have in every open dimension of a graph's inputs but the batch."""
    return _read_sizes(graph, data, images) if _open_symbols(graph) else {}


def explain_sizes(sizes: Mapping[str, int]) -> str:
    """What a user should know of sizes that were read off samples."""
    said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return f"open dimensions have the sizes of the samples: {said}; {spell_option('symbols')} chooses others"


def _make_inputs_graph(model: Model) -> Graph:
    """The inputs alone of a model whose graph is made once its sizes are known."""
    graph = Graph()
    for item in model.inputs:
        dims = [symbol(dim) if isinstance(dim, str) else dim for dim in item.shape]
        graph.add_input(item.name, TensorType(tuple(dims), dtype_of_word(item.dtype)))
    return graph


def _open_symbols(graph: Graph) -> frozenset[str]:
    types = {name: graph.types[name] for name in graph.inputs}
    return symbols_of(tuple(types.values())) - batch_symbols(types)


def _read_sizes(graph: Graph, data: Data, images: Preprocessing | None) -> dict[str, int]:
    symbols = sorted(_open_symbols(graph))
    first: dict[str, int] = {}
    for number, sample in enumerate(open_samples(graph, data, preprocessing=images)):
        sizes = _read_sample_sizes(graph, sample)
        # A dimension that is computed from symbols does not tell them.
        for name in filter(sizes.__contains__, symbols):
            if first.setdefault(name, sizes[name]) != sizes[name]:
                raise ShapeMismatch(
                    f"the samples have different sizes: '{shown(name, 60)}' is {first[name]} in the first "
                    f"and {sizes[name]} in sample {number}, expected one size",
                    Where(detail=f"sample {number}"),
                    do="give samples of one size: the shapes in the file to be written are fixed",
                )
    return first


def _read_sample_sizes(graph: Graph, sample: Mapping[str, Array]) -> dict[str, int]:
    return symbol_values(graph, {name: array.shape for name, array in sample.items()})
