"""Looks in seconds, before any work, for all that stands in the way of a build, and what it will need."""

import logging
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgewright.abi.libraries import find_libraries
from edgewright.analyse.records import Finding
from edgewright.artifacts.encodings import load_encodings
from edgewright.build.estimates import (
    Estimate,
    estimate_build,
    find_nearest_folder,
    read_available_memory,
    read_free_disk,
)
from edgewright.build.model_checks import check_weight_size
from edgewright.build.open_model import OpenedModel, open_model
from edgewright.build.records import Preflight
from edgewright.build.request import BuildRequest
from edgewright.config.build import AUTO
from edgewright.config.spelling import spell_option
from edgewright.core.errors import (
    EdgewrightError,
    EnvironmentProblem,
    Problems,
    UnsupportedFeature,
    UsageError,
    shown,
)
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.data.copies import read_unique_samples
from edgewright.data.samples import BuildSamples
from edgewright.evaluate.choose_metric import check_metric
from edgewright.evaluate.input_scale import find_wrong_scale
from edgewright.ir.graph import Graph
from edgewright.targets.soc import FIRST_WITH_HALF, Soc, find_htp_soc

log = logging.getLogger(__name__)

# Samples that are not as in training.
SCALE = "scale"
# Samples whose scale is looked at.
SCALE_SAMPLES = 8
# Pixels that were normalised reach no farther.
LARGEST_NORMALISED = 64
# What stands in the way comes in this order: the model, then the data, then the rest.
EXIT_ORDER = (4, 3, 6, 2)


@dataclass
class PreflightResult:
    """The findings of the pre-flight, and what it opened for them."""

    chip: Soc | None = None
    opened: OpenedModel = field(default_factory=OpenedModel)
    samples: BuildSamples | None = None
    problems: list[EdgewrightError] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)
    estimate: Estimate = field(default_factory=Estimate)
    seconds: float = 0.0

    def record(self) -> Preflight:
        """The findings as the report shows them."""
        errors = [as_finding(problem) for problem in sort_problems(self.problems)]
        sizes = (self.estimate.seconds, self.estimate.memory_mb, self.estimate.disk_mb)
        return Preflight((*errors, *self.hints), self.seconds, *sizes)

    def check(self) -> None:
        """Raises all problems at once."""
        if self.problems:
            raise Problems(sort_problems(self.problems))


def run_preflight(request: BuildRequest) -> PreflightResult:
    """Looks at everything that a build needs and collects all problems; nothing is converted or written."""
    start = time.monotonic()
    result = PreflightResult()
    with _CollectProblems(result):
        result.chip = find_htp_soc(request.target)
    with _CollectProblems(result):
        _check_output(request)
    with _CollectProblems(result):
        load_encodings(request.overrides)
    result.opened = open_model(request)
    result.problems += result.opened.problems
    result.hints += [Finding("note", "model", note) for note in result.opened.notes]
    with _CollectProblems(result):
        _check_data(request, result)
    _check_model(request, result)
    _check_chip(request, result)
    for hint in result.hints:
        if hint.grade == "warning":
            log.warning("%s", hint.what)
    result.seconds = time.monotonic() - start
    return result


def sort_problems(problems: list[EdgewrightError]) -> list[EdgewrightError]:
    """Each problem once, those of the model first."""
    flat = [inner for problem in problems for inner in getattr(problem, "errors", (problem,))]
    unique = list({(each.what, str(each.where)): each for each in flat}.values())
    order = {code: place for place, code in enumerate(EXIT_ORDER)}
    return sorted(unique, key=lambda each: order.get(each.exit_code, len(order)))


def as_finding(problem: EdgewrightError) -> Finding:
    """An error as the report shows it."""
    where = "" if problem.where is None else str(problem.where)
    return Finding("error", problem.code, problem.what, where, problem.do)


class _CollectProblems:
    """Keeps an error of the block instead of raising it."""

    def __init__(self, result: PreflightResult) -> None:
        self._result = result

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, _traceback: object) -> bool:
        if not isinstance(problem, EdgewrightError):
            return False
        self._result.problems.append(problem)
        return True


def _check_output(request: BuildRequest) -> None:
    out = request.output
    if out.exists() and not out.is_dir():
        raise UsageError(
            f"'{shown(out)}' is a file, expected a folder to write to", do="name another one: -o"
        )
    _check_writable(find_nearest_folder(out))
    taken = [request.model.parent] if not request.model.is_dir() else [request.model]
    data = request.data.data
    taken += [Path(data)] if isinstance(data, str | Path) and Path(data).is_dir() else []
    if out.exists() and any(folder.exists() and out.samefile(folder) for folder in taken):
        raise UsageError(
            f"'{shown(out)}' holds the model or the data, expected a folder of its own for the build",
            do=f"name another one, as in -o {shown(out / 'built')}",
        )


def _check_writable(folder: Path) -> None:
    """By writing: permissions do not tell of read-only disks, and an administrator has all of them."""
    try:
        Path(tempfile.mkdtemp(prefix=".edgewright", dir=folder)).rmdir()
    except OSError as problem:
        raise EnvironmentProblem(
            f"'{shown(folder)}' cannot be written to ({problem.strerror})", do="name another folder with -o"
        ) from problem


