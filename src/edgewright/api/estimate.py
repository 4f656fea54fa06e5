"""Estimates how fast a model is on chips: what `ew.estimate` is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgewright.analyse.estimated_changes import list_changes
from edgewright.config.estimate import parse_change, parse_measured
from edgewright.core.errors import UsageError
from edgewright.estimate.estimate import (
    PRECISIONS,
    MeasuredTime,
    estimate_graph,
    list_known_targets,
    read_precision,
)
from edgewright.estimate.records import Estimate
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.quantize import find_fixed_point

DEFAULT_TARGET = "SM8650"


def estimate(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: Model | str | Path | Any,
    target: str | Sequence[str] | None = None,
    *,
    precision: str | None = None,
    measured: str | tuple[float, str] | None = None,
    what_if: Sequence[str] = (),
    example_inputs: Any = None,
    name: str | None = None,
) -> Estimate:
    """Says how long a model takes on chips, as ranges, where the time goes and what would change it.

    Args:
        model: what ``convert`` takes, or a converted model.
        target: one or several chips; ``"all"`` for those with public times. SM8650 where none is named.
        precision: w8a8, w8a16, w4a8, w4a16 or fp16; the first two and the last without it.
        measured: a time on one chip, as in '3.2ms@SM8550', to be scaled to the targets.
        what_if: changes, as in 'precision=w8a8' or 'rule=all'; their effect is in ``changes``.
        example_inputs: of a torch module in memory.
        name: what the model is called in the answer; its file or graph where none is given.
    """
    opened = open_any_model(model, example_inputs)
    graph = opened.fixed_graph()
    if find_fixed_point(graph) is not None and precision is None:
        raise UsageError(
            "the model is quantized, and its times depend on the precision",
            do="name it: precision='w8a8' (--precision w8a8)",
        )
    precisions = PRECISIONS if precision is None else (read_precision(precision),)
    time = parse_measured(measured) if isinstance(measured, str) else measured
    targets = _list_targets(target)
    result = estimate_graph(
        graph, targets, precisions, measured=None if time is None else MeasuredTime(*time)
    )
    called = name or (Path(model).name if isinstance(model, str | Path) else graph.name)
    changes = [parse_change(each) for each in what_if]
    return list_changes(graph, result, changes, precisions[0], called)


def _list_targets(target: str | Sequence[str] | None) -> list[str]:
    if target is None:
        return [DEFAULT_TARGET]
    if isinstance(target, str):
        return list_known_targets() if target == "all" else [target]
    return list(target) or [DEFAULT_TARGET]
