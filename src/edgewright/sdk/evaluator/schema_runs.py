"""Runs all schemas of a model on the same inputs, by tasks: what two of them share is computed once."""

import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from edgewright.core.errors import EdgewrightError
from edgewright.core.plain import to_plain
from edgewright.ir.graph import Graph
from edgewright.model.shared_files import share_path
from edgewright.run.remote.address import choose_device
from edgewright.sdk.converter import ConverterOptions, use_packages
from edgewright.sdk.evaluator.converter_options import (
    CALIBRATION,
    EvaluatedModel,
    make_converter_options,
    reduce_to_first_half,
)
from edgewright.sdk.evaluator.execution import IR_FOLDER, check_engine, link_results
from edgewright.sdk.evaluator.inputs import ListedInputs
from edgewright.sdk.evaluator.records import Work
from edgewright.sdk.evaluator.schema_tasks import (
    convert_model,
    run_schema_model,
    run_source_model,
    write_schema_model,
)
from edgewright.sdk.evaluator.schemas import QNN, TABLES, InferenceSchema
from edgewright.sdk.evaluator.shared_inputs import share_options, share_rows, share_source
from edgewright.sdk.evaluator.stored_conversions import load_conversion
from edgewright.tasks.engine import Engine, remember_shares
from edgewright.tasks.outcome import Outcome
from edgewright.tasks.task import Task, TaskFunction, make_task
from edgewright.tasks.versions import list_versions

log = logging.getLogger(__name__)

INFER_FOLDER = "infer"
# Inputs that one task runs: an emulator takes seconds for each, all others milliseconds.
PART, PART_OF_EMULATOR = 256, 64
_FAST_BACKENDS = frozenset({"cpu", "htp-sim"})
_SCHEMA_FOLDER = re.compile(r"schema\d+_.+")
_RESULT = re.compile(r"Result_(\d+)/")


@dataclass(frozen=True)
class SchemaRun:
    """A schema that was run, with its results in a folder, or why it was not."""

    schema: InferenceSchema
    folder: Path
    seconds: float = 0.0
    same_as: str = ""
    notes: tuple[str, ...] = ()
    problem: EdgewrightError | None = None


@dataclass(frozen=True)
class _Plan:
    """A schema with its model, where it has one, and the tasks that run it."""

    run: SchemaRun
    model: Outcome | None = None
    parts: tuple[Task, ...] = ()


