"""Transformers that no registry has as ONNX: a ViT of timm, the encoder of a small Whisper, a trained Phi-3.

benchmarks.made_models writes them, in an environment with torch, timm and transformers (`make peers`).
"""

import shutil
from pathlib import Path
from typing import Any

__all__ = ["export", "make_vit", "make_whisper", "write_phi"]

OPSET = 17


def make_vit() -> Any:
    """A small ViT of timm with random weights."""
    import timm

    timm.layers.set_fused_attn(enable=False)
    return timm.create_model("vit_tiny_patch16_224", pretrained=False, exportable=True)


def make_whisper() -> Any:
    """The encoder of a small Whisper with random weights."""
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


def export(model: Any, example: Any, path: Path, name: str, output: str = "out") -> None:
    """Writes a module with one input as ONNX; of several outputs the first."""
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
        output_names=[output],
        opset_version=OPSET,
        dynamo=False,
    )


def write_phi(source: Path, folder: Path) -> None:
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
