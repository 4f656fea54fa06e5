"""One architecture of timm in half precision: `python -m benchmarks.architecture NAME` prints it as JSON."""

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import edgewright as ew
from benchmarks.architectures import Row
from benchmarks.vision_ops import declare_vision_ops

declare_vision_ops()

import timm  # noqa: E402 - torchvision, which it imports, must find its ops

__all__ = ["build_architecture", "convert_architecture", "measure"]

# Small images save time; architectures that need larger ones say so by an error.
SIZES = (64, 96, 128, 160, 192, 224, 240, 256, 299, 331)
# Images that give batch norms their variance.
BATCH = 8
# What batch norms bring activations to. With 1, random networks of SiLU or HardSwish are chaotic: each of
# their activations amplifies noise, that of float32 as well.
ROOT_MEAN_SQUARE = 0.25
# Parameters that begin at zero, or so close to it that nothing behind them has an effect.
TINY = 1e-3


def measure(name: str) -> Row:
    """Converts, simulates, compiles and runs it on one image of noise."""
    model, image = build_architecture(name)
    parameters = sum(weights.numel() for weights in model.parameters())
    with torch.no_grad():
        expected = _first(model(image)).numpy()
    converted = convert_architecture(model, image)
    feed = {converted.inputs[0].name: image.numpy()}
    real = _only(converted.run(feed, threads=1))
    difference = float(np.abs(real - expected).max() / np.abs(expected).max())
    half = ew.quantize(converted, float_bw=16)
    simulated = _measure_noise(real, _only(half.run(feed, backend="htp-sim", threads=1)))
    row = Row(name, image.shape[-1], parameters, difference, simulated)
    try:
        emulated = _only(half.run(feed, backend="htp-native"))
    except ew.EdgewrightError as problem:
        return Row(**{**asdict(row), "problem": _shorten(problem)})
    return Row(**{**asdict(row), "emulator_db": _measure_noise(real, emulated)})


def build_architecture(name: str) -> tuple[Any, Any]:
    """The architecture with an image of the smallest size that it takes."""
    problem: Exception | None = None
    for pixels in SIZES:
        for options in ({"img_size": pixels}, {}):
            torch.manual_seed(0)
            try:
                model = timm.create_model(name, pretrained=False, **options)
                _enliven(model)
                _learn_scales(model, torch.randn(BATCH, 3, pixels, pixels))
                image = torch.randn(1, 3, pixels, pixels)
                with torch.no_grad():
                    model(image)
            except (TypeError, RuntimeError, AssertionError, ValueError) as found:
                problem = found
                continue
            return model, image
    raise SystemExit(f"no size fits: {problem}")


def _enliven(model: Any) -> None:
    """Gives every parameter an effect: branches, heads and tokens that begin at zero would hide errors."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.numel() == 0 or name.endswith("bias") or weights.abs().max() > TINY:
                continue
            if weights.squeeze().ndim <= 1 and not name.endswith("token"):
                weights.uniform_(0.2, 0.6)
            else:
                weights.normal_(std=0.02)


def _learn_scales(model: Any, images: Any) -> None:
    """Batch norms get a variance from images, so that activations neither vanish nor explode.

    Their means stay 0: taken out of what random weights make, where images differ little, they would leave
    noise.
    """

    def learn(layer: Any, inputs: tuple[Any, ...]) -> None:
        layer.running_var.fill_(inputs[0].square().mean().clamp(min=1e-6) / ROOT_MEAN_SQUARE**2)

    hooks = [
        layer.register_forward_pre_hook(learn)
        for layer in model.modules()
        if getattr(layer, "running_var", None) is not None
    ]
    model.eval()
    with torch.no_grad():
        model(images)
    for hook in hooks:
        hook.remove()


def convert_architecture(model: Any, image: Any) -> ew.Model:
    """The architecture, traced and converted."""
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = Path(folder) / "model.pt"
        traced = torch.jit.trace(model, image, check_trace=False)
        traced.save(str(path))
        name = list(traced.graph.inputs())[1].debugName().partition(".")[0]
        return ew.convert(path, input_shapes={name: tuple(image.shape)})


def _first(outputs: Any) -> Any:
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def _only(outputs: dict[str, Any]) -> Any:
    return next(iter(outputs.values()))


def _measure_noise(real: Any, found: Any) -> float:
    signal, noise = (np.square(array, dtype=np.float64).sum() for array in (real, real - found))
    return float(10 * np.log10(signal / max(noise, signal * 1e-12)))


def _shorten(problem: Exception) -> str:
    lines = [line.strip(" -") for line in str(problem).splitlines()]
    return next((line for line in lines if "HTP" in line), lines[0])[:160]


if __name__ == "__main__":
    print(json.dumps(asdict(measure(sys.argv[1]))))
