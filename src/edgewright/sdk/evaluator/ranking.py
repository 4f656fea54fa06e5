"""From runs of schemas to a ranked evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgewright.core.errors import EdgewrightError
from edgewright.core.events import announce_progress
from edgewright.sdk.evaluator.comparison import Comparison
from edgewright.sdk.evaluator.records import FAILED, SUCCESS, ModelEvaluation, SchemaResult
from edgewright.sdk.evaluator.schema_runs import SchemaRun
from edgewright.sdk.evaluator.schemas import QNN, InferenceSchema

# Tables of a schema by the words that the guide's CSV has for them.
TABLES = {
    "Converter params": "converter_params",
    "Context binary params": "contextbin_params",
    "Netrun params": "netrun_params",
}


def find_reference(schemas: Sequence[InferenceSchema]) -> int:
    """The place of the schema that others are compared with: the one that says so, else the first."""
    return next((place for place, schema in enumerate(schemas) if schema.is_reference), 0)


def compare_runs(
    runs: Sequence[SchemaRun], comparison: Comparison | None, count: int, work_folder: Path
) -> list[SchemaResult]:
    """A result for each run, in their order; the reference itself has no figure.

    Args:
        runs: of all schemas.
        comparison: how they are compared; not at all where it is None.
        count: of results that each run has.
        work_folder: what paths are relative to.
    """
    place = find_reference([run.schema for run in runs])
    reference = runs[place]
    if reference.problem is not None:
        raise reference.problem
    results = []
    with announce_progress("comparing outputs", total=len(runs)) as step:
        for number, run in enumerate(runs):
            result = _describe_run(run, is_reference=number == place)
            if comparison is not None and number != place and run.problem is None:
                result = _compare(result, run, reference, comparison, count, work_folder)
            results.append(result)
            step()
    return results


def count_results(runs: Sequence[SchemaRun]) -> int:
    """How many results the reference has: one for each input, or for each batch of them."""
    folder = runs[find_reference([run.schema for run in runs])].folder
    return len(list(folder.glob("Result_*")))


def rank_results(evaluation: ModelEvaluation, comparison: Comparison | None) -> ModelEvaluation:
    """The reference first, then the best; schemas that failed are last."""

    def order(item: tuple[int, SchemaResult]) -> tuple[bool, bool, float, int]:
        number, result = item
        rank = 0.0 if comparison is None else comparison.comparator.rank(result.match)
        return result.status == FAILED, not result.is_reference, rank, number

    ranked = [result for _, result in sorted(enumerate(evaluation.results), key=order)]
    return replace(evaluation, results=tuple(ranked))


def _compare(
    result: SchemaResult,
    run: SchemaRun,
    reference: SchemaRun,
    comparison: Comparison,
    count: int,
    work_folder: Path,
) -> SchemaResult:
    try:
        outputs = comparison.compare_folders(reference.folder, run.folder, count)
        # Whoever has the same model has the same pictures, in that schema's folder.
        pictures = [] if run.same_as else comparison.draw_differences(reference.folder, run.folder, count)
    except EdgewrightError as problem:
        return replace(result, status=FAILED, problem=problem.what, code=problem.code)
    match = float(np.mean([item.mean for item in outputs]))
    files = tuple(str(file.relative_to(work_folder)) for file in pictures)
    return replace(result, outputs=outputs, match=match, pictures=files)


def _describe_run(run: SchemaRun, *, is_reference: bool) -> SchemaResult:
    schema = run.schema
    return SchemaResult(
        name=schema.name,
        status=SUCCESS if run.problem is None else FAILED,
        engine=schema.engine,
        precision=schema.precision,
        backend=f"{schema.backend} {schema.target_arch}" if schema.engine == QNN else "",
        tag=schema.tag,
        is_reference=is_reference,
        backend_extensions=_join_texts(schema.backend_extensions),
        params={
            word: _join_texts(getattr(schema, name)) for word, name in TABLES.items() if getattr(schema, name)
        },
        folder=str(run.folder),
        seconds=run.seconds,
        same_as=run.same_as,
        problem="" if run.problem is None else run.problem.what,
        code="" if run.problem is None else run.problem.code,
        notes=run.notes,
    )


def _join_texts(table: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {key: " ".join(texts) for key, texts in table.items()}
