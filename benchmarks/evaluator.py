"""What minimal mode of the accuracy evaluator costs on MobileNetV2 with 50 inputs, counted from outside.

Run it with `python -m benchmarks.evaluator [INPUTS] [CHECKED]`, after `make bench-models`: conversions,
quantizations, runs are counted where they happen, and so many combinations are compared with an evaluation
through the API and ONNX Runtime, all 32 of them by default.
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
import edgewright.sdk.evaluator.execution
import edgewright.sdk.evaluator.schema_tasks
from benchmarks.models import FETCHED

INPUTS, CHECKED = 50, 32
# Figures that differ by less may change places.
EQUAL = 0.005
MEANS, SPREADS = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def read_photographs(folder: Path, count: int) -> list[np.ndarray]:
    """The photographs as the model wants them."""
    (photographs,) = np.load(folder / "calib_imgs54_u8_nchw.npz").values()
    scaled = (photographs / 255.0 - MEANS[:, None, None]) / SPREADS[:, None, None]
    return [image[None].astype(np.float32) for image in scaled[:count]]


@contextlib.contextmanager
def count_calls() -> Iterator[Counter[str]]:
    """Counts conversions, quantizations and runs over all inputs while the block runs."""
    counts: Counter[str] = Counter()
    places = (
        (edgewright.sdk.evaluator.schema_tasks, "prepare_conversion", "conversions"),
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


def measure_independently(model: Path, samples: list[np.ndarray], combination: tuple[Any, ...]) -> float:
    """Signal to noise in dB of one combination against ONNX Runtime, the mean over inputs."""
    scheme, is_equalized, channels, rows = combination
    quantized = ew.quantize(
        model,
        samples,
        act_quantizer="tf",
        param_quantizer=scheme,
        algorithms=("cle",) * is_equalized,
        per_channel=channels,
        per_row=rows,
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


def compare_independently(
    model: Path, samples: list[np.ndarray], figures: dict[str, float], checked: int
) -> bool:
    """Prints both figures of combinations; whether they are equal and rank alike."""
    schemes = ("tf", "enhanced", "symmetric", "adjusted")
    choices = list(itertools.product(schemes, (False, True), (True, False), (True, False)))[:checked]
    pairs = []
    for scheme, is_equalized, channels, rows in choices:
        words = [scheme, *["cle"] * is_equalized, *["pcq"] * channels, *["pqr"] * rows]
        name = f"schema1_qnn_{'_'.join(words)}"
        expected = measure_independently(model, samples, (scheme, is_equalized, channels, rows))
        pairs.append((figures[name], expected))
        print(f"{name}: {figures[name]:.3f} dB here, {expected:.3f} dB independently", flush=True)
    gap = max(abs(here - there) for here, there in pairs)
    swapped = sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0 and abs(one[1] - other[1]) > EQUAL
        for one, other in itertools.combinations(pairs, 2)
    )
    print(f"{len(pairs)} combinations: at most {gap:.4f} dB apart, {swapped} pairs in another order")
    return gap < EQUAL and not swapped


def main() -> int:
    """Print the counts, the ranks, and what an independent evaluation says."""
    numbers = sys.argv[1:]
    count, checked = (int(text) for text in [*numbers, *map(str, (INPUTS, CHECKED)[len(numbers) :])])
    model, samples = FETCHED / "mobilenet_v2_imagenet.onnx", read_photographs(FETCHED, count)
    with tempfile.TemporaryDirectory() as work, count_calls() as counts:
        started = time.monotonic()
        result = ew.evaluate(model, samples, comparator="snr", folder=work, workers=0)
        seconds = time.monotonic() - started
        print(f"{len(samples)} inputs, {len(result.ranked)} combinations, {seconds:.0f} s: {dict(counts)}")
        again = ew.evaluate(model, samples, comparator="cos", folder=work, workers=0)
        print(f"by another comparator: {again.work}, {again.seconds:.0f} s", flush=True)
    for item in result.ranked:
        print(f"{item.match:8.3f} dB  {item.name}  {'= ' + item.same_as if item.same_as else ''}", flush=True)
    is_alike = compare_independently(model, samples, {x.name: x.match or 0.0 for x in result.ranked}, checked)
    is_frugal = counts["conversions"] == 1 and counts["quantizations"] == len(result.ranked)
    return 0 if is_frugal and is_alike and counts["runs"] <= 1 + len(result.ranked) else 1


if __name__ == "__main__":
    sys.exit(main())
