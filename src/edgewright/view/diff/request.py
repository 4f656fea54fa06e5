"""What a comparison is asked for, as a form has it and as it is saved and loaded again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from edgewright.analyse.verifiers.choices import VerifierChoice, find_verifier, make_verifier
from edgewright.config.inference_engine import ARCHITECTURES, RUNTIMES
from edgewright.config.net_run import PERF_PROFILES
from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json

INFERENCE_INFERENCE = "Inference vs Inference"
GOLDEN_INFERENCE = "Golden vs Inference"
OUTPUT_OUTPUT = "Output vs Output"
USE_CASES = (INFERENCE_INFERENCE, GOLDEN_INFERENCE, OUTPUT_OUTPUT)
THRESHOLD = 0.01
LARGEST_RUN = 1 << 20
# The fields that are one of some words.
CHOICES: dict[str, tuple[str, ...]] = {
    "target_device": ("host", "on-device"),
    "runtime": RUNTIMES,
    "architecture": ARCHITECTURES,
    "input_data_type": ("float", "native"),
    "output_data_type": ("float_only", "float_and_native"),
    "profiling_level": ("detailed", "backend", "basic"),
    "perf_profile": PERF_PROFILES,
}


@dataclass(frozen=True)
class DiffSide:
    """One inference: a model and how it is run; paths are relative to the folder of the viewer."""

    model_json: str = ""
    model_cpp: str = ""
    model_bin: str = ""
    input_list: str = ""
    target_device: str = "host"
    device_id: str = ""
    runtime: str = "cpu"
    architecture: str = "x86_64-linux-clang"
    input_data_type: str = "float"
    output_data_type: str = "float_only"
    profiling_level: str = "detailed"
    perf_profile: str = "balanced"
    # Without effect: no device is reached, and the engine is this one.
    ndk_path: str = ""
    engine_path: str = ""


@dataclass(frozen=True)
class DiffRun:
    """A comparison."""

    use_case: str = INFERENCE_INFERENCE
    working_dir: str = "diff"
    verifier: str = "RtolAtol"
    parameters: dict[str, str] = field(default_factory=dict)
    # Shares: of the error by the verifier, and of the time of an op.
    accuracy_threshold: float = THRESHOLD
    perf_threshold: float = THRESHOLD
    # For an output comparison the model alone: what is drawn.
    one: DiffSide = field(default_factory=DiffSide)
    two: DiffSide = field(default_factory=DiffSide)
    # Folders of raw tensors: golden ones or those of an earlier run, and what is compared with them.
    golden: str = ""
    results: str = ""

    def read_verifier(self) -> VerifierChoice:
        """The verifier with its hyper-parameters."""
        return VerifierChoice(make_verifier(find_verifier(self.verifier), self.parameters))

    def to_json(self) -> bytes:
        """As it is saved."""
        return f"{json.dumps(asdict(self), indent=2)}\n".encode()


def load_run(file: Path) -> DiffRun:
    """A comparison that was saved."""
    try:
        content = parse_json(read_limited(file, LARGEST_RUN))
    except (ValueError, RecursionError):
        raise BadInput("the saved run is not JSON", Where(file=str(file)), do="save the run again") from None
    return read_run(content)


def read_run(content: Any) -> DiffRun:
    """A comparison from JSON; what it does not name has its default, what is unknown is refused."""
    values = _read_fields(DiffRun(), content, "the run")
    run = DiffRun(**{**values, "one": _read_side(values["one"]), "two": _read_side(values["two"])})
    if run.use_case not in USE_CASES:
        raise UsageError(f"the use case is '{shown(run.use_case)}', expected one of: {', '.join(USE_CASES)}")
    run.read_verifier()
    _check_files(run)
    return run


def _read_side(content: Any) -> DiffSide:
    side = DiffSide(**_read_fields(DiffSide(), content, "an inference"))
    for name, words in CHOICES.items():
        if getattr(side, name) not in words:
            raise UsageError(f"{name} is '{shown(getattr(side, name))}', expected one of: {', '.join(words)}")
    if side.target_device != "host" or side.architecture != "x86_64-linux-clang":
        where = f" '{shown(side.device_id)}'" if side.device_id else ""
        raise UnsupportedFeature(
            f"the device{where} is not reached from here",
            do="choose the target device host and x86_64-linux-clang: dspvNN runs on the emulator of that "
            "architecture, htp-sim in the simulation",
        )
    return side


def _read_fields(defaults: DiffRun | DiffSide, content: Any, what: str) -> dict[str, Any]:
    """The values of all fields, each of the type that its default has."""
    if isinstance(content, DiffSide):
        content = asdict(content)
    if not isinstance(content, Mapping):
        raise BadInput(f"{what} is no JSON object, expected one", do="save the run again")
    known = {item.name: getattr(defaults, item.name) for item in fields(defaults)}
    unknown = [str(name) for name in content if name not in known]
    if unknown:
        raise BadInput(f"{what} has '{shown(unknown[0])}', which is unknown", do="save the run again")
    return {name: _read_value(name, content.get(name, default), default) for name, default in known.items()}


def _read_value(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, DiffSide):
        return value
    if isinstance(default, dict):
        is_fit = isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())
        return {str(key): item for key, item in value.items()} if is_fit else _refuse(name, value, "texts")
    if isinstance(default, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and value >= 0 else _refuse(name, value, "a number of 0 or more")
    return value if isinstance(value, str) else _refuse(name, value, "a text")


def _refuse(name: str, value: Any, expected: str) -> Any:
    raise UsageError(f"'{name}' is {shown(value)}, expected {expected}")


def _check_files(run: DiffRun) -> None:
    """All that a use case needs and that is not named."""
    needed = {"the model of inference one": run.one.model_json or run.one.model_cpp}
    if run.use_case != OUTPUT_OUTPUT:
        needed["the input list of inference one"] = run.one.input_list
    if run.use_case == INFERENCE_INFERENCE:
        needed["the model of inference two"] = run.two.model_json or run.two.model_cpp
        needed["the input list of inference two"] = run.two.input_list
    else:
        needed["the folder of golden tensors or first outputs"] = run.golden
    if run.use_case == OUTPUT_OUTPUT:
        needed["the folder of outputs that are compared"] = run.results
    absent = [what for what, value in needed.items() if not value]
    if absent:
        raise UsageError(f"not named: {', '.join(absent)}", do="fill in these fields")
