"""Runs all schemas of a model on the same inputs; what two of them share is done once."""

import logging
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from edgewright.core.errors import EdgewrightError
from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph
from edgewright.sdk.converter import ConverterOptions
from edgewright.sdk.evaluator.conversions import Conversions
from edgewright.sdk.evaluator.converter_options import EvaluatedModel, make_converter_options
from edgewright.sdk.evaluator.execution import (
    WrittenModel,
    check_engine,
    check_host,
    link_results,
    run_model,
    run_source,
    write_model,
)
from edgewright.sdk.evaluator.inputs import ListedInputs
from edgewright.sdk.evaluator.records import Work
from edgewright.sdk.evaluator.schemas import QNN, InferenceSchema

log = logging.getLogger(__name__)

INFER_FOLDER = "infer"
_SCHEMA_FOLDER = re.compile(r"schema\d+_.+")


@dataclass(frozen=True)
class SchemaRun:
    """A schema that was run, with its results in a folder, or why it was not."""

    schema: InferenceSchema
    folder: Path
    seconds: float = 0.0
    same_as: str = ""
    notes: tuple[str, ...] = ()
    problem: EdgewrightError | None = None


class SchemaRunner:
    """Runs schemas of one model; each writes its model and its results below FOLDER/infer."""

    def __init__(self, model: EvaluatedModel, folder: Path, conversions: Conversions) -> None:
        """Prepares for a model.

        Args:
            model: the source.
            folder: the work folder.
            conversions: kept by the caller, for as long as the evaluation lasts.
        """
        self._model, self._folder, self._conversions = model, folder, conversions
        # Models that were run: their digest and how -> the folder of the results.
        self._known: dict[tuple[object, ...], Path] = {}
        self._work = Work()

    @property
    def work(self) -> Work:
        """What was computed so far."""
        return replace(self._work, conversions=self._conversions.count)

    @cached_property
    def graph(self) -> Graph:
        """The float model in the layout of its source."""
        options = make_converter_options(self._model, InferenceSchema(), None)
        return self._conversions.prepare(options).converted.graph

    def run_all(
        self, schemas: Sequence[InferenceSchema], inputs: ListedInputs, calibration: ListedInputs | None
    ) -> list[SchemaRun]:
        """Every schema; one that cannot be run does not stop the others."""
        clear_results(self._folder)
        runs = []
        with announce_progress(f"evaluating {self._model.name}", total=len(schemas)) as step:
            for schema in schemas:
                runs.append(self._try(schema, inputs, calibration))
                step()
        return runs

    def _try(
        self, schema: InferenceSchema, inputs: ListedInputs, calibration: ListedInputs | None
    ) -> SchemaRun:
        folder = self._folder / INFER_FOLDER / schema.name
        started = time.monotonic()
        try:
            run = self._run(schema, folder, inputs, calibration or inputs)
        except EdgewrightError as problem:
            log.warning("%s failed: %s", schema.name, problem.what)
            run = SchemaRun(schema, folder, problem=problem)
        return replace(run, seconds=time.monotonic() - started)

    def _run(
        self, schema: InferenceSchema, folder: Path, inputs: ListedInputs, calibration: ListedInputs
    ) -> SchemaRun:
        check_engine(schema, self._model.framework)
        if schema.engine != QNN:
            run_source(schema, self._model.path, self.graph, inputs.path, folder)
            self._work = replace(self._work, source_runs=self._work.source_runs + 1)
            return SchemaRun(schema, folder)
        check_host(schema)
        options = make_converter_options(self._model, schema, str(calibration.path))
        written = self._write(options, folder)
        key = _identify_run(schema, written)
        if key in self._known:
            link_results(self._known[key], folder)
            return SchemaRun(schema, folder, same_as=self._known[key].name, notes=written.notes)
        notes = run_model(schema, written.file, inputs.path, folder)
        self._count_run(schema)
        self._known[key] = folder
        return SchemaRun(schema, folder, notes=(*written.notes, *notes))

    def _write(self, options: ConverterOptions, folder: Path) -> WrittenModel:
        prepared = self._conversions.prepare(options)
        written = write_model(prepared, options, folder)
        if options.quantizer.is_asked_for:
            self._work = replace(self._work, quantizations=self._work.quantizations + 1)
        return written

    def _count_run(self, schema: InferenceSchema) -> None:
        if schema.is_quantized:
            self._work = replace(self._work, quantized_runs=self._work.quantized_runs + 1)
        else:
            self._work = replace(self._work, float_runs=self._work.float_runs + 1)


def clear_results(folder: Path) -> None:
    """Removes what an earlier evaluation left: its results must not be taken for those of this one."""
    for entry in (folder / INFER_FOLDER).glob("schema*"):
        if _SCHEMA_FOLDER.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)


def _identify_run(schema: InferenceSchema, written: WrittenModel) -> tuple[object, ...]:
    tables = (schema.contextbin_params, schema.netrun_params, schema.backend_extensions)
    return (written.digest, schema.backend, *(tuple(sorted(table.items())) for table in tables))
