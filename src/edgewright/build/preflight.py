"""Finds in seconds, before any work, all that stands in the way of a build, and what it will need."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgewright.abi.libraries import find_libraries
from edgewright.analyse.metric import RIGHT, choose_metric
from edgewright.analyse.records import Finding
from edgewright.artifacts.encodings import load_encodings
from edgewright.build.estimates import (
    Estimate,
    available_memory,
    estimated,
    free_disk,
    nearest_folder,
)
from edgewright.build.model_checks import checked_model
from edgewright.build.opening import Opened, opened_model
from edgewright.build.order import BuildOrder
from edgewright.build.records import Preflight
from edgewright.core.errors import (
    EdgewrightError,
    EnvironmentProblem,
    Problems,
    UnsupportedFeature,
    UsageError,
    shown,
)
from edgewright.core.files import file_size
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples
from edgewright.targets.soc import FIRST_WITH_HALF, Soc, htp_soc

__all__ = ["Ready", "finding_of", "preflight"]

log = logging.getLogger(__name__)

# Pixels that were brought to small numbers reach no farther.
MOST_NORMALISED = 64
# What stands in the way comes in this order: the model, then the data, then the rest.
EXIT_ORDER = (4, 3, 6, 2)


@dataclass
class Ready:
    """What the pre-flight found, and what it opened on the way."""

    chip: Soc | None = None
    opened: Opened = field(default_factory=Opened)
    samples: BuildSamples | None = None
    problems: list[EdgewrightError] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)
    estimate: Estimate = field(default_factory=Estimate)
    seconds: float = 0.0

    def record(self) -> Preflight:
        """The findings as the report shows them."""
        errors = [finding_of(problem) for problem in self.sorted()]
        sizes = (self.estimate.seconds, self.estimate.memory_mb, self.estimate.disk_mb)
        return Preflight((*errors, *self.hints), self.seconds, *sizes)

    def sorted(self) -> list[EdgewrightError]:
        """The problems, those of the model first."""
        flat = [inner for problem in self.problems for inner in getattr(problem, "errors", (problem,))]
        unique = list({(each.what, str(each.where)): each for each in flat}.values())
        order = {code: place for place, code in enumerate(EXIT_ORDER)}
        return sorted(unique, key=lambda each: order.get(each.exit_code, len(order)))

    def check(self) -> None:
        """Raises all problems at once."""
        if self.problems:
            raise Problems(self.sorted())


def preflight(order: BuildOrder) -> Ready:
    """Looks at everything that a build needs; nothing is written, and nothing stops at the first problem."""
    began = time.monotonic()
    ready = Ready()
    with _collected(ready):
        ready.chip = htp_soc(order.target)
    with _collected(ready):
        _check_output(order)
    with _collected(ready):
        load_encodings(order.overrides)
    ready.opened = opened_model(order)
    ready.problems += ready.opened.problems
    ready.hints += [Finding("note", "model", note) for note in ready.opened.notes]
    with _collected(ready):
        _check_data(order, ready)
    _check_model(order, ready)
    _check_chip(order, ready)
    for hint in ready.hints:
        if hint.grade == "warning":
            log.warning("%s", hint.what)
    ready.seconds = time.monotonic() - began
    return ready


class _collected:  # noqa: N801 - reads as a statement after "with"
    """Keeps an error of the block instead of raising it."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, _traceback: object) -> bool:
        if not isinstance(problem, EdgewrightError):
            return False
        self._ready.problems.append(problem)
        return True


def _check_output(order: BuildOrder) -> None:
    out = order.output
    if out.exists() and not out.is_dir():
        raise UsageError(
            f"'{shown(out)}' is a file, expected a folder to write to", do="name another one: -o"
        )
    if not os.access(nearest_folder(out), os.W_OK | os.X_OK):
        raise EnvironmentProblem(
            f"'{shown(nearest_folder(out))}' cannot be written to", do="name another folder with -o"
        )
    taken = [order.model.parent] if not order.model.is_dir() else [order.model]
    data = order.data.data
    taken += [Path(data)] if isinstance(data, str | Path) and Path(data).is_dir() else []
    if out.exists() and any(folder.exists() and out.samefile(folder) for folder in taken):
        raise UsageError(
            f"'{shown(out)}' holds the model or the data, expected a folder of its own for the build",
            do=f"name another one, as in -o {shown(out / 'built')}",
        )


