"""Which tensors of a graph are read and written, and in which form."""

import logging
from collections.abc import Sequence

from edgewright.config.net_run import InputFiles, OutputFiles
from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.data.input_list import InputList
from edgewright.data.tensor_files import ExpectedTensor
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.run.run_results import InputRecord

log = logging.getLogger(__name__)


def map_spellings(names: Sequence[str]) -> dict[str, str]:
    """Names as artifacts spell them -> the names themselves."""
    table = NameTable(names)
    return {table(name): name for name in names}


def check_graph_names(option: str, named: Sequence[str], graphs: Sequence[Graph]) -> None:
    """Refuses the name of a graph that is not there."""
    known = [graph.name for graph in graphs]
    unknown = [name for name in named if name and name not in known]
    if unknown:
        listed = ", ".join(f"'{shown(name)}'" for name in known[:10])
        raise UsageError(
            f"{option} names graph '{shown(unknown[0])}', the model has {listed}",
            do=did_you_mean(unknown[0], known, "name a graph of the model"),
        )


def list_expected_inputs(graph: Graph, inputs: InputFiles) -> list[ExpectedTensor]:
    """What the file of each input must hold."""
    sanitized = {name: form for form, name in map_spellings(graph.inputs).items()}
    return [
        ExpectedTensor(name, graph.types[name], inputs.is_native(name) or inputs.is_native(sanitized[name]))
        for name in graph.inputs
    ]


def make_input_records(expected: Sequence[ExpectedTensor]) -> tuple[InputRecord, ...]:
    """The inputs as a run's description lists them."""
    return tuple(
        InputRecord(
            item.name,
            dtype_word(item.tensor_type.dtype),
            shape_of(item.tensor_type),
            item.tensor_type.layout or "",
            item.word,
        )
        for item in expected
    )


def list_result_tensors(graph: Graph, outputs: OutputFiles, listed: InputList) -> list[str]:
    """The graph's outputs, and the other tensors requested."""
    made = [value for node in graph.nodes for value in node.outputs if value]
    if outputs.debug:
        return list(dict.fromkeys((*graph.outputs, *made)))
    spellings = {**map_spellings(made), **{name: name for name in made}}
    asked = [
        name
        for graph_name, names in outputs.set_output_tensors
        if graph_name in {"", graph.name}
        for name in names
    ]
    unknown = [name for name in asked if name not in spellings]
    if unknown:
        raise UsageError(
            f"--set_output_tensors names the tensor '{shown(unknown[0])}', which no op of the model computes",
            do=did_you_mean(unknown[0], spellings, "--debug writes all tensors"),
        )
    asked += _list_asked_tensors(graph, spellings, listed)
    return list(dict.fromkeys((*graph.outputs, *(spellings[name] for name in asked))))


def check_native_names(inputs: InputFiles, graphs: Sequence[Graph]) -> None:
    """Refuses the name of an input that no graph has."""
    known = [name for graph in graphs for name in graph.inputs]
    spelled = {*known, *(form for graph in graphs for form in map_spellings(graph.inputs))}
    unknown = [name for name in inputs.native_input_tensor_names or () if name not in spelled]
    if unknown:
        raise UsageError(
            f"--native_input_tensor_names names '{shown(unknown[0])}', which is not an input of the model",
            do=did_you_mean(unknown[0], known, f"use one of: {', '.join(map(shown, known[:10]))}"),
        )


def _list_asked_tensors(graph: Graph, spellings: dict[str, str], listed: InputList) -> list[str]:
    """Tensors and layers that the list's first lines name; other words there are a comment."""
    layers = {node.name: [v for v in node.outputs if v] for node in graph.nodes}
    asked = [name for name in listed.tensors if name in spellings]
    for name in listed.layers:
        asked += layers.get(name, [name] if name in spellings else [])
    passed = [n for n in (*listed.tensors, *listed.layers) if n not in spellings and n not in layers]
    if passed:
        log.info("the input list names %d words that are neither tensors nor layers", len(passed))
    return asked
