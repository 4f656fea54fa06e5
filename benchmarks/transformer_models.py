"""Transformers that no registry has as ONNX: ``python -m benchmarks.transformer_models OUT [TINYPHI]``.

A ViT of timm and the encoder of a small Whisper with random weights, and, where its folder (model, texts) is
named, a trained Phi-3. Needs torch, timm and transformers: an environment beside ours (.venv-peers).
"""

import shutil
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

SEED, OPSET = 0, 17


def main(out: str, phi: str = "") -> None:
    """Writes the models into a folder."""
    import torch

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    _export(_make_vit(), torch.randn(1, 3, 224, 224), folder / "vit_tiny.onnx", "x")
    _export(_make_whisper(), torch.randn(1, 80, 400), folder / "whisper_encoder.onnx", "mel")
    if phi:
        _write_phi(Path(phi), folder)


def _make_vit() -> Any:
    import timm

    timm.layers.set_fused_attn(enable=False)
    return timm.create_model("vit_tiny_patch16_224", pretrained=False, exportable=True)


def _make_whisper() -> Any:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        d_model=192,
        encoder_layers=4,
        encoder_attention_heads=3,
        encoder_ffn_dim=768,
        decoder_layers=1,
        decoder_attention_heads=3,
        decoder_ffn_dim=768,
        max_source_positions=200,
        num_mel_bins=80,
        attn_implementation="eager",
    )
    return WhisperModel(config).encoder


def _export(model: Any, example: Any, path: Path, name: str) -> None:
    import torch

    class Single(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            y = self.model(x)
            return y if isinstance(y, torch.Tensor) else y[0]

    torch.onnx.export(
        Single().eval(),
        (example,),
        str(path),
        input_names=[name],
        output_names=["out"],
        opset_version=OPSET,
        dynamo=False,
    )


def _write_phi(source: Path, folder: Path) -> None:
    """Traced by torch, written as ONNX by us: torch's own exporter lacks an op of its mask."""
    import torch
    from transformers import AutoModelForCausalLM

    import edgewright as ew

    model = AutoModelForCausalLM.from_pretrained(
        source / "model", attn_implementation="eager", dtype=torch.float32
    )

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any) -> Any:
            return self.model(ids, use_cache=False).logits

    ids, traced = torch.zeros((1, 64), dtype=torch.int64), folder / "tinyphi.pt"
    with torch.no_grad():
        torch.jit.trace(Logits().eval(), (ids,), check_trace=False).save(str(traced))
    ew.convert(traced, input_shapes={"ids": (1, 64)}).save(folder / "tinyphi.onnx")
    for name in ("calib_ids.npy", "test_ids.npy"):
        shutil.copyfile(source / "texts" / name, folder / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
