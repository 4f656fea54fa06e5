"""Inputs and outputs as all that is written has them: one name and one type in every file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgewright.core.files import write_all
from edgewright.core.numbers import Array
from edgewright.evaluate.records import Accuracy, Loss, Metric
from edgewright.evaluate.verdict import Verdict
from edgewright.ir.contract import IoTensor, contract, dtype_word
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import spell_io_names
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.run.context.info import read_context_info

# A sample that every way to run the model can begin with.
EXAMPLE, INPUT_LIST = "example", "inputs.txt"


def list_source_types(source: Graph, graph: Graph) -> dict[str, TensorType]:
    """The source's types by the names in what is written; in the source's order."""
    names = spell_io_names(graph.inputs, graph.outputs)
    return {written: source.types[name] for name, written in names.items() if name in source.types}


def describe_written_io(source: Graph, graph: Graph, binary: Path | None) -> tuple[IoTensor, ...]:
    """The contract of what was written; types and shapes are the binary's, where there is one."""
    types = {name: source.types[name] for name in (*source.inputs, *source.outputs)}
    names = spell_io_names(graph.inputs, graph.outputs)
    stored = {} if binary is None else _list_stored_tensors(binary)
    return tuple(_describe_as_written(tensor, names, stored) for tensor in contract(graph, types))


def _describe_as_written(
    tensor: IoTensor, names: Mapping[str, str], stored: Mapping[str, QnnTensor]
) -> IoTensor:
    name = names[tensor.name]
    renamed = replace(tensor, name=name, source_name="" if name == tensor.name else tensor.name)
    if name not in stored:
        return renamed
    kept = stored[name]
    return replace(renamed, dtype=dtype_word(kept.dtype), shape=kept.dims)


def _list_stored_tensors(binary: Path) -> dict[str, QnnTensor]:
    (graph,) = read_context_info(binary).binary.graphs
    return {tensor.name: tensor for tensor in (*graph.inputs, *graph.outputs)}


def write_example(source: Graph, graph: Graph, sample: Mapping[str, Array], folder: Path) -> None:
    """One sample as qnn-net-run reads it: float32 files, and a list with their paths in the output folder."""
    names = spell_io_names(graph.inputs, graph.outputs)
    files, words = {}, []
    for name in graph.inputs:
        path = Path(EXAMPLE, f"{names[name]}.raw")
        files[folder / path] = [np.ascontiguousarray(_decode(source.types[name], sample[name])).tobytes()]
        words.append(f"{names[name]}:={path.as_posix()}")
    files[folder / EXAMPLE / INPUT_LIST] = [f"{' '.join(words)}\n".encode()]
    write_all(files)


def _decode(kind: TensorType, array: Array) -> Array:
    """Real numbers in place of stored ones."""
    is_stored = kind.encoding is not None and array.dtype == kind.dtype.numpy
    real = kind.encoding.decode(array) if is_stored and kind.encoding is not None else array
    return np.asarray(real, np.float32)


def rename_outputs(
    contract_: Sequence[IoTensor], metric: Metric, accuracy: Sequence[Accuracy], verdict: Verdict
) -> tuple[Metric, tuple[Accuracy, ...], Verdict]:
    """The figures under the names that are written."""
    names = {tensor.source_name: tensor.name for tensor in contract_ if tensor.source_name}
    renamed = replace(
        metric,
        outputs=tuple(names.get(output, output) for output in metric.outputs),
        text=_rename_quoted(metric.text, names),
        reason=_rename_quoted(metric.reason, names),
    )
    rows = tuple(replace(item, output=names.get(item.output, item.output)) for item in accuracy)
    reasons = tuple(_rename_quoted(reason, names) for reason in verdict.reasons)
    return renamed, rows, replace(verdict, loss=_rename_loss(verdict.loss, names), reasons=reasons)


def _rename_loss(loss: Loss, names: Mapping[str, str]) -> Loss:
    return replace(loss, output=names.get(loss.output, loss.output))


def _rename_quoted(text: str, names: Mapping[str, str]) -> str:
    """Sentences have names in quotes."""
    for name, written in names.items():
        text = text.replace(f"'{name}'", f"'{written}'")
    return text
