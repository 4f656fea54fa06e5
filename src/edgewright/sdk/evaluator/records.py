"""What an evaluation found, as plain records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgewright.core.errors import BadInput, EdgewrightError, Problems
from edgewright.core.page import Block, Displayed, Table

SUCCESS, FAILED = "Success", "Failed"


@dataclass(frozen=True)
class OutputMatch:
    """One output against the reference: the mean over all inputs, and the inputs that match least."""

    name: str
    mean: float
    # Numbers of inputs with their figures, the worst first.
    worst: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class SchemaResult:
    """One schema: what it ran, and how good it is."""

    name: str
    status: str
    engine: str
    precision: str
    backend: str
    tag: str = ""
    is_reference: bool = False
    backend_extensions: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # The mean over all outputs; None for the reference, and where it failed.
    match: float | None = None
    outputs: tuple[OutputMatch, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    folder: str = ""
    seconds: float = 0.0
    # Another schema that wrote the very same model.
    same_as: str = ""
    problem: str = ""
    # The kind of error that the problem is.
    code: str = ""
    notes: tuple[str, ...] = ()
    # Pictures of differences, relative to the work folder.
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """What was computed, for whoever wants to know whether anything was computed twice."""

    conversions: int = 0
    quantizations: int = 0
    # Runs of float models over all inputs, of fixed-point models, and of source engines.
    float_runs: int = 0
    quantized_runs: int = 0
    source_runs: int = 0


@dataclass(frozen=True, repr=False)
class ModelEvaluation(Displayed):
    """All schemas of one model, the best first; the reference comes before them."""

    model: str
    folder: str
    inputs: int
    comparator: str
    heading: str
    unit: str
    is_higher_better: bool
    results: tuple[SchemaResult, ...]
    work: Work = field(default_factory=Work)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    csv: str = ""
    page: str = ""

    @property
    def ranked(self) -> tuple[SchemaResult, ...]:
        """The schemas that were compared, the best first."""
        return tuple(result for result in self.results if result.match is not None)

    @property
    def best(self) -> SchemaResult | None:
        """The schema that comes closest to the reference."""
        return self.ranked[0] if self.ranked else None

    @property
    def failed(self) -> tuple[SchemaResult, ...]:
        """The schemas that have no result."""
        return tuple(result for result in self.results if result.status == FAILED)

    def _list_blocks(self) -> list[Block]:
        return list_blocks(self)


def list_blocks(evaluation: ModelEvaluation) -> list[Block]:
    """The table of a terminal, and what should be known besides."""
    unit = f" {evaluation.unit}" if evaluation.unit else ""
    rows = tuple(
        (
            str(place),
            result.name,
            result.status,
            describe_precision(result),
            "-" if result.match is None else f"{result.match:.3f}{unit}",
            "; ".join(f"{item.name} {item.mean:.3f}" for item in result.outputs) or result.problem or "-",
            "; ".join(f"{name} {value:g}" for name, value in result.metrics.items()) or "-",
            result.same_as.partition("_qnn_")[2] or "-",
        )
        for place, result in enumerate(evaluation.results)
    )
    headers = ("", "schema", "status", "runs as", evaluation.heading, "by output", "metrics", "same model as")
    title = f"{evaluation.model}: {len(evaluation.results)} schemas on {evaluation.inputs} inputs"
    return [Table(title, headers, rows, frozenset({0, 4})), *evaluation.notes]


def describe_precision(result: SchemaResult) -> str:
    """What ran, in a few words."""
    return (
        f"{result.precision} on {result.backend}"
        if result.backend
        else f"{result.precision}, {result.engine}"
    )


def raise_failures(evaluation: ModelEvaluation) -> None:
    """One error for the schemas that failed, once all is written: the rest of the table stands."""
    failed = evaluation.failed
    if failed:
        listed = "; ".join(f"{result.name}: {result.problem}" for result in failed[:5])
        kinds = {kind.code: kind for kind in EdgewrightError.__subclasses__() if kind is not Problems}
        kind = kinds.get(failed[0].code, BadInput)
        raise kind(f"{len(failed)} of {len(evaluation.results)} schemas failed: {listed}")
