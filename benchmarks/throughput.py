"""Both tools that run models, over ONNX Runtime driven by hand: python -m benchmarks.throughput --help."""

import argparse
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime

import edgewright as ew
from benchmarks.models import EXAMPLES, FETCHED, inputs_for
from benchmarks.tables import Table, add_write_option
from edgewright.config.net_run import Execution, InputFiles, Model, OutputFiles, Profiling
from edgewright.config.throughput_case import CaseBackend, CaseContext, CaseModel, CaseThread, ThroughputCase
from edgewright.core.machine_use import measure_memory
from edgewright.sdk.net_run import NetRunOptions, run_network
from edgewright.sdk.throughput.case_run import run_throughput

__all__ = ["Overhead", "endured", "measure_all", "overhead", "throughputs"]

NAMES = ("mnist_cntk", "mobilenet_v2_imagenet")
THREADS, SECONDS, ROUNDS, ENDURE_S = 4, 5, 3, 60
ENOUGH, OVERHEAD_LIMIT_US = 0.95, 30
COLUMNS = (
    "model",
    "qnn-throughput-net-run",
    "ONNX Runtime, its own threads",
    "ONNX Runtime, one thread a run",
)


@dataclass(frozen=True)
class Overhead:
    """Microseconds of one execution: ONNX Runtime's session run, and qnn-net-run with all it does."""

    engine: float
    ours: float


def throughputs(path: Path, threads: int, seconds: int, rounds: int) -> dict[str, float]:
    """Executions in a second by so many threads: ours and ONNX Runtime's in turns, medians."""
    with tempfile.TemporaryDirectory() as folder:
        case = _case(path, Path(folder), threads, seconds)
        sessions = {
            "engine, its own threads": _session(path, 0),
            "engine, one thread a run": _session(path, 1),
        }
        found: dict[str, list[float]] = {}
        for _ in range(rounds):
            found.setdefault("ours", []).append(run_throughput(case).throughput)
            for name, session in sessions.items():
                found.setdefault(name, []).append(_driven(session, threads, seconds))
    return {name: median(values) for name, values in found.items()}


def endured(path: Path, threads: int, seconds: int) -> list[float]:
    """Megabytes of this process in each second of a test."""
    sizes: list[float] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(1):
            sizes.append(measure_memory() / 2**20)

    with tempfile.TemporaryDirectory() as folder:
        case = _case(path, Path(folder), threads, seconds)
        watcher = threading.Thread(target=watch)
        watcher.start()
        run_throughput(case)
        is_over.set()
        watcher.join()
    return sizes


def overhead(path: Path, runs: int, rounds: int) -> Overhead:
    """One execution with inputs at hand and one thread, in turns of ``runs / rounds``; the best turns."""
    with tempfile.TemporaryDirectory() as folder:
        options = _options(path, Path(folder), runs // rounds)
        session = _session(path, 1)
        feed = inputs_for(session)
        engine, ours = [], []
        for _ in range(rounds):
            began = time.perf_counter()
            for _ in range(runs // rounds):
                session.run(None, feed)
            engine.append((time.perf_counter() - began) / (runs // rounds))
            ours.append(run_network(options).wall / 1e6 / (runs // rounds))
    return Overhead(min(engine) * 1e6, min(ours) * 1e6)


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def _driven(session: onnxruntime.InferenceSession, threads: int, seconds: int) -> float:
    feed, counts = inputs_for(session), [0] * threads
    end = time.monotonic() + seconds

    def run(index: int) -> None:
        while time.monotonic() < end:
            session.run(None, feed)
            counts[index] += 1

    workers = [threading.Thread(target=run, args=(index,)) for index in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - began)


def _converted(path: Path, folder: Path) -> Path:
    return ew.convert(path, batch=1).save(folder / "model.cpp").net_json


def _case(path: Path, folder: Path, threads: int, seconds: int) -> ThroughputCase:
    model = CaseModel("model", str(_converted(path, folder)))
    backend, context = CaseBackend("cpu", "libQnnCpu.so"), CaseContext("context")
    return ThroughputCase(
        "benchmark",
        1,
        tuple(
            CaseThread(f"t{i}", backend, context, model, is_random=True, count=None, seconds=seconds)
            for i in range(threads)
        ),
    )


def _options(path: Path, folder: Path, runs: int) -> NetRunOptions:
    net = _converted(path, folder)
    files = []
    for name, tensor in {item.name: item for item in ew.load(net).inputs}.items():
        np.zeros([int(dim) for dim in tensor.shape], np.float32).tofile(folder / f"{len(files)}.raw")
        files.append(f"{name}:={folder / f'{len(files)}.raw'}")
    (folder / "list.txt").write_text(" ".join(files) + "\n")
    return NetRunOptions(
        Model(backend="cpu", models=(str(net),)),
        InputFiles(input_list=(str(folder / "list.txt"),), max_input_cache_tensor_sets=-1),
        OutputFiles(output_dir=str(folder / "out"), keep_num_outputs=0),
        Execution(num_inferences=runs, perf_profile="power_saver"),
        Profiling(),
    )


def measure_all(paths: Iterable[Path], options: argparse.Namespace) -> None:
    """Prints a row for each model that is meant for this, then memory and what one execution costs."""
    table = Table("throughput", COLUMNS, options)
    chosen = [path for path in paths if path.stem in NAMES]
    for path in chosen:
        ours, *others = throughputs(path, THREADS, SECONDS, ROUNDS).values()
        table.add(path.stem, f"{ours:.1f}", *(_compare(ours, other) for other in others))
    table.finish(*(_describe_costs(path) for path in chosen[:1]))


def _compare(ours: float, other: float) -> str:
    ratio = f"{ours / other:.2f}"
    return f"{other:.1f} (ours {ratio if ours / other >= ENOUGH else f'**{ratio}**'} of it)"


def _describe_costs(path: Path) -> str:
    """Memory of a long test, and what one execution takes more than ONNX Runtime alone."""
    sizes, times = endured(path, THREADS, ENDURE_S), overhead(path, 10_000, 20)
    return (
        f"{path.stem}: {sizes[10]:.1f} MB after 10 s of a test of {ENDURE_S} s, {sizes[-1]:.1f} MB in the "
        f"end. One execution on one thread: `session.run` {times.engine:.1f} us, `qnn-net-run` "
        f"{times.ours:.1f} us, {times.ours - times.engine:.1f} us more (limit {OVERHEAD_LIMIT_US})."
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    paths = [EXAMPLES / "mnist_cntk.onnx", FETCHED / "mobilenet_v2_imagenet.onnx"]
    measure_all([path for path in paths if options.filter in path.stem and path.exists()], options)


if __name__ == "__main__":
    main()
