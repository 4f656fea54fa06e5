"""The records of a build: all that its report shows."""

from dataclasses import dataclass

from edgewright.analyse.records import Finding, Layer, TensorView
from edgewright.estimate.records import TimeRange
from edgewright.evaluate.records import Accuracy, Metric
from edgewright.evaluate.verdict import Verdict
from edgewright.ir.contract import IoTensor

# The files of a build that tell of it: for people, and for programs.
REPORT, RECORD = "report.html", "report.json"


@dataclass(frozen=True)
class Preflight:
    """The findings of the pre-flight, followed by those of the conversion."""

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
class Candidate:
    """One precision that was tried: how accurate it is and what it costs."""

    # w8a8, w8a8+algorithms, mixed, w8a16, fp16 ...
    name: str
    # A description for readers: algorithms and ranges, or how many layers have which widths.
    text: str
    # What it was evaluated on: htp-sim or htp-native.
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
    # The upper end of the interval of what is lost, as it is to be expected on the samples that judge.
    drop_high: float = 100.0
    # Whether it was stopped because its time was up: it is the best that was found until then.
    is_stopped: bool = False
    # What a run takes on the chip, estimated; None where nothing can be said.
    time: TimeRange | None = None


@dataclass(frozen=True)
class LeftOut:
    """A candidate that was not built, and why."""

    name: str
    reason: str
    # Whether more time would have built it.
    is_for_time: bool = False


@dataclass(frozen=True)
class Stage:
    """A step of the build: its time and the largest memory of the process until its end."""

    name: str
    seconds: float
    peak_mb: float
    # Taken over from an earlier, interrupted run.
    is_resumed: bool = False
    # Runs of all models in it but the emulator's, in passes of the float model over all samples.
    passes: float = 0.0


@dataclass(frozen=True)
class Artifact:
    """A file that was written; the path is relative to the output folder."""

    path: str
    size: int
    text: str


@dataclass(frozen=True)
class SampleNumbers:
    """Samples by what they did, as numbers from 0 in the order of the data."""

    calibrated: tuple[int, ...]
    chose: tuple[int, ...]
    judged: tuple[int, ...]
    # Those of them that the emulator had time for.
    emulated: tuple[int, ...] = ()


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
    # The precision asked for, and what came out of it (the name of the chosen candidate).
    precision: str
    chosen: str
    # Points that may be lost; None where no limit was given.
    max_drop: float | None
    verdict: Verdict
    metric: Metric
    accuracy: tuple[Accuracy, ...]
    candidates: tuple[Candidate, ...]
    layers: tuple[Layer, ...]
    tensors: tuple[TensorView, ...]
    # Rules of the target that were applied or broken, clipped ranges, weak layers: each with what fixes it.
    findings: tuple[Finding, ...]
    # The samples of calibration and evaluation, and how they were preprocessed.
    data: tuple[str, ...]
    # The algorithms that were used, and why: a line each.
    choices: tuple[str, ...]
    stages: tuple[Stage, ...]
    artifacts: tuple[Artifact, ...]
    # Package or tool, and version.
    versions: tuple[tuple[str, str], ...]
    samples: SampleNumbers = SampleNumbers((), (), ())
    # Where all of it is, and the command with whole paths; empty where something was given in memory.
    folder: str = ""
    rebuild: str = ""
    notes: tuple[str, ...] = ()
    # Candidates that were not built.
    left_out: tuple[LeftOut, ...] = ()
    # The cost of all stages in passes of the float model over all samples, the emulator apart.
    passes: float = 0.0
    # Seconds that it might take and took, and whether more of them would have changed the result.
    time_limit: float | None = None
    seconds: float = 0.0
    is_cut_short: bool = False

    @property
    def is_met(self) -> bool | None:
        """Whether the limit is proven to be kept; None where there is none."""
        return self.verdict.is_met
