"""What a quantization check found."""

from collections.abc import Iterable
from dataclasses import dataclass

from edgewright.analyse.odd_encodings import OddEncoding
from edgewright.analyse.quantization.compare_tensors import ACTIVATION, BIAS, WEIGHT, ComparedTensor
from edgewright.analyse.records import Finding

KINDS = {WEIGHT: "Weights", BIAS: "Biases", ACTIVATION: "Activations"}


@dataclass(frozen=True)
class Repair:
    """What was changed of a variant, and what it gained."""

    actions: tuple[str, ...]
    # The worst output against the float model, in dB.
    before_db: float
    after_db: float
    # Shares of tensors that failed by algorithm, before and after; by kind of tensor.
    is_kept: bool
    rows: tuple[ComparedTensor, ...] = ()
    encodings: str = ""


@dataclass(frozen=True)
class VariantCheck:
    """One way to quantize the model: every tensor against float."""

    name: str
    rows: tuple[ComparedTensor, ...]
    # Given encodings that a calibration on the same inputs betters.
    odd: tuple[OddEncoding, ...] = ()
    # Rules of the HTP that encodings break.
    rules: tuple[Finding, ...] = ()
    coverage: str = ""
    command: str = ""
    repair: Repair | None = None

    @property
    def failures(self) -> tuple[ComparedTensor, ...]:
        """What fails."""
        return tuple(row for row in self.rows if row.is_failure)


@dataclass(frozen=True)
class ModelCheck:
    """All variants of one model."""

    model: str
    folder: str
    inputs: tuple[str, ...]
    variants: tuple[VariantCheck, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuantizationCheck:
    """All models that were looked at; those that could not be, with the reason."""

    models: tuple[ModelCheck, ...]
    refused: tuple[tuple[str, str], ...] = ()


def compute_failure_share(rows: Iterable[ComparedTensor], kind: str, algorithm: str) -> float | None:
    """Percent of the tensors of a kind that fail an algorithm; None where it did not look at any."""
    asked: dict[str, bool] = {}
    for row in rows:
        if row.kind == kind and row.algorithm == algorithm:
            asked[row.tensor] = asked.get(row.tensor, False) or not row.is_passed
    return 100 * sum(asked.values()) / len(asked) if asked else None
