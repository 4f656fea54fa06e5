"""Simulation and emulator side by side on generated checkpoints of several families' shapes.

python -m benchmarks.llm_npu_families FOLDER [--only qwen3 ...] [--kinds w8a16 lpbq per-channel]: each model
is written into FOLDER with random weights, two layers and a small vocabulary, built, and fed with one text
on both; heads, groups, rotary positions, norms and biases are those of the family.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.llm_memory import write_checkpoint
from edgewright.llm.npu.build_model import BuildRequest, build_language_model
from edgewright.llm.npu.compare_backends import LEAST_DISTANCE, measure_layers

SHARED: dict[str, Any] = {
    "torch_dtype": "bfloat16",
    "num_hidden_layers": 2,
    "vocab_size": 512,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 131_072,
}
LONGROPE = {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [4.0] * 48}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def _describe(kind: str, hidden: int, inner: int, heads: tuple[int, int], **more: Any) -> dict[str, Any]:
    sizes = {"hidden_size": hidden, "intermediate_size": inner}
    counts = {"num_attention_heads": heads[0], "num_key_value_heads": heads[1]}
    return SHARED | {"model_type": kind} | sizes | counts | more


FAMILIES = {
    "phi-3.5-mini": _describe("phi3", 384, 1024, (4, 4)),
    "phi-4-mini": _describe(
        "phi3",
        *(384, 1024, (3, 1)),
        tie_word_embeddings=True,
        partial_rotary_factor=0.75,
        original_max_position_embeddings=4096,
        rope_scaling=LONGROPE,
    ),
    "qwen2.5-0.5b": _describe("qwen2", 448, 1216, (7, 1), tie_word_embeddings=True, rope_theta=1e6),
    "qwen3-0.6b": _describe(
        "qwen3", 512, 1536, (8, 4), head_dim=128, tie_word_embeddings=True, rope_theta=1e6
    ),
    "llama-3.2-1b": _describe(
        "llama", 512, 2048, (8, 2), tie_word_embeddings=True, rope_theta=5e5, rope_scaling=LLAMA3
    ),
    "mistral-7b": _describe("mistral", 512, 1792, (4, 1), sliding_window=48, rope_theta=1e4),
}
KINDS: dict[str, dict[str, str]] = {
    "w8a16": {"precision": "w8a16"},
    "lpbq": {"recipe": "lpbq"},
    "per-channel": {"recipe": "per-channel"},
}


def compare(folder: Path, family: str, kind: str) -> str:
    """A row: the state after each layer and the logits, and whether they agree."""
    model, out = folder / family, folder / f"{family}-{kind}"
    tokens = np.random.default_rng(0).integers(0, SHARED["vocab_size"], 2048)
    np.save(folder / "calib.npy", tokens)
    request = BuildRequest(
        *(model, out, "SM8650", folder / "calib.npy"),
        **KINDS[kind],  # type: ignore[arg-type]
        prefill=64,
        context=128,
        is_compiled=False,
    )
    build_language_model(request)
    layers, logits = measure_layers(out, np.random.default_rng(1).integers(0, SHARED["vocab_size"], 64))
    shutil.rmtree(out)
    first = next((number for number, value in enumerate(layers) if value < LEAST_DISTANCE), None)
    verdict = "agree" if logits >= LEAST_DISTANCE else f"not proven, first layer {first}"
    spelled = ", ".join(f"{value:.1f}" for value in layers)
    return f"| {family} | {kind} | {spelled} | {logits:.1f} dB | {verdict} |"


def main() -> None:
    """Prints a row for each family and kind of weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    print("| shapes of | weights | after each layer, dB | logits | |\n|---|---|---|---|---|")
    for family in options.only:
        config = FAMILIES[family]
        write_checkpoint(options.folder / family, config["num_hidden_layers"], config)
        for kind in options.kinds:
            print(compare(options.folder, family, kind), flush=True)


if __name__ == "__main__":
    main()
