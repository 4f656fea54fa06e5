"""Opens the model of a build with a number for every dimension, and collects all that stands in the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from edgewright.build.request import BuildRequest
from edgewright.build.stateful_samples import RecurrentState, record_states
from edgewright.config.umbrella import Shapes
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.files import measure_file
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.report import ImportReport
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.open_source import FixedSource, fix_shapes, open_source
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.model.open_shapes import read_shapes_from_samples
from edgewright.model.saving import is_stored, load_graph


@dataclass
class OpenedModel:
    """A model as far as it can be opened; nothing of it is rewritten."""

    format: str = ""
    # As it was imported or stored; None where something stands in the way.
    graph: Graph | None = None
    # Where the graph comes from; None where the model was converted before.
    source: SourceModel | None = None
    # A graph of the inputs alone: samples can be checked against it in any case.
    inputs: Graph | None = None
    report: ImportReport | None = None
    tensors: frozenset[str] = frozenset()
    states: tuple[RecurrentState, ...] = ()
    notes: list[str] = field(default_factory=list)
    problems: list[EdgewrightError] = field(default_factory=list)


def open_model(request: BuildRequest) -> OpenedModel:
    """The model, or all reasons why it cannot be built."""
    opened = OpenedModel()
    try:
        if is_stored(request.model):
            _open_stored(request, opened)
        else:
            _open_source(request, opened)
    except EdgewrightError as problem:
        opened.problems.append(problem)
    return opened


def _open_stored(request: BuildRequest, opened: OpenedModel) -> None:
    if request.shapes.given():
        raise UsageError(
            f"{' and '.join(request.shapes.given())} are for source models, "
            f"'{shown(request.model)}' has fixed shapes",
            do="leave them out, or build from the source model",
        )
    measure_file(request.model)
    opened.graph = opened.inputs = load_graph(request.model)
    opened.format = "DLC" if request.model.suffix == ".dlc" else "QNN net.json"
    opened.tensors = frozenset(opened.graph.source_names.values())


def _open_source(request: BuildRequest, opened: OpenedModel) -> None:
    source = open_source(request.model, _make_input_spec(request, request.shapes))
    source.decide()
    opened.format = source.format
    opened.inputs = _make_inputs_graph(source.inputs)
    shapes = _choose_shapes(request, source, opened)
    fixed = fix_shapes(request.model, _make_input_spec(request, shapes))
    # Shapes that samples tell are not named by the user.
    fixed.model.named = source.named
    opened.notes += fixed.notes
    opened.inputs = _make_inputs_graph(fixed.model.inputs)
    _import_source(fixed, opened)


def _choose_shapes(request: BuildRequest, source: SourceModel, opened: OpenedModel) -> Shapes:
    """The shapes that were given, and those of the samples where dimensions are open."""
    symbols = {name for t in source.inputs.values() for name in t.symbols} - batch_symbols(source.inputs)
    if not symbols or request.data.data is None or opened.inputs is None:
        return request.shapes
    try:
        images = request.data.preprocessing
        shapes, note = read_shapes_from_samples(
            Model.of(opened.inputs), request.shapes, request.data.data, images
        )
    except EdgewrightError as problem:
        opened.problems.append(problem)
        return request.shapes
    opened.notes += [note] if note else []
    return shapes


def _import_source(fixed: FixedSource, opened: OpenedModel) -> None:
    report = opened.report = fixed.report
    if fixed.problem is not None:
        opened.problems.append(fixed.problem)
        if not (report.problems or report.source_ops or report.bound):
            return  # only the numbers of its open dimensions are missing
    fixed.check_ops()
    if fixed.problem is None:
        opened.graph, opened.source, opened.tensors = fixed.graph(), fixed.model, fixed.model.tensors
        opened.notes += fixed.loose_ends
        opened.states = record_states(fixed.imported.states)


def _make_inputs_graph(inputs: Mapping[str, TensorType]) -> Graph:
    graph = Graph("inputs")
    for name, tensor_type in inputs.items():
        graph.add_input(name, tensor_type)
    return graph


def _make_input_spec(request: BuildRequest, shapes: Shapes) -> InputSpec:
    return replace(
        InputSpec.from_options(shapes), outputs=request.outputs, dtype_hints=dict(request.input_dtypes)
    )
