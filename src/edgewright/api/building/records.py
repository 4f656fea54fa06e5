"""What a build found out and did: all that its report shows, as plain records."""

from dataclasses import dataclass

from edgewright.api.contract import IoTensor

__all__ = [
    "Accuracy",
    "Artifact",
    "BuildRecord",
    "Finding",
    "Layer",
    "Metric",
    "Preflight",
    "Rung",
    "Source",
    "Stage",
    "TensorView",
]


@dataclass(frozen=True)
class Finding:
    """Something that stands in the way, costs accuracy or is worth knowing, and what mends it."""

    # error (the build cannot go on), warning (it can, at a price) or note.
    grade: str
    # unsupported-op, datatype, architecture, size, open-shape, memory, time, rule, range ...
    kind: str
    what: str
    # A node or tensor by its name in the source model; empty for the model as a whole.
    where: str = ""
    # The exact command, option or override.
    do: str = ""


@dataclass(frozen=True)
class Preflight:
    """What was found in seconds, before any work; numbers are estimates where they say so."""

    findings: tuple[Finding, ...]
    seconds: float
    # Estimates for the whole build.
    expected_seconds: float
    expected_memory_mb: float
    expected_disk_mb: float

    @property
    def is_ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not any(finding.grade == "error" for finding in self.findings)


@dataclass(frozen=True)
class Source:
    """The model that was given."""

    file: str
    format: str
    sha256: str
    file_bytes: int
    nodes: int
    parameters: int
    macs: int
    weight_bytes: int


@dataclass(frozen=True)
class Metric:
    """How accuracy is told for this model and data: one number in percent, larger is better."""

    # right-answers (labels were given), same-answers (those of the float model) or closeness (100 % less the
    # root mean square error over the output's range).
    name: str
    # A sentence for readers.
    text: str
    # The outputs that it looks at.
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Accuracy:
    """One output on one backend, over held-apart samples; the interval is the one of 95 %."""

    output: str
    # float, htp-sim or htp-native.
    backend: str
    samples: int
    # The metric in percent; None where it does not look at this output.
    score: float | None
    low: float | None
    high: float | None
    # Against the float model; None for the float model itself.
    sqnr_db: float | None
    max_abs: float | None


@dataclass(frozen=True)
class Rung:
    """One precision that was tried, with its price and what it keeps."""

    # w8a8, w8a8+algorithms, mixed, w8a16, fp16 ...
    name: str
    # What was done, for readers: algorithms and ranges, or how many layers have which widths.
    text: str
    # Where it was judged: htp-sim or htp-native.
    backend: str
    samples: int
    # The metric, and what is lost of the float model's in points.
    score: float
    drop: float
    sqnr_db: float
    weight_bytes: int
    # Sum over all layers of MACs x bits of weights x bits of activations, over that of uniform w8a8.
    cost: float
    # Whether the limit is met; None where there is none.
    is_met: bool | None = None
    is_chosen: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layer:
    """One op of the quantized graph and how far its result is from the float model's."""

    node: str
    op: str
    tensor: str
    # As the source model names what the tensor comes from; the tensor's own name where it is the same.
    source: str
    # Bits of the result and of the weights; 16 and 32 in floating point too, which ``dtype`` tells apart.
    dtype: str
    bits: int
    weight_bits: int | None
    macs: int
    # In dB, up to here and over a few held-apart samples; None where it was not measured.
    sim_db: float | None
    emulator_db: float | None
    # The part that this op adds by itself when its inputs are exact; None where it was not measured.
    own_db: float | None = None
    # Of that, what rounded weights alone make; None where there are none.
    weight_db: float | None = None


@dataclass(frozen=True)
class TensorView:
    """The values of one tensor, and what its encoding makes of them."""

    tensor: str
    source: str
    # Counts of values between ``edges`` (one more than counts).
    counts: tuple[int, ...]
    edges: tuple[float, ...]
    bits: int
    scale: float
    offset: int
    # What the encoding can hold, and the share of values beyond it.
    low: float
    high: float
    clipped: float
    # Up to here in the simulation, and what this encoding alone leaves of all values and of those within its
    # range, in dB.
    sim_db: float | None = None
    own_db: float | None = None
    rounding_db: float | None = None


@dataclass(frozen=True)
class Stage:
    """A step of the build: its time and the largest memory of the process until its end."""

    name: str
    seconds: float
    peak_mb: float
    # Taken over from an earlier, interrupted run.
    is_resumed: bool = False


@dataclass(frozen=True)
class Artifact:
    """A file that was written; the path is relative to the output folder."""

    path: str
    size: int
    text: str


@dataclass(frozen=True)
class BuildRecord:
    """A whole build."""

    command: str
    source: Source
    # The chip as it was asked for, and its architecture.
    target: str
    architecture: str
    contract: tuple[IoTensor, ...]
    preflight: Preflight
    # The precision asked for, and what came out of it (as the chosen rung is named).
    precision: str
    chosen: str
    # Points that may be lost; None where no limit was given.
    max_drop: float | None
    is_met: bool | None
    metric: Metric
    accuracy: tuple[Accuracy, ...]
    ladder: tuple[Rung, ...]
    layers: tuple[Layer, ...]
    tensors: tuple[TensorView, ...]
    # Rules of the target that were applied or broken, clipped ranges, weak layers: each with what mends it.
    findings: tuple[Finding, ...]
    # What calibration and evaluation used, and what was done to it.
    data: tuple[str, ...]
    # The algorithms that were used, and why: a line each.
    choices: tuple[str, ...]
    stages: tuple[Stage, ...]
    artifacts: tuple[Artifact, ...]
    # Package or tool, and version.
    versions: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
