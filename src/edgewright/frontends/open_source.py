"""Opens a source model for artifacts, which need every dimension as a number."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from edgewright.frontends._common.imported import Imported
from edgewright.frontends._common.overrides import Overrides
from edgewright.frontends._common.report import report_on
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.framework import Framework, framework_of
from edgewright.frontends.onnx.load import OnnxSource
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.frontends.tflite.load import TfliteSource
from edgewright.frontends.torch_source import TorchSource
from edgewright.ir.dims import Expr, evaluate
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType
from edgewright.ops.source import SourceOp

__all__ = ["FixedSource", "fixed_source", "open_source", "source_graph"]

log = logging.getLogger(__name__)
OPENS: dict[Framework, Callable[[str | Path, Overrides | None], SourceModel]] = {
    Framework.ONNX: OnnxSource.open,
    Framework.TFLITE: TfliteSource.open,
    Framework.TENSORFLOW: TensorflowSource.open,
    Framework.PYTORCH: TorchSource.open,
}


@dataclass(frozen=True)
class FixedSource:
    """A source whose inputs have numbers for shapes, and what was decided to get there."""

    opened: SourceModel
    notes: tuple[str, ...] = ()
    # What the user has to decide before the source can be converted.
    problem: UsageError | None = None

    def graph(self) -> Graph:
        """The imported graph; all reasons why there is none come at once."""
        if self.problem is not None:
            raise self.problem
        imported = self.opened.build({})
        if imported.is_complete and not any(isinstance(n.op, SourceOp) for n in imported.graph.nodes):
            return imported.graph
        report = report_on(self.opened, imported)
        foreign = [
            UnsupportedOp(item.reason, Where(self.opened.name, item.op, item.node), item.do)
            for item in report.source_ops
        ]
        log.warning(
            "%.1f %% of the nodes and %.1f %% of the MACs would convert; edgewright inspect shows which",
            100 * report.share("nodes"),
            100 * report.share("macs"),
        )
        raise Problems([*imported.problems, *foreign, *self._waiting(imported)])

    def _waiting(self, imported: Imported) -> list[EdgewrightError]:
        """Inputs that a QNN graph can only have as constants."""
        return [
            UnsupportedFeature(
                f"the value of input '{shown(name)}' shapes the graph, expected a constant",
                Where(file=self.opened.name, node=node),
                do=self.opened.advise_value(name),
            )
            for name, node in imported.bound.items()
        ]


def open_source(source: Path | str | Any, wishes: Overrides | None = None) -> SourceModel:
    """The source as it is; a file that does not exist is answered with one that does."""
    if not isinstance(source, (str, Path)):
        return OnnxSource.open(source, wishes)
    framework = framework_of(source)
    if framework not in {Framework.PYTORCH, Framework.TENSORFLOW}:
        measure_file(source)
    return OPENS[framework](source, wishes)


def fixed_source(path: Path | str, wishes: Overrides) -> FixedSource:
    """The source with the batch set to 1 where nothing is said; other symbols are one problem for all."""
    opened = open_source(path, wishes)
    opened.decide()
    loose = {name: t for name, t in opened.inputs.items() if not t.is_static}
    if not loose:
        return FixedSource(opened)
    batches = batch_symbols(opened.inputs)
    left = sorted(frozenset().union(*(t.symbols for t in loose.values())) - batches)
    if left:
        return FixedSource(opened, problem=_symbols_left(opened, loose, left))
    ones = dict.fromkeys(batches, 1)
    shapes = {name: tuple(int(evaluate(dim, ones)) for dim in t.shape) for name, t in loose.items()}
    named = ", ".join(f"'{shown(name)}'" for name in sorted(batches))
    option = spell_option("batch" if opened.has_named_dims and has_option("batch") else "input_shapes")
    note = f"batch {named} of {_listed(loose)} was set to 1; {option} sets another one"
    settled = replace(wishes, input_shapes={**wishes.input_shapes, **shapes}, batch=None, symbols={})
    return FixedSource(open_source(path, settled), (note,))


def source_graph(path: Path | str, wishes: Overrides) -> Graph:
    """The graph with symbolic dimensions as they are; what stands in its way is said as in a conversion."""
    imported = open_source(path, wishes).build({})
    return imported.graph if imported.is_complete else fixed_source(path, wishes).graph()


def _symbols_left(source: SourceModel, loose: Mapping[str, TensorType], left: Sequence[str]) -> UsageError:
    touched = {name: t for name, t in loose.items() if t.symbols & set(left)}
    shapes = "; ".join(f"{shown(name)} {_dims(t)}" for name, t in touched.items())
    name, tensor_type = next(iter(touched.items()))
    dims = ["N" if isinstance(dim, Expr) else str(dim) for dim in tensor_type.shape]
    advice = f"fix them with {spell_option('input_shapes', {shown(name): dims})}"
    if source.has_named_dims and has_option("symbols"):
        sizes = spell_option("symbols", {shown(name): "N" for name in left})
        advice = f"fix them with {sizes}, or by input: {spell_option('input_shapes', {shown(name): dims})}"
    return UsageError(
        f"{len(left)} symbolic dimension{'s' * (len(left) > 1)} must be numbers, found {shapes}",
        Where(file=source.name),
        do=advice,
    )


def _dims(tensor_type: TensorType) -> str:
    return f"[{','.join(str(dim) for dim in tensor_type.shape)}]"


def _listed(loose: Mapping[str, TensorType]) -> str:
    return ", ".join(f"'{shown(name)}'" for name in loose)
