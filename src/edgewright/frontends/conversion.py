"""One conversion for all callers: a request in, a graph that can be run, quantized or written out."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.io_config import IoConfig
from edgewright.core.errors import shown
from edgewright.core.memory_limit import limit_memory
from edgewright.core.numbers import DType
from edgewright.frontends._common.imported import State
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.io_changes import (
    label_layouts,
    move_channels_last,
    recolour_inputs,
    retype_io,
    transpose_io,
)
from edgewright.frontends.open_source import FixedSource, fix_shapes
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.passes.pipeline import (
    ALWAYS,
    FINISH,
    FOLD,
    LAYOUT,
    LEGACY,
    QUANTIZED,
    SIMPLIFY,
    TARGET,
    run_passes,
)
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.passes.target.retype_io import retype_input, retype_output
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.quantize.tensor_encodings import TensorEncoding

# A transpose at an input or output must still look like one when layouts are read off.
MOVES_AS_VIEWS = ("transpose_to_reshape",)
TIDY = ("merge_moves", "drop_identity", "absorb_transposes", "drop_dead_code")
WIDE = frozenset({DType.INT_64, DType.UINT_64})


@dataclass(frozen=True)
class Rewrites:
    """Which rewrites a conversion makes."""

    is_simplified: bool = True
    left_out: tuple[str, ...] = ()
    # Whether ops between decoding and encoding become ops on fixed point.
    is_quantized: bool = False
    # Tensors of the source that simplifying must not take away: where it would, it is left out (guide 10562).
    kept: frozenset[str] = frozenset()

    def apply(self, graph: Graph) -> Graph:
        """Rewrites the graph in place and gives it back."""
        is_simplified = self.is_simplified and not self._find_lost(graph)
        names = (*SIMPLIFY, *LAYOUT, *FINISH) if is_simplified else (*ALWAYS, *LAYOUT, *FOLD)
        last = QUANTIZED if self.is_quantized else ()
        run_passes(graph, [name for name in (*names, *last) if name not in self.left_out])
        return graph

    def _find_lost(self, graph: Graph) -> frozenset[str]:
        """What must be kept and would be there without simplifying only."""
        if not self.kept:
            return self.kept
        plain, simple = (
            replace(self, is_simplified=choice, kept=frozenset()).apply(graph.copy())
            for choice in (False, True)
        )
        return self.kept & _list_names(plain) - _list_names(simple)


def _list_names(graph: Graph) -> set[str]:
    """The source's names for the tensors of a graph."""
    return {graph.source_names.get(value, value) for value in graph.types}


class IoLayouts(Enum):
    """Which layouts inputs and outputs get, where the request does not name them."""

    # For graphs in memory: nothing is done to inputs and outputs, and nothing that only files need.
    AS_IMPORTED = "as imported"
    # Those of the source, and its data types.
    SOURCE = "source"
    # Channels last, as QNN's ops have them; the legacy converters do so.
    SPATIAL_FIRST = "spatial first"


class SourceEncodings(Enum):
    """What becomes of the encodings that a source brings."""

    # They stay; a format that keeps integers becomes a quantized graph.
    LEAVE = "leave"
    # They are taken out of the graph for a quantizer.
    TAKE = "take"
    # They are taken out, unless the source becomes a quantized graph.
    TAKE_FROM_FLOAT = "take from float"


@dataclass(frozen=True)
class ConversionRequest:
    """All that can be asked of a conversion."""

    # A file, a folder, or a model of the user's process.
    source: Path | str | Any
    inputs: InputSpec = field(default_factory=InputSpec)
    rewrites: Rewrites = field(default_factory=Rewrites)
    layouts: IoLayouts = IoLayouts.AS_IMPORTED
    # Layouts, colours, data types and encodings of inputs and outputs by name.
    io: IoConfig = field(default_factory=IoConfig)
    # Inputs and outputs that keep the layout, or the data type, of the source.
    kept_layouts: Container[str] = ()
    kept_dtypes: Container[str] = ()
    keeps_wide_inputs: bool = False
    # Other data types of inputs; a cast leads to what the network computes in.
    input_dtypes: Mapping[str, DType] = field(default_factory=dict)
    # QNN's backends compute with 32-bit integers.
    narrows_integers: bool = True
    float_bits: int = 32
    float_bias_bits: int | None = None
    encodings: SourceEncodings = SourceEncodings.LEAVE
    # Whether those that are taken are left out of the result.
    ignores_encodings: bool = False
    # Whether nodes that quantize activations stay where encodings are taken.
    keeps_quant_nodes: bool = False
    # Inputs of a torch module in memory.
    examples: Any = None


@dataclass(frozen=True)
class ConvertedGraph:
    """What came of a conversion."""

    graph: Graph
    model: SourceModel
    # Inputs and outputs as the source has them.
    io_types: Mapping[str, TensorType]
    # Those of the source, where they were taken out of the graph.
    encodings: tuple[TensorEncoding, ...] = ()
    notes: tuple[str, ...] = ()


