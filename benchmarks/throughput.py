"""Both tools that run models, over ONNX Runtime driven by hand: python -m benchmarks.throughput --help."""

import argparse
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime

import edgewright as ew
from benchmarks.conditions import describe_conditions
from benchmarks.models import EXAMPLES, inputs_for
from edgewright.config.net_run import Execution, InputFiles, Model, OutputFiles, Profiling
from edgewright.config.throughput_case import CaseBackend, CaseContext, CaseModel, CaseThread, ThroughputCase
from edgewright.core.machine_use import measure_memory
from edgewright.sdk.net_run import NetRunOptions, run_network
from edgewright.sdk.throughput.case_run import run_throughput

__all__ = ["Overhead", "endured", "overhead", "throughputs"]


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


def main() -> None:
    """The three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, default=[EXAMPLES / "mnist_cntk.onnx"])
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--endure", type=int, default=60, help="seconds of the test of memory; 0 for none")
    options = parser.parse_args()
    print(f"{options.threads} threads on {os.cpu_count()} cores")
    for path in options.models:
        found = throughputs(path, options.threads, options.seconds, options.rounds)
        for name, value in found.items():
            ratio = found["ours"] / value
            print(f"{path.stem:24s} {name:26s} {value:10.1f} /s  ours / it {ratio:6.3f}", flush=True)
    if options.endure:
        sizes = endured(options.models[0], options.threads, options.endure)
        print(
            f"memory after 10 s {sizes[10]:.1f} MB, at most {max(sizes):.1f} MB, in the end {sizes[-1]:.1f}"
        )
    times = overhead(EXAMPLES / "mnist_cntk.onnx", 10_000, 20)
    more = times.ours - times.engine
    print(f"engine {times.engine:.1f} us, qnn-net-run {times.ours:.1f} us, {more:.1f} us more")
    print(describe_conditions())


if __name__ == "__main__":
    main()
