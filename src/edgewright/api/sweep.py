"""Builds of many models for many chips in many precisions: what `ew.sweep` is."""

import html
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.api.sweep_task import build_combination
from edgewright.build.records import RECORD, REPORT
from edgewright.build.sweep_plan import Combination, make_inputs, plan_sweep
from edgewright.build.sweep_records import (
    SweepRecord,
    SweepRow,
    describe_failure,
    mark_best,
    to_csv,
)
from edgewright.config.sweep import FILES, REPORTS
from edgewright.config.zoo import Zoo, make_zoo, read_zoo
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.files import write_all, write_whole
from edgewright.core.folder_lock import hold_folder
from edgewright.core.page import Block, Displayed
from edgewright.reports.json_text import as_json
from edgewright.reports.progress import draw_in_notebook
from edgewright.reports.sweep import make_page, render_sweep
from edgewright.tasks.engine import Engine, open_engine, remember_shares
from edgewright.tasks.outcome import Outcome, TaskError
from edgewright.tasks.task import Task, make_task
from edgewright.tasks.versions import list_versions

log = logging.getLogger(__name__)

STORE = ".sweep"
PAGE, TABLE, SUMMARY = "sweep.html", "sweep.csv", "sweep.json"


@dataclass(frozen=True)
class SweepRequest:
    """What is built, who computes it, and where results go."""

    combinations: tuple[Combination, ...]
    output: Path
    cluster: str | None = None
    workers: int | None = None
    store: str | None = None
    keep: str = REPORTS

    def __post_init__(self) -> None:
        """Python's callers may give anything."""
        if self.keep not in {REPORTS, FILES}:
            raise UsageError(f"keep is '{shown(self.keep)}', expected '{REPORTS}' or '{FILES}'")


def sweep(  # noqa: PLR0913 - every one is a choice of its own, and all but two are given by name
    models: str | Path | Sequence[str | Path | Mapping[str, Any]],
    data: str | Path | None = None,
    *,
    targets: str | Sequence[str] = (),
    precisions: str | Sequence[str] = (),
    output: str | Path,
    cluster: str | None = None,
    workers: int | None = None,
    store: str | Path | None = None,
    keep: str = "reports",
    **options: Any,
) -> SweepRecord:
    """Builds every model for every chip in every precision, and writes one page with all results.

    What was built before, by this sweep or by another one with the same store, is not built again: a sweep
    that was stopped goes on where it was. A model that cannot be built is a row with its error.

    Args:
        models: a .yaml file as for ``edgewright sweep``, or models: files, folders of models, patterns such
            as 'zoo/*.onnx', or dictionaries with 'model' and options of its own.
        data: samples for models that have none of their own: a folder or an .npz or .npy file.
        targets: chips, as for ``build``.
        precisions: as for ``build``; auto where none is given.
        output: the folder to write: sweep.html, sweep.csv, sweep.json, and a folder for each build.
        cluster: tcp://HOST:PORT of a Dask scheduler, or local:4 for one that is started here; processes of
            this machine otherwise.
        workers: how many processes of this machine; one for each core by default.
        store: where results are kept by content, a folder or a URL that all workers reach.
        keep: what is kept of each build: 'reports', or 'files' for everything.
        options: options of all builds, by the names of the arguments of ``build``.
    """
    fields_of_zoo = {"targets": targets, "precisions": precisions, **options}
    if data is not None:
        fields_of_zoo["data"] = data
    zoo, problems = open_zoo(
        models, {key: value for key, value in fields_of_zoo.items() if value not in ((), [])}
    )
    place = None if store is None else str(store)
    request = SweepRequest(tuple(plan_sweep(zoo, problems)), Path(output), cluster, workers, place, keep)
    return run_sweep(request)


