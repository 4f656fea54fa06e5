"""Simulation of the HTP: our latency over onnxruntime's for its own int8 and QDQ models of the same networks.

``python -m benchmarks.simulation``: one thread on both sides, rounds that take turns, medians.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime

import edgewright as ew
from benchmarks.accuracy_models import lifted
from benchmarks.latency import interleaved
from benchmarks.models import inputs_for, model_files
from benchmarks.peers import Feed
from benchmarks.peers import onnxruntime as quantize_static
from benchmarks.tables import Table, add_write_option

__all__ = ["Simulation", "measure", "measure_all"]

NAMES = ("mnist_cntk", "mobilenet_v2_imagenet", "light_resnet50", "light_squeezenet", "light_shufflenet")
LIMIT, PAIRS, CALIBRATING = 1.3, 15, 4
COLUMNS = (
    *("model", "precision", "float", "ONNX Runtime QDQ", "our export", "fast", "exact"),
    *("fast / ONNX Runtime", "exact / ONNX Runtime"),
)
PRECISIONS = {"w8a8": (8, 8), "w8a16": (8, 16), "w4a16": (4, 16), "w4a8": (4, 8)}


@dataclass(frozen=True)
class Simulation:
    """Medians in milliseconds: float, onnxruntime's own QDQ model, our export in it, our simulations.

    The fast one rounds as onnxruntime does, the exact one as the NPU does (the same for 16 bits).
    """

    model: str
    precision: str
    float_ms: float
    peer_ms: float | None
    exported_ms: float
    fast_ms: float
    exact_ms: float

    @property
    def engine_ms(self) -> float:
        """Of onnxruntime: its own model where it makes one (it has no 4 bits), else our export."""
        return self.peer_ms or self.exported_ms


def measure(path: Path, precision: str) -> Simulation:
    """Runs all side by side on the same inputs."""
    weight_bits, act_bits = PRECISIONS[precision]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        onnx.save(lifted(path), model)
        plain = _session(model)
        feeds = [inputs_for(plain, seed) for seed in range(CALIBRATING)]
        ours = ew.quantize(model, feeds, act_bw=act_bits, weight_bw=weight_bits, act_quantizer="tf")
        exported = Path(folder) / "ours.onnx"
        ours.save(exported)
        sessions = [plain, _session(exported)]
        if weight_bits == 8:
            peer = Path(folder) / "peer.onnx"
            quantize_static(model, feeds, peer, precision)
            sessions.append(_session(peer))
        simulations = [_simulated(ours, feeds[0], backend) for backend in ("htp-sim-fast", "htp-sim")]
        times = interleaved([*(_call(s, feeds[0]) for s in sessions), *simulations], PAIRS)
    peer_ms = times[2] if weight_bits == 8 else None
    return Simulation(path.stem, precision, times[0], peer_ms, times[1], *times[-2:])


def _call(session: onnxruntime.InferenceSession, feed: Feed) -> Callable[[], object]:
    return lambda: session.run(None, feed)


def _simulated(model: ew.Model, feed: Feed, backend: str) -> Callable[[], object]:
    return lambda: model.run(feed, backend=backend, threads=1)


def _session(path: Path) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    # The same as our backend: products of dequantized weights in float32, not in quantized activations.
    settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def measure_all(paths: Iterable[Path], options: argparse.Namespace) -> None:
    """Prints a row for each network that is meant for this and each precision."""
    table, late = Table("simulation-speed", COLUMNS, options), list[str]()
    for path in {path.stem: path for path in paths if path.stem in NAMES}.values():
        for name in PRECISIONS:
            row = measure(path, name)
            times = (row.float_ms, row.peer_ms, row.exported_ms, row.fast_ms, row.exact_ms)
            ratios = (row.fast_ms / row.engine_ms, row.exact_ms / row.engine_ms)
            cells = ["-" if ms is None else f"{ms:.3f}" for ms in times]
            table.add(row.model, name, *cells, *(f"{ratio:.2f}" for ratio in ratios))
            late += [f"{row.model} {name} {max(ratios):.2f}"] if max(ratios) > LIMIT else []
    table.finish(f"Over {LIMIT}: {', '.join(late) or 'none'}.")


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    measure_all([path for path in model_files(options.models) if options.filter in path.stem], options)


if __name__ == "__main__":
    main()
