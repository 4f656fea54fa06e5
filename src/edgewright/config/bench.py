"""The options of qnn_bench.py, and its configuration file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.values import make_number_parser
from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where, shown
from edgewright.core.files import is_there
from edgewright.core.words import did_you_mean

LEVELS = ("basic", "detailed")
ON_A_DEVICE = "the benchmark runs on this machine"


@dataclass(frozen=True)
class BenchFiles(OptionGroup):
    """What is measured, and where the results go."""

    title = "Benchmark"

    config_file: str = opt("-c", "--config_file", metavar="FILE", help="the configuration, in JSON")
    output_base_dir_override: str | None = opt(
        "-o", "--output_base_dir_override", metavar="FOLDER", help="where the results go, not HostResultsDir"
    )
    json: bool = opt("-json", "--generate_json", help="write the results as JSON, too")
    discard_output: bool = opt(help="write no outputs of the model")
    clean_artifacts: bool = opt(help="remove the outputs and profiles of single runs at the end")


@dataclass(frozen=True)
class BenchRuns(OptionGroup):
    """How it is measured; what is given here stands above the configuration."""

    title = "Measurement"

    backends: tuple[str, ...] = opt(
        "-be", "--backend", nargs="+", type=str, metavar="BACKEND", example="-be CPU HTP",
        help="the backends, such as CPU, HTP, libQnnHtp.so or htp-sim",
    )  # fmt: skip
    iterations: int | None = opt(
        "-n", "--iterations", type=make_number_parser(1), metavar="N", help="how often the whole is repeated"
    )
    perfprofile: str | None = opt(
        "-p", "--perfprofile", metavar="PROFILE", help="as --perf_profile of qnn-net-run"
    )
    backend_config: str | None = opt(metavar="FILE", help="as --config_file of qnn-net-run")
    profilinglevel: str | None = opt(
        "-l", "--profilinglevel", choices=LEVELS, help="totals (basic), or each op, too (detailed)"
    )
    test_duration: float | None = opt(metavar="SECONDS", help="execute each time for so long")
    sleep: float = opt("-s", "--sleep", default=0.0, metavar="SECONDS", help="wait between two repetitions")
    shared_buffer: bool = opt(help="as --shared_buffer of qnn-net-run")


@dataclass(frozen=True)
class BenchDevice(OptionGroup):
    """Where it would run on a device."""

    title = "Device"

    device_id_override: str | None = opt(
        "-v",
        "--device_id_override",
        metavar="ID",
        help="the device that runs it: its serial number in adb, or ssh://USER@HOST",
    )
    host_name: str | None = opt(
        "-r",
        "--host_name",
        metavar="NAME",
        help="the machine that has it, whose adb is asked",
    )
    device_os_type_override: str | None = opt(
        "-t", "--device_os_type_override", metavar="OS", without_effect=ON_A_DEVICE, help="its system"
    )
    dsp_type: str | None = opt(
        metavar="VERSION", help="what the backend DSP is: v68 or later is the HTP; v65 and v66 are on devices"
    )
    htp_serialized: bool = opt(without_effect=ON_A_DEVICE, help="run a context made before")
    arm_prepare: bool = opt(without_effect=ON_A_DEVICE, help="compile on the device")
    use_signed_skel: bool = opt(without_effect=ON_A_DEVICE, help="use signed libraries")
    enable_cache: bool = opt(without_effect=ON_A_DEVICE, help="keep compiled models on the device")
    cdsp_id: int | None = opt(choices=(0, 1), without_effect=ON_A_DEVICE, help="which of two DSPs")
    debug: bool = opt("-d", "--debug", help="say more")

    @property
    def loudness(self) -> str | None:
        """Debug with -d."""
        return "debug" if self.debug else None


BENCH: tuple[type[OptionGroup], ...] = (BenchFiles, BenchRuns, BenchDevice)
KEYS = (
    *("Name", "HostRootPath", "HostResultsDir", "DevicePath", "Devices", "HostName", "Runs", "Model"),
    *("Backends", "Runtimes", "Measurements", "ProfilingLevel", "PerfProfile", "BackendConfig"),
    *("CpuFallback", "BufferTypes"),
)
MODEL_KEYS = ("Name", "qnn_model", "Dlc", "InputList", "Data")
MEASUREMENTS = ("timing",)
# Of snpe_bench.py: where a backend lacks an op, and how data reaches it.
_SNPE_KEYS = ("CpuFallback", "BufferTypes")
_DEVICE_KEYS = ("Devices", "DevicePath", "HostName")
# What DSP is called on chips that have an HTP.
_HTP_OF_DSP = "libQnnHtp.so"
_FIRST_HTP = 68


@dataclass(frozen=True)
class BenchCase:
    """A configuration as it is measured."""

    name: str
    model_name: str
    model: str
    input_list: str
    results: str
    backends: tuple[str, ...]
    runs: int = 1
    level: str = "basic"
    perf_profile: str = "default"
    backend_config: str | None = None
    notes: tuple[str, ...] = ()
    # The device as it is named, the machine whose adb has it, and the folder there.
    device: str | None = None
    adb_host: str | None = None
    device_folder: str | None = None
    # The library for a backend that is called otherwise.
    libraries: Mapping[str, str] = field(default_factory=dict)


def parse_bench_case(
    content: Any, file: str, files: BenchFiles, runs: BenchRuns, place: BenchDevice | None = None
) -> BenchCase:
    """The configuration with what the command line says; all that is wrong comes at once."""
    entry: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
    model = entry.get("Model")
    model = model if isinstance(model, Mapping) else {}
    path = model.get("qnn_model") or model.get("Dlc")
    backends = runs.backends or tuple(_read_names(entry.get("Backends") or entry.get("Runtimes")))
    level = str(runs.profilinglevel or entry.get("ProfilingLevel", "basic")).lower()
    count = runs.iterations or entry.get("Runs", 1)
    problems = [*_find_unknown_keys(entry, "", KEYS), *_find_unknown_keys(model, "Model.", MODEL_KEYS)]
    texts = {"Name": entry.get("Name"), "Model.qnn_model": path, "Model.InputList": model.get("InputList")}
    problems += [
        (f"key '{key}' is missing, expected a text", f"add {key}")
        for key, value in texts.items()
        if not isinstance(value, str) or not value
    ]
    if not backends:
        problems.append(("key 'Backends' is missing, expected a list", 'add "Backends": ["CPU"]'))
    if level not in LEVELS:
        problems.append((f"key 'ProfilingLevel' is '{shown(level)}', expected basic or detailed", ""))
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        problems.append((f"key 'Runs' is '{shown(count)}', expected a number from 1", ""))
    problems += [
        (f"key 'Measurements' names '{shown(name)}', only timing is measured", "leave it out")
        for name in _read_names(entry.get("Measurements"))
        if name not in MEASUREMENTS
    ]
    if problems:
        errors: list[EdgewrightError] = [BadInput(what, Where(file=file), do=do) for what, do in problems]
        raise errors[0] if len(errors) == 1 else Problems(errors)
    folder = Path(file).parent
    # A name is a text, not a path.
    root = entry.get("HostRootPath") or re.sub(r"[^\w-]+", "_", entry["Name"])
    results = files.output_base_dir_override or entry.get("HostResultsDir") or f"{root}/results"
    place = place or BenchDevice()
    libraries = _find_libraries(backends, place.dsp_type)
    # Only the command line: an address of the file would send the model to a place that the file chose.
    device = place.device_id_override
    return BenchCase(
        name=entry["Name"],
        model_name=str(model.get("Name") or Path(str(path)).stem),
        model=_find(folder, str(path)),
        input_list=_find(folder, str(model["InputList"])),
        results=str(results),
        backends=backends,
        runs=int(count),
        level=level,
        perf_profile=str(runs.perfprofile or entry.get("PerfProfile", "default")),
        backend_config=runs.backend_config or entry.get("BackendConfig"),
        notes=(
            *(_note_host(entry, place) if device else _note_devices(entry, model)),
            *(f"'{key}' has no effect: QNN has no such setting" for key in _SNPE_KEYS if key in entry),
            *(f"{name} with --dsp_type {place.dsp_type} is the HTP" for name in libraries),
        ),
        device=device,
        adb_host=place.host_name,
        device_folder=entry.get("DevicePath"),
        libraries=libraries,
    )


def _find_unknown_keys(table: Mapping[str, Any], prefix: str, known: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (
            f"key '{prefix}{shown(key)}' is unknown",
            did_you_mean(str(key), known, f"use one of {', '.join(known)}"),
        )
        for key in table
        if key not in known
    ]


def _read_names(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def _find(folder: Path, name: str) -> str:
    """A file as it is named from here, or from beside the configuration."""
    return name if is_there(name) or Path(name).is_absolute() else str(folder / name)


def _note_devices(entry: Mapping[str, Any], model: Mapping[str, Any]) -> tuple[str, ...]:
    given = {key: entry.get(key) for key in _DEVICE_KEYS} | {"Model.Data": model.get("Data")}
    said = [f"'{key}' {_spell(value)}" for key, value in given.items() if value]
    return (f"{', '.join(said)} not used: {ON_A_DEVICE}; -v ID runs it on a device",) if said else ()


def _note_host(entry: Mapping[str, Any], place: BenchDevice) -> tuple[str, ...]:
    host = entry.get("HostName")
    if not host or place.host_name:
        return ()
    return (f"'HostName' {_spell(host)} not used: -r HOST names the machine whose adb is asked",)


def _spell(value: Any) -> str:
    return shown(", ".join(_read_names(value)) or value)


def _find_libraries(backends: Sequence[str], dsp_type: str | None) -> dict[str, str]:
    """DSP is the HTP's old name; on older chips it is another backend, which answers for itself."""
    version = (dsp_type or "").removeprefix("v")
    is_htp = version.isdecimal() and int(version) >= _FIRST_HTP
    return {name: _HTP_OF_DSP for name in backends if is_htp and name.upper() == "DSP"}