def _check_data(order: BuildOrder, ready: Ready) -> None:
    """Reads the first sample of each part; all headers were looked at before."""
    ends = ready.opened.ends
    if ends is None or any(not ends.types[name].is_static for name in ends.inputs):
        # The model, or its open shapes, must be mended first; that there are files can be seen all the same.
        _check_paths(order)
        return
    samples = ready.opened.samples(order)
    firsts = [next(iter(part.first(1))) for part in (samples.calibration, samples.evaluation)]
    ready.samples = samples
    ready.hints += [Finding("note", "data", note) for note in samples.notes if not samples.is_random]
    ready.hints += _pixels(firsts[0])
    if samples.is_random:
        ready.hints.append(Finding("warning", "data", samples.notes[0], do="build with --data SAMPLES"))
    graph = ready.opened.graph
    if graph is not None and (order.metric == RIGHT or (samples.labels is not None and order.data.labels)):
        choose_metric(graph, samples.labels, RIGHT)


def _pixels(sample: Mapping[str, Array]) -> Iterator[Finding]:
    """The mistake that is made most: pixels that should have been normalised."""
    for name, array in sample.items():
        if array.ndim == 4 and array.dtype.kind == "f" and _are_pixels(array):
            yield Finding(
                "note",
                "data",
                f"samples of '{shown(name, 60)}' are whole numbers up to {array.max():.0f}, taken as such",
                do="check that the model was trained on plain pixels; --mean and --std normalise images",
            )


def _are_pixels(array: Array) -> bool:
    is_whole = bool((array == array.round()).all())
    return is_whole and array.min(initial=0) >= 0 and bool(array.max(initial=0) > MOST_NORMALISED)


def _check_paths(order: BuildOrder) -> None:
    for path in (order.data.data, order.data.eval_data, order.data.labels):
        if isinstance(path, str | Path) and not Path(path).is_dir():
            file_size(path)


def _check_model(order: BuildOrder, ready: Ready) -> None:
    opened = ready.opened
    if opened.report is not None and (opened.report.problems or opened.report.source_ops):
        nodes, macs = (f"{100 * opened.report.share(of):.1f} %" for of in ("nodes", "macs"))
        text = f"{nodes} of {opened.report.nodes} nodes and {macs} of the MACs would convert"
        ready.hints.append(
            Finding("note", "unsupported-op", text, do="edgewright inspect MODEL lists all ops")
        )
    if opened.graph is None:
        return
    found = checked_model(order, opened.graph)
    ready.problems += found.problems
    ready.hints += found.hints
    macs_of = [
        n.op.macs(opened.graph.input_types(n), opened.graph.output_types(n)) for n in opened.graph.nodes
    ]
    samples = ready.samples
    counts = (0, 0) if samples is None else (len(samples.calibration), len(samples.evaluation))
    ready.estimate = estimated(opened.graph, sum(macs_of), *counts, order.precision)
    ready.hints += _resources(order, ready.estimate)


def _resources(order: BuildOrder, estimate: Estimate) -> Iterator[Finding]:
    memory, disk = available_memory(), free_disk(order.output)
    if memory is not None and estimate.memory_mb > memory:
        what = f"about {estimate.memory_mb:.0f} MB of memory will be needed, {memory:.0f} MB are free"
        yield Finding("warning", "memory", what, do="close other programs, or use a machine with more memory")
    if estimate.disk_mb > disk:
        what = f"about {estimate.disk_mb:.0f} MB of disk will be needed, {disk:.0f} MB are free"
        yield Finding("warning", "disk", what, do="name a folder on another disk with -o")


def _check_chip(order: BuildOrder, ready: Ready) -> None:
    chip = ready.chip
    if chip is not None and chip.arch < FIRST_WITH_HALF:
        if order.precision == "fp16":
            ready.problems.append(
                UnsupportedFeature(
                    f"target {chip.name} is Hexagon v{chip.arch}, half precision needs v{FIRST_WITH_HALF}",
                    do="use --precision w8a16, or name a newer chip",
                )
            )
        else:
            what = f"Hexagon v{chip.arch} has no half precision: what cannot be in fixed point may be refused"
            ready.hints.append(Finding("note", "architecture", what))
    if find_libraries() is None:
        what = (
            "the genuine compiler is not installed: the simulation stands in, and no device loads the result"
        )
        ready.hints.append(
            Finding("warning", "environment", what, do="pip install 'edgewright[native]' (x86_64 Linux)")
        )


def finding_of(problem: EdgewrightError) -> Finding:
    """An error as the report shows it."""
    where = "" if problem.where is None else str(problem.where)
    return Finding("error", problem.code, problem.what, where, problem.do)
