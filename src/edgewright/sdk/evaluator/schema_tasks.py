"""The parts of an evaluation as tasks: a conversion, a model of a schema, a run of a part of the inputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edgewright.core.plain import from_plain
from edgewright.model.shared_files import locate_shared
from edgewright.sdk.converter import prepare_conversion, use_packages
from edgewright.sdk.evaluator.execution import run_model, run_source, write_model
from edgewright.sdk.evaluator.schemas import InferenceSchema
from edgewright.sdk.evaluator.shared_inputs import place_source, read_options, write_list
from edgewright.sdk.evaluator.stored_conversions import FILES, load_conversion, store_conversion
from edgewright.tasks.job import Job
from edgewright.tasks.task import register_task
from edgewright.tasks.versions import check_versions

LIST = "inputs.txt"


@register_task(version=1)
def convert_model(job: Job) -> dict[str, Any]:
    """The hash of a conversion that knows no widths, and whether its source has encodings of its own."""
    options = place_source(read_options(job.inputs, job.fetch_files), job)
    with _open_folder(job) as folder, use_packages(options.package):
        prepared = prepare_conversion(options)
        store_conversion(prepared, folder)
        return {"files": job.keep_files(folder, FILES), "has_encodings": bool(prepared.encodings)}


@register_task(version=1)
def write_schema_model(job: Job) -> dict[str, Any]:
    """Quantizes a conversion as a schema asks for it: the model, and what is written beside it."""
    options = read_options(job.inputs, job.fetch_files)
    with _open_folder(job) as folder, use_packages(options.package):
        if options.quantizer.input_list is not None:
            listed = write_list(job.inputs["calibration"], job.fetch_files, folder / LIST)
            options = replace(options, quantizer=replace(options.quantizer, input_list=str(listed)))
        prepared = load_conversion(job.fetch_files(job.inputs["conversion"]))
        written = write_model(prepared, options, folder / "written")
        home = written.file.parent
        names = [path.name for path in written.needed]
        others = [path.name for path in home.iterdir() if path.name not in names]
        return {
            "model": {"content": job.keep_files(home, names), "name": written.file.name},
            "others": job.keep_files(home, others),
            "notes": list(written.notes),
        }


@register_task(version=1)
def run_schema_model(job: Job) -> dict[str, Any]:
    """Runs a model on some inputs."""
    schema = from_plain(InferenceSchema, job.inputs["schema"])
    with _open_folder(job) as folder:
        listed = write_list(job.inputs["inputs"], job.fetch_files, folder / LIST)
        file = locate_shared(job.inputs["model"], job.fetch_files)
        notes = run_model(schema, file, listed, folder / "results")
        return {"files": _keep_all(job, folder / "results"), "notes": list(notes)}


@register_task(version=1)
def run_source_model(job: Job) -> dict[str, Any]:
    """Runs the source in its own framework on some inputs."""
    schema = from_plain(InferenceSchema, job.inputs["schema"])
    with _open_folder(job) as folder:
        listed = write_list(job.inputs["inputs"], job.fetch_files, folder / LIST)
        graph = load_conversion(job.fetch_files(job.inputs["conversion"])).graph
        file = locate_shared(job.inputs["model"], job.fetch_files)
        run_source(schema, str(file), graph, listed, folder / "results")
        return {"files": _keep_all(job, folder / "results"), "notes": []}


@contextmanager
def _open_folder(job: Job) -> Iterator[Path]:
    """A folder of the task, which is gone afterwards."""
    check_versions(job.inputs["versions"])
    with TemporaryDirectory(prefix="edgewright-evaluate-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def _keep_all(job: Job, folder: Path) -> str:
    return job.keep_files(
        folder, [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    )
