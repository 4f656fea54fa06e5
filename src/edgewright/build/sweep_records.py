"""The records of a sweep: a row for each combination, and which rows are the best of their model."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace

from edgewright.build.records import BuildRecord
from edgewright.tasks.outcome import TaskError

BUILT, FAILED = "built", "failed"


@dataclass(frozen=True)
class SweepRow:
    """A model for a chip in a precision: what came of its build, or why there is none."""

    model: str
    target: str
    precision: str
    status: str = FAILED
    # The candidate that was taken, and the word of the verdict.
    chosen: str = ""
    verdict: str = ""
    metric: str = ""
    # The metric of the chosen candidate, and points lost on the samples that judge, with the interval's end.
    score: float | None = None
    lost: float | None = None
    lost_high: float | None = None
    sqnr_db: float | None = None
    backend: str = ""
    weight_bytes: int | None = None
    # Of the files for the chip.
    file_bytes: int | None = None
    # Bits x MACs, w8a8 is 1.
    cost: float | None = None
    # What the build cost: passes over the samples, and time.
    passes: float | None = None
    seconds: float | None = None
    is_cut_short: bool = False
    # Whether nothing of the same model and chip is as good in size, loss and cost, and better in one.
    is_best: bool = False
    # Taken over from an earlier sweep.
    is_reused: bool = False
    folder: str = ""
    error_code: str = ""
    error: str = ""
    do: str = ""
    exit_code: int = 0

    @property
    def name(self) -> str:
        """In messages."""
        return f"{self.model} for {self.target} in {self.precision}"


@dataclass(frozen=True)
class SweepRecord:
    """A whole sweep."""

    rows: tuple[SweepRow, ...]
    # Packages that have a say in the results.
    versions: tuple[tuple[str, str], ...]
    store: str
    seconds: float = 0.0

    @property
    def failed(self) -> tuple[SweepRow, ...]:
        """Rows without a build."""
        return tuple(row for row in self.rows if row.status == FAILED)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Models and chips for which a limit was given that no precision is proven to keep."""
        words: dict[str, set[str]] = {}
        for row in self.rows:
            if row.status == BUILT and row.verdict != "no limit":
                words.setdefault(f"{row.model} for {row.target}", set()).add(row.verdict)
        return tuple(name for name, verdicts in words.items() if "met" not in verdicts)


def describe_build(record: BuildRecord) -> dict[str, object]:
    """The fields of a row that a build fills."""
    chosen = next(each for each in record.candidates if each.is_chosen)
    loss = record.verdict.loss
    return {
        "status": BUILT,
        "chosen": record.chosen,
        "verdict": record.verdict.word,
        "metric": record.metric.name,
        "score": chosen.score,
        "lost": loss.points,
        "lost_high": loss.high,
        "sqnr_db": _to_number(chosen.sqnr_db),
        "backend": loss.backend,
        "weight_bytes": chosen.weight_bytes,
        "file_bytes": sum(artifact.size for artifact in record.artifacts),
        "cost": chosen.cost,
        "passes": record.passes,
        "is_cut_short": record.is_cut_short,
    }


def describe_failure(error: TaskError) -> dict[str, object]:
    """The fields of a row that has no build."""
    what = f"{error.what} ({error.where})" if error.where else error.what
    return {"error_code": error.code, "error": what, "do": error.do, "exit_code": error.exit_code}


def mark_best(rows: Sequence[SweepRow]) -> tuple[SweepRow, ...]:
    """The rows, with those marked that no other of the same model and chip beats."""
    groups: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for row in rows:
        if (figures := _list_figures(row)) is not None:
            groups.setdefault((row.model, row.target), []).append(figures)
    return tuple(replace(row, is_best=_is_best(row, groups.get((row.model, row.target), ()))) for row in rows)


def to_csv(rows: Sequence[SweepRow]) -> bytes:
    """A line for each row, under the names of the fields."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(SweepRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: "" if value is None else value for key, value in asdict(row).items()} for row in rows
    )
    return text.getvalue().encode("utf-8", "replace")


def _is_best(row: SweepRow, rivals: Sequence[tuple[float, ...]]) -> bool:
    figures = _list_figures(row)
    return figures is not None and not any(
        rival != figures and all(a <= b for a, b in zip(rival, figures, strict=True)) for rival in rivals
    )


def _list_figures(row: SweepRow) -> tuple[float, ...] | None:
    """What is best when it is small; None where there is no build."""
    if row.status != BUILT or row.weight_bytes is None or row.lost is None or row.cost is None:
        return None
    # What is gained by chance is no merit.
    return float(row.weight_bytes), max(row.lost, 0.0), row.cost


def _to_number(value: float) -> float | None:
    """JSON has no word for infinities and for what is no number."""
    return value if abs(value) < float("inf") else None
