"""What minimal mode of the accuracy evaluator costs on MobileNetV2 with 50 inputs, counted from outside.

Run it with `python benchmarks/evaluator.py MODELS [INPUTS]`: conversions, quantizations and runs are counted
where they happen, and some combinations are compared with an evaluation through the API and ONNX Runtime.
"""

import contextlib
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import edgewright as ew
import edgewright.sdk.converter
import edgewright.sdk.evaluator.conversions
import edgewright.sdk.evaluator.execution

INPUTS, CHECKED = 50, 4
MEANS, SPREADS = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def read_photographs(folder: Path, count: int) -> list[np.ndarray]:
    """The photographs as the model wants them."""
    (photographs,) = np.load(folder / "data" / "calib_imgs54_u8_nchw.npz").values()
    scaled = (photographs / 255.0 - MEANS[:, None, None]) / SPREADS[:, None, None]
    return [image[None].astype(np.float32) for image in scaled[:count]]


@contextlib.contextmanager
def count_calls() -> Iterator[Counter[str]]:
    """Counts conversions, quantizations and runs over all inputs while the block runs."""
    counts: Counter[str] = Counter()
    places = (
        (edgewright.sdk.evaluator.conversions, "prepare_conversion", "conversions"),
        (edgewright.sdk.converter, "quantize_converted", "quantizations"),
        (edgewright.sdk.evaluator.execution, "run_network", "runs"),
    )
    before = [getattr(module, name) for module, name, _ in places]
    for (module, name, word), function in zip(places, before, strict=True):
        setattr(module, name, _count(counts, word, function))
    try:
        yield counts
    finally:
        for (module, name, _), function in zip(places, before, strict=True):
            setattr(module, name, function)


def _count(counts: Counter[str], word: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*args: Any, **terms: Any) -> Any:
        counts[word] += 1
        return function(*args, **terms)

    return counted


def measure_independently(model: Path, samples: list[np.ndarray], scheme: str, channels: bool) -> float:
    """Signal to noise in dB of one combination against ONNX Runtime, the mean over inputs."""
    quantized = ew.quantize(
        model,
        samples,
        act_quantizer="tf",
        param_quantizer=scheme,
        per_channel=channels,
        per_row=False,
        bias_bw=8,
    )
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    (name,) = (item.name for item in session.get_inputs())
    figures = []
    for sample in samples:
        (golden,) = session.run(None, {name: sample})
        (result,) = quantized.run({name: sample}, backend="htp-sim").values()
        figures.append(10 * np.log10((golden**2).sum() / ((golden - result) ** 2).sum()))
    return float(np.mean(figures))


def main() -> int:
    """Print the counts, the ranks, and what an independent evaluation says."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else INPUTS
    model, samples = folder / "mobilenet_v2_imagenet.onnx", read_photographs(folder, count)
    with tempfile.TemporaryDirectory() as work, count_calls() as counts:
        started = time.monotonic()
        result = ew.evaluate(model, samples, comparator="snr", folder=work)
        seconds = time.monotonic() - started
        print(f"{len(samples)} inputs, {len(result.ranked)} combinations, {seconds:.0f} s: {dict(counts)}")
    for item in result.ranked:
        print(f"{item.match:8.3f} dB  {item.name}  {'= ' + item.same_as if item.same_as else ''}")
    figures = {item.name: item.match for item in result.ranked}
    for scheme, channels in itertools.islice(itertools.product(("tf", "enhanced"), (True, False)), CHECKED):
        name = f"schema1_qnn_{scheme}{'_pcq' * channels}"
        expected = measure_independently(model, samples, scheme, channels)
        print(f"{name}: {figures[name]:.3f} dB here, {expected:.3f} dB independently")
    is_frugal = counts["conversions"] == 1 and counts["quantizations"] == len(result.ranked)
    return 0 if is_frugal and counts["runs"] <= 1 + len(result.ranked) else 1


if __name__ == "__main__":
    sys.exit(main())
