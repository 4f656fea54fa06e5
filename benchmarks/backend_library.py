"""ONNX Runtime's QNN provider on our backend library: python -m benchmarks.backend_library FILE...

A file may be followed by shapes for its inputs: silero.onnx:input=1,512:state=2,1,128. Each model is
converted, written as ONNX (quantized ops in QDQ form), and run by the provider on the CPU kind of the
library; the outputs are compared with our own run of that file. Then what one execution costs beside the
computing, and eight threads at once. It needs a C compiler and the wheel onnxruntime-qnn.
"""

import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import onnxruntime_qnn

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.qnn.contexts import LiveContext
from edgewright.backends.qnn.library import Library
from edgewright.backends.qnn.options import HtpOptions
from edgewright.core.numbers import Array
from edgewright.lower.lift import lift
from edgewright.lower.lower import lower
from edgewright.model.random_inputs import make_random_inputs
from edgewright.sdk.backend_library import compile_library
from tests.native.run_on_library import NAME, open_session

ROUNDS = 200


def measure(call: Callable[[], object], rounds: int) -> float:
    """The median of a call in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def convert_source(named: str, folder: Path) -> Path:
    """The model as ONNX with fixed shapes."""
    source, *shapes = named.split(":")
    given = {name: [int(size) for size in sizes.split(",") if size] for name, _, sizes in _split(shapes)}
    path = folder / f"{Path(source).stem}.onnx"
    ew.convert(source, input_shapes=given or None, batch=None if given else 1).save(path)
    return path


def _split(words: Sequence[str]) -> list[tuple[str, str, str]]:
    return [word.rpartition("=") for word in words]


def run_model(library: Path, path: Path) -> str:
    """A row: nodes on the library and elsewhere, the largest difference from our own run, times."""
    model = ew.convert(path)
    feed = make_random_inputs(model)
    wanted = model.run(feed)
    session = open_session(str(library), str(path))
    counts: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        counts[part.ep_name] += len(part.get_nodes())
    names = [item.name for item in session.get_outputs()]
    far = max(_differ(a, wanted[name]) for a, name in zip(session.run(names, feed), names, strict=True))
    spent = measure(lambda: session.run(names, feed), 10), measure(lambda: model.run(feed), 10)
    where = f"{counts[NAME]} / {counts.total()}"
    return f"| {path.stem} | {where} | {far:.1e} | {spent[0]:.2f} | {spent[1]:.2f} |"


def _differ(found: Array, wanted: Array) -> float:
    """The largest difference over the largest value."""
    a, b = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9)) if a.size else 0.0


def measure_overhead(library: Path, source: Path) -> str:
    """What an execution through the library costs beside our own session's, and eight threads at once."""
    records = lower(ew.convert(source).graph)
    own = CpuBackend().prepare(lift(records), RunOptions(threads=1))
    feed = {
        tensor.name: np.random.default_rng(0).random(tensor.dims, np.float32) for tensor in records.of_kind(0)
    }
    backend = Library(library, 1)
    backend.open(0, None)
    context = LiveContext(backend, HtpOptions())
    context.compile([records])
    through = measure(lambda: context.execute(records.name, feed), ROUNDS)
    direct = measure(lambda: own.run({records.source_names.get(n, n): a for n, a in feed.items()}), ROUNDS)
    wrong = _run_threads(context, records.name, feed)
    threads = f"8 threads x {ROUNDS}: {wrong} wrong"
    return f"an execution: {through:.3f} ms, {direct:.3f} ms in our own session; {threads}"


def _run_threads(context: LiveContext, name: str, feed: Mapping[str, Array]) -> int:
    wanted, wrong = context.execute(name, feed), []

    def execute() -> None:
        for _ in range(ROUNDS):
            found = context.execute(name, feed)
            wrong.extend(key for key in found if not np.array_equal(found[key], wanted[key]))

    threads = [threading.Thread(target=execute) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wrong)


def main(files: Sequence[str]) -> None:
    """The table, a row for each file."""
    onnxruntime.register_execution_provider_library(NAME, onnxruntime_qnn.get_library_path())
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as inner:
        library = Path(inner) / "libEdgewrightCpu.so"
        compile_library("cpu", library)
        print("| model | nodes on the library / all | difference | ms | our own run, ms |")
        print("|---|---|---|---|---|")
        for file in files:
            try:
                print(run_model(library, convert_source(file, Path(inner))), flush=True)
            except Exception as problem:
                said = str(problem).split("\n")[0]
                print(f"| {Path(file).name} | refused: {said[:160]} |", flush=True)
        print(measure_overhead(library, Path("examples/models/mnist_cntk.onnx")))


if __name__ == "__main__":
    main(sys.argv[1:])
