"""Opens a source model for artifacts, which need every dimension as a number."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import edgewright.frontends.onnx
import edgewright.frontends.tensorflow
import edgewright.frontends.tflite  # noqa: F401 - they register their translations
from edgewright.config.spelling import has_option, spell_option
from edgewright.core.errors import (
    EdgewrightError,
    Problems,
    UnsupportedFeature,
    UnsupportedOp,
    UsageError,
    Where,
    shown,
)
from edgewright.core.files import measure_file
from edgewright.frontends._common.connections import check_connections, list_unread_inputs
from edgewright.frontends._common.imported import Imported
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.report import ImportReport, report_on
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.framework import Framework, framework_of
from edgewright.frontends.onnx.load import OnnxSource
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.frontends.tflite.load import TfliteSource
from edgewright.frontends.torch_source import TorchSource
from edgewright.ir.dims import Expr, evaluate
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.ops.source import SourceOp

log = logging.getLogger(__name__)
OPENS: dict[Framework, Callable[[str | Path, InputSpec | None], SourceModel]] = {
    Framework.ONNX: OnnxSource.open,
    Framework.TFLITE: TfliteSource.open,
    Framework.TENSORFLOW: TensorflowSource.open,
    Framework.PYTORCH: TorchSource.open,
}


@dataclass(frozen=True)
class FixedSource:
    """A source whose inputs have numbers for shapes, and what was decided to get there."""

    model: SourceModel
    notes: tuple[str, ...] = ()
    # What the user has to decide before the source can be converted.
    problem: UsageError | None = None

    @cached_property
    def imported(self) -> Imported:
        """What came of the import."""
        return self.model.build({})

    @cached_property
    def report(self) -> ImportReport:
        """What becomes of each node."""
        return report_on(self.model, self.imported)

    @cached_property
    def loose_ends(self) -> tuple[str, ...]:
        """What is not connected; an input that was named and feeds nothing is an error."""
        notes = check_connections(self.model, self.imported.graph)
        for note in notes:
            log.warning("%s", note)
        return tuple(notes)

    def graph(self) -> Graph:
        """The imported graph; all reasons why there is none come at once."""
        if self.problem is not None:
            raise self.problem
        self.check_ops()
        _ = self.loose_ends
        return self.imported.graph

    def check_ops(self) -> None:
        """Raises all that stands in the way of a graph, shapes aside."""
        imported = self.imported
        if imported.is_complete and not any(isinstance(n.op, SourceOp) for n in imported.graph.nodes):
            return
        report = self.report
        foreign = [
            UnsupportedOp(item.reason, Where(self.model.name, item.op, item.node), item.do)
            for item in report.source_ops
        ]
        log.warning(
            "%.1f %% of the nodes and %.1f %% of the MACs would convert; edgewright inspect shows which",
            100 * report.share("nodes"),
            100 * report.share("macs"),
        )
        raise Problems([*imported.problems, *foreign, *self._list_shaping_inputs()])

    def _list_shaping_inputs(self) -> list[EdgewrightError]:
        """Inputs that a QNN graph can only have as constants."""
        return [
            UnsupportedFeature(
                f"the value of input '{shown(name)}' shapes the graph, expected a constant",
                Where(file=self.model.name, node=node),
                do=self.model.advise_value(name),
            )
            for name, node in self.imported.bound.items()
        ]


def open_source(source: Path | str | Any, spec: InputSpec | None = None) -> SourceModel:
    """The source as it is; a file that does not exist is answered with one that does."""
    model = _open_format(source, spec)
    model.exposes_states = spec is not None and spec.expose_states
    if spec is not None and not model.must_name_inputs:
        model.named = frozenset(map(model.complete_name, spec.list_named()))
    return model


def _open_format(source: Path | str | Any, spec: InputSpec | None) -> SourceModel:
    if not isinstance(source, (str, Path)):
        return OnnxSource.open(source, spec)
    framework = framework_of(source)
    if framework not in {Framework.PYTORCH, Framework.TENSORFLOW}:
        measure_file(source)
    return OPENS[framework](source, spec)


def fix_shapes(path: Path | str, spec: InputSpec) -> FixedSource:
    """The source with the batch set to 1 where nothing is said; other symbols are one problem for all."""
    model = open_source(path, spec)
    model.decide()
    open_inputs = {name: t for name, t in model.inputs.items() if not t.is_static}
    if not open_inputs:
        return FixedSource(model)
    batches, unread = batch_symbols(model.inputs), list_unread_inputs(model)
    read = {name: t for name, t in open_inputs.items() if name not in unread}
    symbols = sorted(frozenset().union(*(t.symbols for t in read.values())) - batches)
    if symbols:
        return FixedSource(model, problem=_refuse_symbols(model, symbols))
    # No size of an input that nobody reads matters.
    ones = dict.fromkeys(frozenset().union(*(t.symbols for t in open_inputs.values())), 1)
    shapes = {name: tuple(int(evaluate(dim, ones)) for dim in t.shape) for name, t in open_inputs.items()}
    option = spell_option("batch" if model.has_named_dims and has_option("batch") else "input_shapes")
    note = (
        f"batch {_quote_names(sorted(batches))} of {_quote_names(open_inputs)} was set to 1; {option} sets "
        "another one"
    )
    fixed = replace(spec, input_shapes={**spec.input_shapes, **shapes}, batch=None, symbols={})
    named, model = model.named, open_source(path, fixed)
    model.named = named
    return FixedSource(model, (note,))


def import_open_graph(path: Path | str, spec: InputSpec) -> Graph:
    """The graph with symbolic dimensions as they are; what stands in its way is said as in a conversion."""
    imported = open_source(path, spec).build({})
    return imported.graph if imported.is_complete else fix_shapes(path, spec).graph()


def _refuse_symbols(model: SourceModel, symbols: Sequence[str]) -> UsageError:
    inputs = {name: t for name, t in model.inputs.items() if t.symbols & set(symbols)}
    shapes = "; ".join(f"{shown(name)} [{','.join(map(str, t.shape))}]" for name, t in inputs.items())
    name, tensor_type = next(iter(inputs.items()))
    dims = ["N" if isinstance(dim, Expr) else str(dim) for dim in tensor_type.shape]
    advice = spell_option("input_shapes", {shown(name): dims})
    if model.has_named_dims and has_option("symbols"):
        sizes = spell_option("symbols", {shown(symbol): "N" for symbol in symbols})
        advice = f"{sizes}, or by input: {advice}"
    return UsageError(
        f"{len(symbols)} symbolic dimension{'s' * (len(symbols) > 1)} must be numbers, found {shapes}",
        Where(file=model.name),
        do=f"fix them with {advice}",
    )


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"'{shown(name)}'" for name in names)
