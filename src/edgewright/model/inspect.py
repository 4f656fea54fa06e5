"""What a model holds and what of it can be converted, found out without writing anything."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.files import measure_file
from edgewright.frontends._common.imported import Imported
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.report import ImportReport, OpCount, Problem, report_on
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.open_source import fix_shapes, open_source
from edgewright.ir.contract import IoTensor, contract, dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.model.saving import is_stored, load_graph
from edgewright.model.source_map import SourceTensor, map_source_tensors


@dataclass(frozen=True)
class Inspection:
    """A model on one page; MACs and parameters count what is known."""

    file: str
    format: str
    file_bytes: int
    weight_bytes: int
    contract: tuple[IoTensor, ...]
    symbols: tuple[str, ...]
    # Inputs whose values shape the graph: a converter needs them as constants.
    bound: tuple[str, ...]
    parameters: int
    macs: int
    ops: tuple[OpCount, ...]
    problems: tuple[Problem, ...]
    unused_inputs: tuple[str, ...]
    unused_outputs: tuple[str, ...]
    convertible_nodes: float
    convertible_macs: float
    # Symbolic dimensions or values that must be known ended the look before the last op.
    is_partial: bool = False
    notes: tuple[str, ...] = ()
    # Of a converted model: where the tensors of its source went.
    source_tensors: tuple[SourceTensor, ...] = ()


@dataclass(frozen=True)
class DryRunReport:
    """What a conversion would meet."""

    report: ImportReport
    notes: tuple[str, ...]
    convertible_nodes: float
    convertible_macs: float
    is_convertible: bool


def inspect(path: Path | str, spec: InputSpec | None = None) -> Inspection:
    """Looks at an ONNX file, or at the net.json or DLC of a converted model."""
    if is_stored(path):
        return _inspect_stored(Path(path), load_graph(path))
    return _inspect_source(Path(path), open_source(path, spec))


def preview_conversion(path: Path | str, spec: InputSpec) -> DryRunReport:
    """Imports a model as a conversion would, and says what would become of it."""
    source = fix_shapes(path, spec)
    report = source.report
    # What the user has to decide is a note here: the ops can be judged without it.
    notes = source.notes if source.problem is None else (f"{source.problem.what}; {source.problem.do}",)
    return DryRunReport(
        report,
        notes,
        report.share("nodes"),
        report.share("macs"),
        report.is_convertible and source.problem is None,
    )


def _inspect_source(path: Path, opened: SourceModel) -> Inspection:
    imported = opened.build({})
    report = report_on(opened, imported)
    count, size = _count_weights(imported.graph)
    is_partial = bool(report.shapes_for or report.bound)
    symbols = sorted({name for t in opened.inputs.values() for name in t.symbols})
    notes = []
    if report.symbolic_nodes:
        notes.append(f"MACs of {report.symbolic_nodes} ops depend on symbolic dimensions and are not counted")
    if report.macs and batch_symbols(opened.inputs):
        notes.append("MACs are those of a batch of 1")
    if report.shapes_for:
        notes.append(
            f"node '{report.shapes_for}' needs symbolic dimensions as numbers; what follows is not known"
        )
    return Inspection(
        file=str(path),
        format=opened.format,
        file_bytes=_count_bytes(path),
        weight_bytes=size,
        contract=_describe_io(opened, imported),
        symbols=tuple(symbols),
        bound=tuple(report.bound),
        parameters=count,
        macs=report.macs,
        ops=report.ops,
        problems=(*report.problems, *report.source_ops),
        unused_inputs=() if is_partial else report.unused_inputs,
        unused_outputs=report.unused_outputs,
        convertible_nodes=report.share("nodes"),
        convertible_macs=report.share("macs"),
        is_partial=is_partial,
        notes=tuple(notes),
    )


def _count_bytes(path: Path) -> int:
    """The size of a file, or of all files of a model that is a folder."""
    if path.is_dir():
        return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
    return measure_file(path)


def _describe_io(opened: SourceModel, imported: Imported) -> tuple[IoTensor, ...]:
    if imported.is_complete:
        return contract(imported.graph)
    inputs = [IoTensor("input", name, dtype_word(t.dtype), shape_of(t)) for name, t in opened.inputs.items()]
    return (*inputs, *(_describe_output(opened, name) for name in opened.outputs))


def _describe_output(opened: SourceModel, name: str) -> IoTensor:
    declared = opened.find_declared_type(name)
    if declared is None:
        return IoTensor("output", name, "unknown", ("unknown",))
    return IoTensor("output", name, dtype_word(declared.dtype), shape_of(declared))


def _inspect_stored(path: Path, graph: Graph) -> Inspection:
    count, size = _count_weights(graph)
    nodes: Counter[str] = Counter()
    macs: Counter[str] = Counter()
    for node in graph.nodes:
        name = node.op.qnn_name()
        nodes[name] += 1
        macs[name] += node.op.macs(graph.input_types(node), graph.output_types(node))
    return Inspection(
        file=str(path),
        format={".dlc": "DLC", ".so": "model library"}.get(path.suffix, "QNN net.json"),
        file_bytes=measure_file(path),
        weight_bytes=size,
        contract=contract(graph),
        symbols=(),
        bound=(),
        parameters=count,
        macs=macs.total(),
        ops=tuple(OpCount(name, "qnn", nodes[name], macs[name]) for name in sorted(nodes)),
        problems=(),
        unused_inputs=tuple(name for name in graph.inputs if not graph.consumers(name)),
        unused_outputs=(),
        convertible_nodes=1.0,
        convertible_macs=1.0,
        source_tensors=map_source_tensors(graph),
    )


def _count_weights(graph: Graph) -> tuple[int, int]:
    """Elements and bytes of all constants that an op reads; views of a mapped file are not read here."""
    arrays = [array for name, array in graph.constants.items() if graph.consumers(name)]
    return sum(array.size for array in arrays), sum(array.nbytes for array in arrays)
