"""Other quantizers at their defaults, per channel: python -m benchmarks.peers TOOL MODEL FEEDS OUT WIDTHS.

Each runs in a process of its own: NNCF and AIMET live in an environment beside ours (.venv-peers). One
process makes all precisions of a model: loading these tools takes longer than most of the models do.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PEERS", "Peer", "Quantized", "load_feeds", "read_widths", "save_feeds", "target_of"]

ROOT = Path(__file__).parents[1]
BESIDE = ROOT / ".venv-peers" / "bin" / "python"
PATIENCE = 240
Feed = dict[str, Any]


@dataclass(frozen=True)
class Quantized:
    """What became of one precision: how long it took, and what went wrong, if something did."""

    seconds: float
    problem: str = ""


@dataclass(frozen=True)
class Peer:
    """A tool: its name in tables, the interpreter that has it, the precisions that it can write."""

    name: str
    python: Path
    package: str
    precisions: tuple[str, ...] = ()

    def find_version(self) -> str:
        """The package and its version in the environment that has it."""
        folders = [str(path) for path in self.python.parents[1].glob("lib/python*/site-packages")]
        found = next(iter(metadata.distributions(name=self.package, path=folders)), None)
        return f"{self.package} {found.version if found else 'not installed'}"

    def quantize(
        self, model: Path, feeds: Path, folder: Path, precisions: Sequence[str]
    ) -> dict[str, Quantized]:
        """Writes a QDQ model for each precision, as ``target_of`` names it."""
        if not self.python.exists():
            return dict.fromkeys(precisions, Quantized(0, f"no {self.python.relative_to(ROOT)}"))
        able = [precision for precision in precisions if precision in (self.precisions or precisions)]
        results = dict.fromkeys(precisions, Quantized(0, "cannot write this precision"))
        if not able:
            return results
        command = [str(self.python), "-m", "benchmarks.peers", self.name, model, feeds, folder, *able]
        began = time.perf_counter()
        try:
            run = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
            said = (run.stderr.strip().splitlines() or ["failed"])[-1][:160]
        except subprocess.TimeoutExpired:
            said = f"not done after {PATIENCE} s"
        failed = Quantized(time.perf_counter() - began, said)
        return results | {precision: _read_result(self.name, folder, precision, failed) for precision in able}


PEERS = (
    Peer("onnxruntime", Path(sys.executable), "onnxruntime"),
    # Its export knows no others: "Can only export to INT8/UIN8 8 bits ONNX Quantize/Dequantize pairs".
    Peer("nncf", BESIDE, "nncf", ("w8a8",)),
    Peer("nncf-transformer", BESIDE, "nncf", ("w8a8",)),
    Peer("aimet", BESIDE, "aimet-onnx"),
)


def target_of(folder: Path, tool: str, precision: str) -> Path:
    """The file of a tool's model in one precision."""
    return folder / f"{tool}_{precision}.onnx"


def _read_result(tool: str, folder: Path, precision: str, failed: Quantized) -> Quantized:
    path = target_of(folder, tool, precision).with_suffix(".json")
    return Quantized(**json.loads(path.read_text())) if path.exists() else failed


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


def main(tool: str, model: str, feeds: str, folder: str, *precisions: str) -> None:
    """Runs one tool for each precision, and writes beside each model how long it took or what failed."""
    given = load_feeds(Path(feeds))
    for precision in precisions:
        target, problem = target_of(Path(folder), tool, precision), ""
        began = time.perf_counter()
        try:
            TOOLS[tool](Path(model), given, target, precision)
        except Exception as failure:  # the other precisions go on
            problem = f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0][:120]}"
        result = Quantized(time.perf_counter() - began, problem)
        target.with_suffix(".json").write_text(json.dumps(asdict(result)))


TOOLS: dict[str, Callable[..., None]] = {
    "onnxruntime": onnxruntime,
    "nncf": nncf,
    "nncf-transformer": partial(nncf, is_transformer=True),
    "aimet": aimet,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
