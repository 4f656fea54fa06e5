"""Simulation of the HTP: our latency over onnxruntime's for its own int8 and QDQ models of the same networks.

``python -m benchmarks.simulation --models DIR``: one thread on both sides, rounds that take turns, medians.
"""

import argparse
import tempfile
from collections.abc import Callable
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

__all__ = ["Simulation", "measure"]

NAMES = ("mnist_cntk", "mobilenet_v2_imagenet", "light_resnet50", "light_squeezenet", "light_shufflenet")
LIMIT, PAIRS, CALIBRATING = 1.3, 15, 4
PRECISIONS = {"w8a8": (8, 8), "w8a16": (8, 16), "w4a16": (4, 16), "w4a8": (4, 8)}


@dataclass(frozen=True)
class Simulation:
    """Medians in milliseconds: float, onnxruntime's own QDQ model, our export in it, our simulation."""

    model: str
    precision: str
    float_ms: float
    peer_ms: float | None
    exported_ms: float
    ours_ms: float

    @property
    def ratio(self) -> float:
        """Ours over onnxruntime: its own model where it makes one (it has no 4 bits), else our export."""
        return self.ours_ms / (self.peer_ms or self.exported_ms)


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
            quantize_static(model, feeds, peer, act_bits)
            sessions.append(_session(peer))
        times = interleaved([*(_call(s, feeds[0]) for s in sessions), _simulated(ours, feeds[0])], PAIRS)
    peer_ms = times[2] if weight_bits == 8 else None
    return Simulation(path.stem, precision, times[0], peer_ms, times[1], times[-1])


def _call(session: onnxruntime.InferenceSession, feed: Feed) -> Callable[[], object]:
    return lambda: session.run(None, feed)


def _simulated(model: ew.Model, feed: Feed) -> Callable[[], object]:
    return lambda: model.run(feed, backend="htp-sim", threads=1)


def _session(path: Path) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    # The same as our backend: products of dequantized weights in float32, not in quantized activations.
    settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def main() -> None:
    """The table, a line for each network and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--precision", default="", help="only this one")
    options = parser.parse_args()
    print(f"{'model':24s} {'':6s} {'float':>8s} {'ORT QDQ':>8s} {'export':>8s} {'ours':>8s} {'ours/ORT':>9s}")
    for path in model_files(options.models):
        if path.stem not in NAMES or options.filter not in path.stem:
            continue
        for precision in [p for p in PRECISIONS if options.precision in p]:
            row = measure(path, precision)
            peer = "-" if row.peer_ms is None else f"{row.peer_ms:.3f}"
            cells = (
                f"{row.float_ms:8.3f} {peer:>8s} {row.exported_ms:8.3f} {row.ours_ms:8.3f} {row.ratio:9.2f}"
            )
            print(f"{row.model:24s} {precision:6s} {cells}{' NOT MET' * (row.ratio > LIMIT)}", flush=True)


if __name__ == "__main__":
    main()