def _check_data(request: BuildRequest, result: PreflightResult) -> None:
    """Reads the first sample of each part; all headers were looked at before."""
    # That the files exist is said of all of them, whatever is wrong with the first one.
    _check_paths(request, result)
    inputs = result.opened.inputs
    if inputs is None or any(not inputs.types[name].is_static for name in inputs.inputs):
        # The model, or its open shapes, must be fixed first.
        return
    samples = read_unique_samples(inputs, request.data)
    firsts = [next(iter(part.select(1))) for part in (samples.calibration, samples.judging.selection)]
    result.samples = samples
    result.hints += [Finding("note", "data", note) for note in samples.notes if not samples.is_random]
    graph = result.opened.graph
    wrong = [] if graph is None or samples.is_random else _check_scale(graph, samples)
    result.hints += wrong or _describe_pixels(firsts[0])
    if samples.is_random:
        result.hints.append(
            Finding("warning", "data", samples.notes[0], do=f"build with {spell_option('data', 'SAMPLES')}")
        )
    if graph is not None and (request.metric != AUTO or request.data.labels is not None):
        check_metric(graph, samples.labels, request.metric)


def _check_scale(graph: Graph, samples: BuildSamples) -> list[Finding]:
    """Samples that the first layers show to be scaled otherwise than in training."""
    few = samples.calibration.select(SCALE_SAMPLES)
    do = f"prepare samples as in training: {_name_preparation()} do so for images and arrays"
    return [Finding("warning", SCALE, what, do=do) for what in find_wrong_scale(graph, few)]


def _name_preparation() -> str:
    return f"{spell_option('scale')}, {spell_option('mean')} and {spell_option('std')}"


def _describe_pixels(sample: Mapping[str, Array]) -> Iterator[Finding]:
    """The most frequent mistake: pixels that should have been normalised."""
    for name, array in sample.items():
        if array.ndim == 4 and array.dtype.kind == "f" and _has_pixels(array):
            yield Finding(
                "note",
                "data",
                f"samples of '{shown(name, 60)}' are whole numbers up to {array.max():.0f}, taken as such",
                do=f"check that the model was trained on plain pixels; {_name_preparation()} prepare them",
            )


def _has_pixels(array: Array) -> bool:
    is_whole = bool((array == array.round()).all())
    return is_whole and array.min(initial=0) >= 0 and bool(array.max(initial=0) > LARGEST_NORMALISED)


def _check_paths(request: BuildRequest, result: PreflightResult) -> None:
    for path in (request.data.data, request.data.eval_data, request.data.labels):
        if isinstance(path, str | Path) and not Path(path).is_dir():
            with _CollectProblems(result):
                measure_file(path)


def _check_model(request: BuildRequest, result: PreflightResult) -> None:
    """What the import says of the model's ops, its size, and what the build will need."""
    opened = result.opened
    if opened.report is not None and (opened.report.problems or opened.report.source_ops):
        nodes, macs = (f"{100 * opened.report.share(of):.1f} %" for of in ("nodes", "macs"))
        text = f"{nodes} of {opened.report.nodes} nodes and {macs} of the MACs would convert"
        result.hints.append(
            Finding("note", "unsupported-op", text, do="edgewright inspect MODEL lists all ops")
        )
    if opened.graph is None:
        return
    checks = check_weight_size(request, opened.graph)
    result.problems += checks.problems
    result.hints += checks.hints
    samples = result.samples
    counts = (0, 0) if samples is None else (len(samples.calibration), len(samples.judging.selection))
    result.estimate = estimate_build(opened.graph, *counts, request.precision)
    result.hints += _check_resources(request, result.estimate)


def _check_resources(request: BuildRequest, estimate: Estimate) -> Iterator[Finding]:
    memory, disk = read_available_memory(), read_free_disk(request.output)
    if memory is not None and estimate.memory_mb > memory:
        what = f"about {estimate.memory_mb:.0f} MB of memory will be needed, {memory:.0f} MB are free"
        yield Finding("warning", "memory", what, do="close other programs, or use a machine with more memory")
    if estimate.disk_mb > disk:
        what = f"about {estimate.disk_mb:.0f} MB of disk will be needed, {disk:.0f} MB are free"
        yield Finding("warning", "disk", what, do="name a folder on another disk with -o")


def _check_chip(request: BuildRequest, result: PreflightResult) -> None:
    chip = result.chip
    if chip is not None and chip.arch < FIRST_WITH_HALF:
        if request.precision == "fp16":
            result.problems.append(
                UnsupportedFeature(
                    f"target {chip.name} is Hexagon v{chip.arch}, half precision needs v{FIRST_WITH_HALF}",
                    do=f"use {spell_option('precision', 'w8a16')}, or name a newer chip",
                )
            )
        else:
            what = f"Hexagon v{chip.arch} has no half precision: what cannot be in fixed point may be refused"
            result.hints.append(Finding("note", "architecture", what))
    if find_libraries() is None:
        what = (
            "the genuine compiler is not installed: the simulation stands in, and no device loads the result"
        )
        result.hints.append(
            Finding("warning", "environment", what, do="pip install 'edgewright[native]' (x86_64 Linux)")
        )