def open_zoo(models: Any, given: Mapping[str, Any]) -> tuple[Zoo, list[EdgewrightError]]:
    """The zoo of a file or of models; what is given comes before what the file says."""
    if isinstance(models, str | Path) and Path(models).suffix in {".yaml", ".yml"}:
        return read_zoo(Path(models), given)
    return make_zoo({"models": models, **given}, Path())


def run_sweep(request: SweepRequest, tell: Callable[[str], None] = log.info) -> "DisplayedSweep":
    """Builds what is missing and writes the results.

    Args:
        request: what is asked for.
        tell: is told where to watch the cluster.
    """
    start = time.monotonic()
    with hold_folder(request.output, "edgewright sweep"), draw_in_notebook(), _open(request) as engine:
        if engine.dashboard:
            tell(f"dashboard: {engine.dashboard}")
        rows = mark_best(_build_all(request, engine))
        url = engine.contents.store.url
        record = DisplayedSweep(rows, list_versions(), url, time.monotonic() - start)
        write_all(
            {
                request.output / TABLE: [to_csv(rows)],
                request.output / SUMMARY: [as_json(record).encode()],
                request.output / PAGE: render_sweep(record),
            }
        )
    return record


@contextmanager
def _open(request: SweepRequest) -> Iterator[Engine]:
    place = request.store or request.output / STORE
    with open_engine(place, cluster=request.cluster, workers=request.workers) as engine:
        yield engine


def _build_all(request: SweepRequest, engine: Engine) -> list[SweepRow]:
    rows: dict[str, SweepRow] = {}
    waiting: dict[str, list[Combination]] = {}
    tasks: list[Task] = []
    share = remember_shares(engine)
    for combination in request.combinations:
        try:
            inputs = make_inputs(combination, share)
        except (OSError, EdgewrightError) as problem:  # a file that cannot be read is a row, too
            rows[combination.folder] = _make_row(combination, describe_failure(TaskError.of(problem)))
            continue
        task = make_task(build_combination, **inputs, versions=list_versions(), keep=request.keep)
        tasks.append(task)
        waiting.setdefault(task.key, []).append(combination)
    for task, outcome in engine.iterate_outcomes(tasks, "sweep"):
        for combination in waiting[task.key]:
            rows[combination.folder] = _finish_row(combination, outcome, engine, request.output)
    return [rows[combination.folder] for combination in request.combinations]


def _finish_row(combination: Combination, outcome: Outcome, engine: Engine, output: Path) -> SweepRow:
    """The row of a build, whose files are put into the output folder."""
    took = {"seconds": outcome.seconds, "is_reused": outcome.is_reused}
    if outcome.error is not None:
        return _make_row(combination, {**describe_failure(outcome.error), **took})
    try:
        _copy_files(
            engine.fetch_files(outcome.value["files"]), output / combination.folder, outcome.value["folder"]
        )
    except EdgewrightError as problem:
        return _make_row(combination, {**describe_failure(TaskError.of(problem)), **took})
    return _make_row(combination, {**outcome.value["row"], **took, "folder": combination.folder})


def _make_row(combination: Combination, described: Mapping[str, Any]) -> SweepRow:
    return SweepRow(combination.name, combination.target, combination.precision, **described)


def _copy_files(source: Path, folder: Path, built_in: str) -> None:
    """Copies the files of a build; its pages speak of the folder of a worker, which is gone."""
    for path in sorted(each for each in source.rglob("*") if each.is_file()):
        content = path.read_bytes()
        if path.name in {REPORT, RECORD}:
            here = str(folder.absolute())
            spelled = html.escape(here) if path.name == REPORT else json.dumps(here)[1:-1]
            content = content.replace(built_in.encode(), spelled.encode())
        write_whole(folder / path.relative_to(source), [content])


@dataclass(frozen=True, repr=False)
class DisplayedSweep(Displayed, SweepRecord):
    """A sweep that shows its rows in a terminal and in a notebook."""

    def _list_blocks(self) -> list[Block]:
        return make_page(self)
