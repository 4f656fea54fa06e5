"""Opens the model of a build with a number for every dimension, and collects all that stands in the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.build.order import BuildOrder
from edgewright.build.states import Carried, Memory, memories_of
from edgewright.config.umbrella import Shapes
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.files import file_size
from edgewright.data.samples import BuildSamples, build_samples
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.report import ImportReport
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.conversion import ConversionRequest, Rewrites, convert_source
from edgewright.frontends.open_source import FixedSource, fix_shapes, open_source
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.model.open_shapes import shapes_from_samples
from edgewright.model.saving import is_stored, load_graph
from edgewright.passes.pipeline import FOR_HTP, run_passes
from edgewright.quantize.portable import portable_encodings
from edgewright.quantize.tensor_encodings import EncodingSet, encodings_of

__all__ = ["Opened", "model_files", "opened_model"]

# Endings of files that hold the weights of a model beside it.
WEIGHTS = (".data", ".bin", ".weights")


@dataclass
class Opened:
    """A model as far as it can be opened."""

    format: str = ""
    # Rewritten, as it is quantized; None where something stands in the way.
    graph: Graph | None = None
    # As it was imported, for those who leave rewrites out.
    imported: Graph | None = None
    # A graph of the inputs alone: samples can be held against it in any case.
    ends: Graph | None = None
    report: ImportReport | None = None
    tensors: frozenset[str] = frozenset()
    memories: tuple[Memory, ...] = ()
    notes: list[str] = field(default_factory=list)
    problems: list[EdgewrightError] = field(default_factory=list)

    def overrides(self, source: Graph, quantized: Graph) -> EncodingSet:
        """Encodings of a quantized graph that every converter takes for the same source model."""
        if self.imported is None:
            return encodings_of(quantized)
        plain = Rewrites(is_simplified=False).apply(self.imported.copy())
        return portable_encodings(quantized, source, plain, self.tensors)

    def samples(self, order: BuildOrder) -> BuildSamples:
        """The samples of an order, held against the inputs."""
        assert self.ends is not None
        if self.graph is None or not self.memories:
            return build_samples(self.ends, order.data)
        graph, memories = self.graph, self.memories
        return build_samples(self.ends, order.data, lambda found: Carried(found, graph, memories))


def opened_model(order: BuildOrder) -> Opened:
    """The model, or all reasons why it cannot be built."""
    found = Opened()
    try:
        if is_stored(order.model):
            _open_stored(order, found)
        else:
            _open_source(order, found)
    except EdgewrightError as problem:
        found.problems.append(problem)
    return found


def _open_stored(order: BuildOrder, found: Opened) -> None:
    if order.shapes.given():
        raise UsageError(
            f"{' and '.join(order.shapes.given())} are for source models, "
            f"'{shown(order.model)}' has fixed shapes",
            do="leave them out, or build from the source model",
        )
    file_size(order.model)
    found.graph = found.ends = load_graph(order.model)
    _unroll(found, found.graph)
    found.format = "DLC" if order.model.suffix == ".dlc" else "QNN net.json"
    found.tensors = frozenset(found.graph.source_names.values())


def _open_source(order: BuildOrder, found: Opened) -> None:
    source = open_source(order.model, _make_input_spec(order.shapes, order.outputs))
    source.decide()
    found.format = source.format
    found.ends = _ends(source.inputs)
    shapes = _bound(order, source, found)
    spec = _make_input_spec(shapes, order.outputs)
    fixed = fix_shapes(order.model, spec)
    found.notes += fixed.notes
    found.ends = _ends(fixed.model.inputs)
    found.report = fixed.report
    _convert(ConversionRequest(order.model, spec), fixed, found)


def _bound(order: BuildOrder, source: SourceModel, found: Opened) -> Shapes:
    """The shapes that were given, and those of the samples where dimensions are open."""
    symbols = {name for t in source.inputs.values() for name in t.symbols} - batch_symbols(source.inputs)
    if not symbols or order.data.data is None or found.ends is None:
        return order.shapes
    try:
        images = order.data.preprocessing
        shapes, note = shapes_from_samples(Model.of(found.ends), order.shapes, order.data.data, images)
    except EdgewrightError as problem:
        found.problems.append(problem)
        return order.shapes
    found.notes += [note] if note else []
    return shapes


def _convert(request: ConversionRequest, fixed: FixedSource, found: Opened) -> None:
    report = fixed.report
    if fixed.problem is not None:
        found.problems.append(fixed.problem)
        if not (report.problems or report.source_ops or report.bound):
            return  # only the numbers of its open dimensions are missing
    fixed.check_ops()
    if fixed.problem is not None:
        return
    found.imported = fixed.graph().copy()
    converted = convert_source(request, fixed)
    found.graph, found.tensors = converted.graph, converted.model.tensors
    _unroll(found, found.graph)
    found.memories = memories_of(fixed.imported.states)


def _unroll(found: Opened, graph: Graph) -> None:
    count = run_passes(graph, FOR_HTP)["unroll_recurrent"]
    if count:
        layers = "a recurrent layer was" if count == 1 else f"{count} recurrent layers were"
        found.notes.append(f"{layers} written out step by step: the HTP takes them in no other form")


def _ends(inputs: Mapping[str, TensorType]) -> Graph:
    graph = Graph("inputs")
    for name, tensor_type in inputs.items():
        graph.add_input(name, tensor_type)
    return graph


def _make_input_spec(shapes: Shapes, outputs: Sequence[str]) -> InputSpec:
    return replace(InputSpec.from_options(shapes), outputs=outputs)


def model_files(path: Path) -> list[Path]:
    """The file of a model and those beside it that hold its weights, or all files of its folder."""
    if path.is_dir():
        return sorted(item for item in path.rglob("*") if item.is_file())
    stem = path.stem.removesuffix("_net")
    named = {f"{stem}{ending}" for ending in WEIGHTS}
    beside = [item for item in path.parent.iterdir() if item.name.startswith(path.name) or item.name in named]
    return [path, *sorted(item for item in beside if item.is_file() and item != path)]
