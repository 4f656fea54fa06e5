"""Other quantizers at their defaults, per channel: python -m benchmarks.peers TOOL MODEL FEEDS OUT PRECISION.

Each runs in a process of its own: NNCF and AIMET live in an environment beside ours (.venv-peers).
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PEERS", "Peer", "load_feeds", "read_widths", "save_feeds"]

ROOT = Path(__file__).parents[1]
BESIDE = ROOT / ".venv-peers" / "bin" / "python"
PATIENCE = 1200
Feed = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """A tool: its name in tables, and the interpreter that has it."""

    name: str
    python: Path

    def quantize(self, model: Path, feeds: Path, target: Path, precision: str) -> str:
        """Writes the QDQ model; returns what went wrong, if something did."""
        if not self.python.exists():
            return f"no {self.python.relative_to(ROOT)}"
        command = [str(self.python), "-m", "benchmarks.peers", self.name, model, feeds, target, precision]
        try:
            run = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE} s"
        if run.returncode == 0 and target.exists():
            return ""
        return (run.stderr.strip().splitlines() or ["failed"])[-1][:160]


PEERS = (
    Peer("onnxruntime", Path(sys.executable)),
    Peer("nncf", BESIDE),
    Peer("nncf-transformer", BESIDE),
    Peer("aimet", BESIDE),
)


def read_widths(precision: str) -> tuple[int, int]:
    """Bits of weights and of activations: w8a16 is (8, 16)."""
    weights, activations = precision.removeprefix("w").split("a")
    return int(weights), int(activations)


def save_feeds(path: Path, feeds: Sequence[Feed]) -> None:
    """Feeds of one shape, stacked by input."""
    np.savez(path, **{name: np.stack([feed[name] for feed in feeds]) for name in feeds[0]})


def load_feeds(path: Path) -> list[Feed]:
    """What was saved, one feed a sample."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored}
    return [{name: a[i] for name, a in arrays.items()} for i in range(len(next(iter(arrays.values()))))]


def onnxruntime(model: Path, feeds: list[Feed], target: Path, precision: str) -> None:
    """quantize_static as its guide says: pre-process, then the defaults with an encoding for each channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds: Iterator[Feed] = iter(feeds)

        def get_next(self) -> Feed | None:
            return next(self._feeds, None)

    model, target = model.resolve(), target.resolve()
    ready = target.with_suffix(".ready.onnx")
    weights, activations = read_widths(precision)
    wide = QuantType.QUInt16 if activations == 16 else QuantType.QInt8
    narrow = QuantType.QInt4 if weights == 4 else QuantType.QInt8

    def quantize(source: Path) -> None:
        quantize_static(
            *(str(source), str(target), Reader()),
            per_channel=True,
            activation_type=wide,
            weight_type=narrow,
        )

    try:
        with chdir(target.parent):  # where its shape inference fails it leaves files behind
            quant_pre_process(str(model), str(ready))
        quantize(ready)
    except Exception:  # whatever it dislikes in the first step: that is advice, not a condition
        quantize(model)


def nncf(
    model: Path, feeds: list[Feed], target: Path, precision: str, *, is_transformer: bool = False
) -> None:
    """nncf.quantize: the performance preset, with fast bias correction; for transformers another one."""
    import nncf as tool
    import onnx
    from nncf.quantization.advanced_parameters import QuantizationParameters

    weights, activations = read_widths(precision)
    given: dict[str, Any] = {"model_type": tool.ModelType.TRANSFORMER} if is_transformer else {}
    if (weights, activations) != (8, 8):
        given["advanced_parameters"] = tool.AdvancedQuantizationParameters(
            activations_quantization_params=QuantizationParameters(num_bits=activations),
            weights_quantization_params=QuantizationParameters(num_bits=weights),
        )
    onnx.save(tool.quantize(onnx.load(model), tool.Dataset(feeds), **given), target)


def aimet(model: Path, feeds: list[Feed], target: Path, precision: str) -> None:
    """QuantizationSimModel, min-max, with its configuration for an encoding a channel."""
    import aimet_onnx
    import onnx

    config = (
        Path(aimet_onnx.__file__).parent / "common" / "quantsim_config" / "default_config_per_channel.json"
    )
    weights, activations = read_widths(precision)
    sim = aimet_onnx.QuantizationSimModel(
        onnx.load(model),
        param_type=f"int{weights}",
        activation_type=f"int{activations}",
        config_file=str(config),
        dummy_input=feeds[0],
    )
    sim.compute_encodings(feeds)
    onnx.save(sim.to_onnx_qdq(), target)


def main(tool: str, model: str, feeds: str, target: str, precision: str) -> None:
    """Runs one tool and prints how long it took."""
    given = load_feeds(Path(feeds))
    began = time.perf_counter()
    tools: dict[str, Callable[..., None]] = {
        "onnxruntime": onnxruntime,
        "nncf": nncf,
        "nncf-transformer": partial(nncf, is_transformer=True),
        "aimet": aimet,
    }
    tools[tool](Path(model), given, Path(target), precision)
    print(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main(*sys.argv[1:])
