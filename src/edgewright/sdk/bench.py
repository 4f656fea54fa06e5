"""Benchmarks as qnn_bench.py runs them: a model on several backends, several times, with statistics."""

import csv
import io
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.config.bench import BenchCase, BenchDevice, BenchFiles, BenchRuns, parse_bench_case
from edgewright.config.net_run import Execution, InputFiles, OutputFiles, Profiling
from edgewright.config.net_run import Model as ModelOptions
from edgewright.core.events import announce_progress
from edgewright.core.files import Chunks, write_all
from edgewright.core.plain import to_json
from edgewright.core.version import VERSION
from edgewright.lower.names import sanitize_name
from edgewright.model.profile.summary import summarise_file
from edgewright.run.context.config import read_json
from edgewright.run.remote.address import name_adb_device
from edgewright.sdk.net_run import NetRun, NetRunOptions, run_network

# The lines that every profile has, in the words of the SDK's tool.
INIT, INFERENCE, INFERENCES = "Init", "Total Inference Time [NetRun]", "Inferences per second"


@dataclass(frozen=True)
class Statistics:
    """One thing on one backend over all repetitions, in microseconds unless its name says otherwise."""

    name: str
    average: float
    most: float
    least: float
    deviation: float
    unit: str = "us"


@dataclass(frozen=True)
class BackendResult:
    """A backend as it was named, what it was, and what was measured on it."""

    backend: str
    runs_on: str
    runs: int
    executions: int
    measures: tuple[Statistics, ...]


@dataclass(frozen=True)
class BenchReport:
    """All results of a benchmark, and the files that hold them."""

    name: str
    model: str
    level: str
    results: tuple[BackendResult, ...]
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def run_benchmark(files: BenchFiles, runs: BenchRuns, place: BenchDevice | None = None) -> BenchReport:
    """Measures every backend as often as asked, and writes the results, all files or none."""
    case = parse_bench_case(read_json(Path(files.config_file)), files.config_file, files, runs, place)
    with announce_progress(f"measuring {case.name}", total=len(case.backends) * case.runs) as step:
        results = []
        for backend in case.backends:
            repetitions: list[NetRun] = []
            for number in range(case.runs):
                if number and runs.sleep:
                    time.sleep(runs.sleep)
                repetitions.append(run_network(_make_options(case, files, runs, backend, number)))
                step()
            results.append(_summarise(backend, repetitions))
    report = BenchReport(case.name, case.model_name, case.level, tuple(results), notes=case.notes)
    stem = Path(case.results) / f"benchmark_stats_{sanitize_name(case.name)}"
    written: dict[Path, Chunks] = {stem.with_suffix(".csv"): [write_csv(report)]}
    if files.json:
        written[stem.with_suffix(".json")] = [to_json(report)]
    write_all(written)
    if files.clean_artifacts:
        for backend in case.backends:
            shutil.rmtree(Path(case.results) / sanitize_name(backend), ignore_errors=True)
    return BenchReport(**{**vars(report), "files": tuple(map(str, written))})


def write_csv(report: BenchReport) -> bytes:
    """A header, then a line for each thing and four columns for each backend."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["Model", report.model])
    writer.writerow(["Benchmark", report.name])
    writer.writerow(["Tool", f"edgewright {VERSION}"])
    writer.writerow(["Profiling level", report.level])
    for result in report.results:
        writer.writerow(
            [result.backend, result.runs_on, f"{result.runs} runs", f"{result.executions} executions"]
        )
    columns = [
        f"{r.backend}_timing {word}" for r in report.results for word in ("avg", "max", "min", "stddev")
    ]
    writer.writerow([])
    writer.writerow(["", "unit", *columns])
    for name, unit in _list_names(report.results):
        row: list[str] = [name, unit]
        for result in report.results:
            own = next((item for item in result.measures if item.name == name), None)
            numbers = () if own is None else (own.average, own.most, own.least, own.deviation)
            row += [f"{number:.1f}" for number in numbers] or [""] * 4
        writer.writerow(row)
    return buffer.getvalue().encode()


def _list_names(results: Sequence[BackendResult]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((item.name, item.unit) for result in results for item in result.measures))


def _make_options(
    case: BenchCase, files: BenchFiles, runs: BenchRuns, backend: str, number: int
) -> NetRunOptions:
    is_context = case.model.endswith(".bin")
    library = case.libraries.get(backend, backend)
    folder = Path(case.results) / sanitize_name(backend) / f"run_{number}"
    model: Mapping[str, object] = (
        {"retrieve_context": case.model} if is_context else {"models": (case.model,)}
    )
    return NetRunOptions(
        ModelOptions(backend=library, config_file=case.backend_config, **model),  # type: ignore[arg-type]
        InputFiles(input_list=(case.input_list,)),
        OutputFiles(output_dir=str(folder), keep_num_outputs=0 if files.discard_output else None),
        Execution(
            duration=runs.test_duration, perf_profile=case.perf_profile, shared_buffer=runs.shared_buffer
        ),
        Profiling(profiling_level=case.level),
        None if case.device is None else name_adb_device(case.device, case.adb_host, case.device_folder),
    )


def _summarise(backend: str, runs: Sequence[NetRun]) -> BackendResult:
    measures = [
        _measure(INIT, [run.init for run in runs]),
        _measure(INFERENCE, [run.execute_total / max(run.measured, 1) for run in runs]),
        _measure(INFERENCES, [run.measured * 1e6 / max(run.execute_total, 1) for run in runs], "1/s"),
        *_measure_ops(runs),
    ]
    executions = sum(run.measured for run in runs)
    return BackendResult(backend, runs[0].record.backend, len(runs), executions, tuple(measures))


def _measure_ops(runs: Sequence[NetRun]) -> Iterator[Statistics]:
    """The single ops, where they were measured."""
    times: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        _, summary = summarise_file(run.profile)
        for item in summary.ops:
            times.setdefault((item.name, item.unit.lower()), []).append(item.average)
    for (name, unit), values in times.items():
        yield _measure(name, values, unit)


def _measure(name: str, values: Sequence[float], unit: str = "us") -> Statistics:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return Statistics(name, statistics.fmean(values), max(values), min(values), spread, unit)