class SchemaRunner:
    """Runs schemas of one model; each has its model and its results below FOLDER/infer."""

    def __init__(self, model: EvaluatedModel, folder: Path, engine: Engine) -> None:
        """Prepares for a model.

        Args:
            model: the source.
            folder: the work folder.
            engine: computes, and keeps what was computed.
        """
        self._model, self._folder, self._engine = model, folder, engine
        self._share = remember_shares(engine)
        self._versions = [list(version) for version in list_versions()]
        self._conversions: dict[str, Outcome] = {}
        self._work = Work()

    @property
    def work(self) -> Work:
        """What was computed so far."""
        return self._work

    @cached_property
    def graph(self) -> Graph:
        """The float model in the layout of its source."""
        options = make_converter_options(self._model, InferenceSchema(), None)
        folder = self._engine.fetch_files(self._convert(options))
        with use_packages(options.package):
            return load_conversion(folder).graph

    def run_all(
        self, schemas: Sequence[InferenceSchema], inputs: ListedInputs, calibration: ListedInputs | None
    ) -> list[SchemaRun]:
        """Every schema; one that cannot be run does not stop the others."""
        clear_results(self._folder)
        name = self._model.name
        models = self._write_models(schemas, calibration or inputs, f"quantizing {name}")
        plans = [self._plan_run(plan, inputs) for plan in models]
        parts = {part.key: part for plan in plans for part in plan.parts}
        outcomes = self._engine.compute_all(list(parts.values()), f"running {name}")
        answers = dict(zip(parts, outcomes, strict=True))
        known: dict[tuple[str, ...], Path] = {}
        return [self._finish(plan, answers, known) for plan in plans]

    # Models

    def _write_models(
        self, schemas: Sequence[InferenceSchema], calibration: ListedInputs, title: str
    ) -> list[_Plan]:
        """The schemas, those of ours with their models."""
        shared = share_rows(calibration.rows, self._share)
        tasks: dict[int, Task] = {}
        problems: dict[int, EdgewrightError] = {}
        for place, schema in enumerate(schemas):
            try:
                check_engine(schema, self._model.framework)
                if schema.engine == QNN:
                    tasks[place] = self._make_model_task(schema, shared)
            except EdgewrightError as problem:
                problems[place] = problem
        outcomes = dict(zip(tasks, self._engine.compute_all(list(tasks.values()), title), strict=True))
        counted = {
            tasks[place].key: outcome for place, outcome in outcomes.items() if schemas[place].is_quantized
        }
        self._count(quantizations=sum(map(_is_computed, counted.values())))
        return [
            _Plan(
                SchemaRun(schema, self._folder / INFER_FOLDER / schema.name, problem=problems.get(place)),
                outcomes.get(place),
            )
            for place, schema in enumerate(schemas)
        ]

    def _make_model_task(self, schema: InferenceSchema, calibration: Mapping[str, Any]) -> Task:
        options = make_converter_options(self._model, schema, CALIBRATION)
        return make_task(
            write_schema_model,
            **share_options(options, self._share),
            conversion=self._convert(options),
            calibration=calibration if options.quantizer.input_list is not None else None,
            versions=self._versions,
        )

    def _convert(self, options: ConverterOptions) -> str:
        """The hash of the first half of a conversion.

        A float model is the one that is quantized elsewhere, unless its source has encodings of its own.
        """
        if not options.quantizer.is_asked_for and options.output.float_bw == 32:
            asked = replace(options.quantizer, input_list=CALIBRATION)
            plain = self._compute_conversion(replace(options, quantizer=asked))
            if not plain["has_encodings"]:
                return str(plain["files"])
        return str(self._compute_conversion(options)["files"])

    def _compute_conversion(self, options: ConverterOptions) -> dict[str, Any]:
        first_half = reduce_to_first_half(options)
        task = make_task(
            convert_model,
            **share_options(first_half, self._share),
            model=share_source(self._model.path, self._share),
            versions=self._versions,
        )
        if task.key not in self._conversions:
            (outcome,) = self._engine.compute_all([task], f"converting {self._model.name}")
            self._conversions[task.key] = outcome
            self._count(conversions=_is_computed(outcome))
        outcome = self._conversions[task.key]
        if outcome.error is not None:
            raise self._model.explain(outcome.error.to_exception())
        answer: dict[str, Any] = outcome.value
        return answer

    # Runs

    def _plan_run(self, plan: _Plan, inputs: ListedInputs) -> _Plan:
        """With the tasks that run the model on all inputs; long lists are split."""
        run, schema = plan.run, plan.run.schema
        if run.problem is not None:
            return plan
        try:
            function, known = self._describe_run(schema, plan.model)
            size = self._choose_part(schema, len(inputs))
            rows = [inputs.rows[start : start + size] for start in range(0, len(inputs), size)]
            parts = [
                make_task(function, **known, inputs=share_rows(part, self._share), versions=self._versions)
                for part in rows
            ]
        except EdgewrightError as problem:
            return replace(plan, run=replace(run, problem=problem))
        return replace(plan, parts=tuple(parts))

    def _describe_run(
        self, schema: InferenceSchema, model: Outcome | None
    ) -> tuple[TaskFunction, dict[str, Any]]:
        """What runs a schema, and all that it is given but the inputs."""
        if model is None:
            options = make_converter_options(self._model, InferenceSchema(), None)
            return run_source_model, {
                "schema": {"engine": schema.engine, "precision": schema.precision},
                "model": share_source(self._model.path, self._share),
                "conversion": self._convert(options),
            }
        tables = {name: to_plain(getattr(schema, name)) for name in TABLES if name != "converter_params"}
        texts = {text for table in tables.values() for value in table.values() for text in value}
        return run_schema_model, {
            "schema": {"backend": schema.backend, **_describe_device(schema), **tables},
            "model": model.check()["model"],
            # Files that the tables name are where they are; what they hold matters.
            "files": {text: share_path(Path(text), self._share) for text in texts if Path(text).is_file()},
        }

    def _choose_part(self, schema: InferenceSchema, count: int) -> int:
        """How many inputs a task runs: whole batches; all of them where options speak of the whole run."""
        if schema.contextbin_params or schema.netrun_params or _describe_device(schema):
            return count
        shapes = [self.graph.types[name].static_shape() for name in self.graph.inputs]
        batch = max([shape[0] for shape in shapes if shape] or [1])
        size = PART if schema.engine != QNN or schema.backend in _FAST_BACKENDS else PART_OF_EMULATOR
        return max(batch, size - size % batch)

    def _finish(
        self, plan: _Plan, answers: Mapping[str, Outcome], known: dict[tuple[str, ...], Path]
    ) -> SchemaRun:
        """Puts the model and the results of a schema where users look for them."""
        run, key = plan.run, tuple(part.key for part in plan.parts)
        outcomes = [answers[part] for part in key]
        seconds = sum(outcome.seconds for outcome in (*outcomes, *([plan.model] if plan.model else [])))
        notes: list[str] = []
        try:
            if run.problem is not None:
                raise run.problem
            if plan.model is not None:
                answer = plan.model.check()
                notes += answer["notes"]
                for digest in (answer["model"]["content"], answer["others"]):
                    self._engine.copy_files(digest, run.folder / IR_FOLDER)
            if key in known:
                link_results(known[key], run.folder)
                return replace(run, seconds=seconds, same_as=known[key].name, notes=tuple(notes))
            notes += self._copy_results(outcomes, run.folder)
        except EdgewrightError as problem:
            log.warning("%s failed: %s", run.schema.name, problem.what)
            return replace(run, seconds=seconds, problem=problem)
        known[key] = run.folder
        self._count_run(run.schema, outcomes)
        return replace(run, seconds=seconds, notes=tuple(dict.fromkeys(notes)))

    def _copy_results(self, outcomes: Sequence[Outcome], folder: Path) -> list[str]:
        """The results of all parts under one numbering; returns what should be known."""
        notes: list[str] = []
        first = 0
        for outcome in outcomes:
            answer = outcome.check()
            rename = _Renumber(first)
            self._engine.copy_files(answer["files"], folder, rename)
            first = rename.following
            notes += answer["notes"]
        return notes

    def _count_run(self, schema: InferenceSchema, outcomes: Sequence[Outcome]) -> None:
        kind = "quantized_runs" if schema.is_quantized else "float_runs"
        kind = kind if schema.engine == QNN else "source_runs"
        self._count(**{kind: any(map(_is_computed, outcomes))})

    def _count(self, **more: int) -> None:
        self._work = replace(
            self._work, **{name: getattr(self._work, name) + number for name, number in more.items()}
        )


class _Renumber:
    """Names of result files, counted on from the part before; what else a part wrote is the first one's."""

    def __init__(self, first: int) -> None:
        self._first = self.following = first

    def __call__(self, name: str) -> str | None:
        result = _RESULT.match(name)
        if result is None:
            return name if self._first == 0 else None
        number = self._first + int(result[1])
        self.following = max(self.following, number + 1)
        return f"Result_{number}/{name[result.end() :]}"


def clear_results(folder: Path) -> None:
    """Removes what an earlier evaluation left: its results must not be taken for those of this one."""
    for entry in (folder / INFER_FOLDER).glob("schema*"):
        if _SCHEMA_FOLDER.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)


def _is_computed(outcome: Outcome) -> bool:
    return outcome.error is None and not outcome.is_reused


def _describe_device(schema: InferenceSchema) -> dict[str, str]:
    """Where a schema runs, if not on this machine."""
    if choose_device(schema.target_arch, schema.device or None) is None:
        return {}
    return {"target_arch": schema.target_arch, "device": schema.device}
