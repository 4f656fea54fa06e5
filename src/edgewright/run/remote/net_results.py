"""Whether a device wrote all that qnn-net-run has to write for its input lists."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from math import prod
from pathlib import Path

from edgewright.config.net_run import Execution, InputFiles, OutputFiles
from edgewright.core.errors import BackendCrash, EdgewrightError, shown
from edgewright.data.input_list import read_input_list
from edgewright.data.input_sets import InputSets
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable, sanitize_name
from edgewright.run.execution.batches import multiply_batch
from edgewright.run.execution.tensors import list_expected_inputs, map_spellings
from edgewright.run.remote.results import list_results
from edgewright.run.run_results import OutputRecord

_NATIVE = "_native"


def count_least_results(
    graphs: Sequence[Graph], inputs: InputFiles, outputs: OutputFiles, execution: Execution
) -> int:
    """How many results there must be at least; of a graph that is not known here, one."""
    lists = inputs.input_list
    known = graphs if len(graphs) == len(lists) else [None] * len(lists)
    given = (execution.num_inferences, outputs.keep_num_outputs, execution.duration and 1)
    limits = [max(int(limit), 0) for limit in given if limit is not None]
    return sum(
        min(_count_sets(graph, Path(name), inputs), *limits, 1 << 62)
        for graph, name in zip(known, lists, strict=True)
        if name != "__"
    )


def find_results(written: Path, least: int) -> list[Path]:
    """The results of all graphs; fewer than ``least`` are a failed run."""
    results = list_results(written)
    # Several graphs have a folder each, which holds its results.
    groups = [path for path in written.iterdir() if path.is_dir() and path not in results]
    results = results or [result for group in sorted(groups) for result in list_results(group)]
    if len(results) < least:
        raise BackendCrash(
            f"the device wrote {len(results)} results, expected {least}", do="see what its program says"
        )
    return results


def list_outputs(results: Sequence[Path], graphs: Sequence[Graph]) -> tuple[OutputRecord, ...]:
    """The files of the first result; a file of any that does not fit its tensor is a failed run."""
    kept: tuple[OutputRecord, ...] = ()
    for folder, group in groupby(results, lambda result: result.parent):
        types = _find_types(folder.name, graphs)
        first: tuple[OutputRecord, ...] = ()
        for result in group:
            outputs = _describe_outputs(result, types)
            first = first or outputs
            if not outputs or outputs != first:
                raise BackendCrash(f"the device wrote not all files of '{shown(result.name)}'")
        kept = kept or first
    return kept


def _count_sets(graph: Graph | None, path: Path, inputs: InputFiles) -> int:
    if graph is None:
        return 1
    # A list that only the device's program understands was run by it.
    with suppress(EdgewrightError):
        listed = read_input_list(path, graph.inputs, map_spellings(graph.inputs))
        factor = inputs.batch_multiplier or 1
        outside = graph if factor == 1 else multiply_batch(graph, factor, ())
        return len(InputSets(listed, list_expected_inputs(outside, inputs)))
    return 1


def _find_types(folder: str, graphs: Sequence[Graph]) -> dict[str, TensorType]:
    """The types of a graph's tensors by the names of their files; ``folder`` is that of several graphs."""
    spell = NameTable(graph.name for graph in graphs)
    own = [graph for graph in graphs if len(graphs) == 1 or spell(graph.name) == folder]
    return {sanitize_name(name): kind for graph in own for name, kind in graph.types.items()}


def _describe_outputs(result: Path, types: Mapping[str, TensorType]) -> tuple[OutputRecord, ...]:
    return tuple(_describe_output(file, result, types) for file in sorted(result.rglob("*.raw")))


def _describe_output(file: Path, folder: Path, types: Mapping[str, TensorType]) -> OutputRecord:
    is_native = file.stem.endswith(_NATIVE)
    name, where = file.stem.removesuffix(_NATIVE), str(file.relative_to(folder))
    tensor_type = types.get(name)
    if tensor_type is None:
        return OutputRecord(name, "", ("?",), "", "" if is_native else "float32", where)
    word = dtype_word(tensor_type.dtype)
    size = prod(tensor_type.static_shape()) * (tensor_type.dtype.numpy.itemsize if is_native else 4)
    length = file.stat().st_size
    # --batch_multiplier makes it several times as long.
    if length % size if length and size else length != size:
        raise BackendCrash(
            f"output '{shown(name)}' of the device has {length} bytes, expected {size}",
            do="see whether the device has the same model",
        )
    kind = word if is_native else "float32"
    return OutputRecord(name, word, shape_of(tensor_type), tensor_type.layout or "", kind, where)
