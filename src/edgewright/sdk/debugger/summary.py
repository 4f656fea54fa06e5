"""The record of a verification, and its tables as the guide lays them out: CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.numbers import Array
from edgewright.lower.names import NameTable

RANGES = ("golden_min", "golden_max", "target_min", "target_max")


@dataclass
class TensorVerdict:
    """One tensor beside its reference: a score for each verifier that looked at it."""

    name: str
    golden: str
    layer_type: str
    dims: tuple[int, ...]
    size: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    # The smallest and the largest value of the reference, then of the tensor.
    ranges: tuple[float, float, float, float] | None = None
    problem: str = ""
    # It lives inside a fused op of the NPU: a difference here says nothing.
    is_fused: bool = False

    def measure_ranges(self, golden: Array, target: Array) -> None:
        """What both sides hold."""
        self.size = int(target.size)
        if not self.dims:
            self.dims = tuple(target.shape)
        if target.size:
            parts = (np.min(golden), np.max(golden), np.min(target), np.max(target))
            low, high, least, most = map(float, parts)
            self.ranges = (low, high, least, most)

    def is_match(self, verifiers: Sequence[Verifier]) -> bool:
        """Whether every verifier that looked at it calls it equal."""
        return not self.problem and all(
            verifier.is_match(self.scores[verifier.column])
            for verifier in verifiers
            if verifier.column in self.scores
        )


@dataclass(frozen=True)
class Verification:
    """All tensors in the order of the graph."""

    folder: str
    verifiers: tuple[Verifier, ...]
    tensors: tuple[TensorVerdict, ...]
    unmatched: tuple[str, ...] = ()
    has_ranges: bool = False

    @property
    def first_divergence(self) -> str:
        """One line: the first tensor in the order of the graph that some verifier calls different.

        What an activation that is fused to its op reads is in no memory of the NPU, and is passed over.
        """
        for verdict in self.tensors:
            if not verdict.is_fused and not verdict.is_match(self.verifiers):
                figures = ", ".join(f"{name} {format_score(score)}" for name, score in verdict.scores.items())
                kind = f" ({verdict.layer_type})" if verdict.layer_type else ""
                return f"first divergence: {verdict.name}{kind}: {verdict.problem or figures}"
        return f"first divergence: none of {len(self.tensors)} tensors"

    def headers(self) -> list[str]:
        """The columns of the summary."""
        columns = [verifier.column for verifier in self.verifiers]
        return ["Name", "LayerType", "Size", "Tensor_dims", *columns, *(RANGES if self.has_ranges else ())]

    def rows(self) -> list[list[str]]:
        """The cells of the summary, a row for each tensor."""
        return [self._make_row(verdict) for verdict in self.tensors]

    def _make_row(self, verdict: TensorVerdict) -> list[str]:
        scores = [
            format_score(verdict.scores[verifier.column]) if verifier.column in verdict.scores else ""
            for verifier in self.verifiers
        ]
        ranges = ["" if verdict.ranges is None else f"{value:.9g}" for value in verdict.ranges or [0.0] * 4]
        cells = [verdict.name, verdict.layer_type, str(verdict.size), str(list(verdict.dims)), *scores]
        return [*cells, *(ranges if self.has_ranges else ())]


def format_score(score: float) -> str:
    """A figure of a table."""
    return (
        f"{score:.6f}"
        if (math.isfinite(score) and 1e-3 <= abs(score) < 1e6) or score == 0
        else f"{score:.6g}"
    )


def describe_tables(result: Verification) -> dict[str, bytes]:
    """summary.csv and summary.json."""
    return {"summary.csv": format_csv([result.headers(), *result.rows()]), "summary.json": _to_json(result)}


def describe_tensor_files(result: Verification) -> Iterator[tuple[str, bytes]]:
    """A CSV for each tensor in the folder of each verifier."""
    name_file = NameTable()
    for verdict in result.tensors:
        file = name_file(verdict.name)
        for verifier in result.verifiers:
            if verifier.column in verdict.scores:
                table = list_tensor_figures(verdict, verifier)
                yield f"{verifier.column}/{file}.csv", format_csv([list(table), list(table.values())])


def list_tensor_figures(verdict: TensorVerdict, verifier: Verifier) -> dict[str, str]:
    """What one verifier says of one tensor."""
    score = verdict.scores[verifier.column]
    ranges = [] if verdict.ranges is None else [f"{value:.9g}" for value in verdict.ranges]
    return {
        "Name": verdict.name,
        "Golden": verdict.golden,
        "LayerType": verdict.layer_type,
        "Size": str(verdict.size),
        "Tensor_dims": str(list(verdict.dims)),
        verifier.column: format_score(score),
        "threshold": f"{verifier.limit:g}",
        "match": str(verifier.is_match(score)),
        **dict(zip(RANGES, ranges, strict=False)),
    }


def format_csv(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows as a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _to_json(result: Verification) -> bytes:
    tensors = [
        {
            "Name": verdict.name,
            "Golden": verdict.golden,
            "LayerType": verdict.layer_type,
            "Size": verdict.size,
            "Tensor_dims": list(verdict.dims),
            **{name: _to_number(score) for name, score in verdict.scores.items()},
            **(
                {}
                if verdict.ranges is None
                else dict(zip(RANGES, map(_to_number, verdict.ranges), strict=True))
            ),
            **({"problem": verdict.problem} if verdict.problem else {}),
            **({"fused": True} if verdict.is_fused else {}),
        }
        for verdict in result.tensors
    ]
    content = {
        "verifiers": {
            verifier.column: {"threshold": verifier.threshold, "higher_is_better": verifier.is_higher_better}
            for verifier in result.verifiers
        },
        "first_divergence": result.first_divergence,
        "tensors": tensors,
        "without_reference": list(result.unmatched),
    }
    return f"{json.dumps(content, indent=1)}\n".encode()


def _to_number(value: float) -> float | str:
    # JSON has no infinities.
    return value if math.isfinite(value) else str(value)