def convert_source(request: ConversionRequest, source: FixedSource | None = None) -> ConvertedGraph:
    """Opens a source, imports and rewrites it; every dimension becomes a number.

    Args:
        request: what is asked for.
        source: the source, where it is open already.
    """
    source = source or fix_shapes(request.source, request.inputs)
    with limit_memory(source.model.name):
        converted = convert_graph(source.graph(), source.model, request)
    notes = (
        *source.notes,
        *source.loose_ends,
        *source.model.notes,
        *map(_explain_state, source.model.states),
    )
    return replace(converted, notes=notes)


def convert_graph(graph: Graph, model: SourceModel, request: ConversionRequest) -> ConvertedGraph:
    """Rewrites an imported graph in place, as the request asks for."""
    io_types = {name: graph.types[name] for name in (*graph.inputs, *graph.outputs)}
    converted = ConvertedGraph(graph, model, io_types)
    if request.layouts is IoLayouts.AS_IMPORTED:
        replace(request.rewrites, is_quantized=model.keeps_integers).apply(graph)
        for name, dtype in request.input_dtypes.items():
            if name in graph.inputs:
                retype_input(graph, name, dtype)
        return converted
    is_left = request.encodings is SourceEncodings.LEAVE
    is_quantized = model.keeps_integers and request.encodings is not SourceEncodings.TAKE
    if not (is_left or is_quantized):
        encodings = take_source_encodings(
            graph, keep_pairs=request.keeps_quant_nodes, is_ignored=request.ignores_encodings
        )
        converted = replace(converted, encodings=tuple(encodings))
    _rewrite_for_files(converted, request, is_quantized=is_quantized)
    _retype_for_files(converted, request, is_quantized=is_quantized)
    return converted


def _rewrite_for_files(converted: ConvertedGraph, request: ConversionRequest, *, is_quantized: bool) -> None:
    graph, rewrites = converted.graph, request.rewrites
    transpose_io(graph, request.io)
    replace(rewrites, left_out=(*rewrites.left_out, *MOVES_AS_VIEWS)).apply(graph)
    _assign_layouts(converted, request)
    recolour_inputs(graph, request.io)
    last = QUANTIZED if is_quantized else ()
    run_passes(graph, [name for name in (*MOVES_AS_VIEWS, *TIDY, *last) if name not in rewrites.left_out])
    if request.narrows_integers:
        run_passes(graph, LEGACY)
    narrow_float(graph, request.float_bits, request.float_bias_bits)
    # Here and not only where files are written: the contract must show what they hold.
    run_passes(graph, TARGET)


def _assign_layouts(converted: ConvertedGraph, request: ConversionRequest) -> None:
    graph = converted.graph
    if request.layouts is IoLayouts.SOURCE:
        label_layouts(graph, request.io)
        return
    label_layouts(graph, request.io, request.io.layouts())
    if not converted.model.is_channel_last:
        names = (*graph.inputs, *graph.outputs)
        move_channels_last(graph, request.io, [name for name in names if name in request.kept_layouts])


def _retype_for_files(converted: ConvertedGraph, request: ConversionRequest, *, is_quantized: bool) -> None:
    graph = converted.graph
    if request.layouts is IoLayouts.SOURCE:
        # Where encodings were taken for a quantizer, quantized tensors are real numbers until it comes.
        types = {
            name: graph.types[name] if tensor_type.encoding and not is_quantized else tensor_type
            for name, tensor_type in converted.io_types.items()
        }
        retype_io(graph, request.io, types)
        return
    # A quantizer gives real numbers their types.
    is_float_left = request.encodings is SourceEncodings.TAKE
    for name, dtype in _choose_dtypes(converted, request).items():
        if request.io.tensor(name).dtype or (
            is_float_left and graph.types[name].dtype.is_float and dtype.is_float
        ):
            continue
        (retype_input if name in graph.inputs else retype_output)(graph, name, dtype)
    if not is_float_left:
        retype_io(graph, request.io, dict(graph.types))


def _choose_dtypes(converted: ConvertedGraph, request: ConversionRequest) -> dict[str, DType]:
    graph, dtypes = converted.graph, dict(request.input_dtypes)
    for name in (*graph.inputs, *graph.outputs):
        dtype = converted.io_types[name].dtype
        is_wide_input = name in graph.inputs and dtype in WIDE
        if name in request.kept_dtypes or (request.keeps_wide_inputs and is_wide_input):
            dtypes.setdefault(name, dtype)
    return dtypes


def _explain_state(state: State) -> str:
    """How to carry a variable of the source from run to run."""
    encoding = state.tensor_type.encoding
    numbers = np.unique(state.first if encoding is None else encoding.decode(state.first))
    first = f"{numbers[0]:g}" if numbers.size == 1 else "the values that the model starts with"
    return (
        f"variable '{shown(state.input)}' is an input and an output: give it '{shown(state.output)}' of the "
        f"run before, and {first} at first"
    )
