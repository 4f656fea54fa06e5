"""One build of a sweep as a task: what workers do."""

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edgewright.api.build import run_build
from edgewright.build.records import RECORD, REPORT
from edgewright.build.request import BuildRequest
from edgewright.build.sweep_records import describe_build
from edgewright.config.build import TIME_LIMIT
from edgewright.config.sweep import FILES
from edgewright.config.umbrella import Shapes
from edgewright.config.zoo import PATHS, make_preprocessing
from edgewright.data.samples import DataRequest
from edgewright.model.shared_files import locate_shared
from edgewright.tasks.job import Job
from edgewright.tasks.task import register_task
from edgewright.tasks.versions import check_versions

OF_DATA = frozenset(field.name for field in fields(DataRequest))


@register_task(version=1)
def build_combination(job: Job) -> dict[str, Any]:
    """The row of a build, the hash of its files, and the folder that its pages speak of."""
    check_versions(job.inputs["versions"])
    with TemporaryDirectory(prefix="edgewright-sweep-", ignore_cleanup_errors=True) as place:
        folder = Path(place, "build")
        record = run_build(_make_request(job, folder))
        names = [REPORT, RECORD]
        if job.inputs["keep"] == FILES:
            names = [each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()]
        return {
            "row": describe_build(record),
            "files": job.keep_files(folder, names),
            "folder": str(folder),
        }


def _make_request(job: Job, folder: Path) -> BuildRequest:
    inputs = job.inputs
    options: dict[str, Any] = {
        name: locate_shared(value, job.fetch_files) if name in PATHS else value
        for name, value in inputs["options"].items()
    }
    time_limit = options.get("time_limit", TIME_LIMIT)
    return BuildRequest(
        locate_shared(inputs["model"], job.fetch_files),
        inputs["target"],
        folder,
        _make_data_request(options),
        precision=inputs["precision"],
        max_drop=options.get("max_drop"),
        metric=options.get("metric", "auto"),
        shapes=_make_shapes(options),
        outputs=tuple(options.get("outputs", ())),
        overrides=options.get("overrides"),
        time_limit=math.inf if time_limit is None else time_limit,
        command="edgewright sweep",
    )


def _make_data_request(options: Mapping[str, Any]) -> DataRequest:
    given = {name: value for name, value in options.items() if name in OF_DATA}
    given.setdefault("data", None)
    if "preprocessing" in given:
        given["preprocessing"] = make_preprocessing(given["preprocessing"])
    return DataRequest(**given)


def _make_shapes(options: Mapping[str, Any]) -> Shapes:
    shapes = {name: tuple(dims) for name, dims in options.get("input_shapes", {}).items()}
    return Shapes(input_dims=tuple(shapes.items()), define_symbols=tuple(options.get("symbols", {}).items()))
