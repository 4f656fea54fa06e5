"""GPTQ of a generated checkpoint of Phi-4-mini's shapes (3.8 billion weights, bf16) on a GPU.

python -m benchmarks.llm_gpu FOLDER [--layers 32] [--recipe best] [--device auto] [--to gguf]: writes the
checkpoint into FOLDER where it is not there yet, compares the codes of a small model on this device with
those of numpy, then quantizes the large one. Weights and text are random: times and memory mean something,
perplexity does not.
"""

import argparse
import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.llm_memory import CONFIG, write_checkpoint
from edgewright.llm.arrays import Engine
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.quantize_checkpoint import quantize_checkpoint
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Codes

LONG = {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}
PHI_4_MINI = {
    **CONFIG,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "vocab_size": 200064,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "partial_rotary_factor": 0.75,
    "rope_scaling": LONG,
    "tie_word_embeddings": True,
}
SMALL = {**CONFIG, "hidden_size": 256, "intermediate_size": 768, "num_attention_heads": 8}
SMALL |= {"num_key_value_heads": 4, "vocab_size": 1024}
TOKENS = 1 << 16


def compare_devices(folder: Path, recipe: str, device: str) -> str:
    """How many codes of a small model are those of numpy."""
    write_checkpoint(folder, 2, SMALL)
    checkpoint = Checkpoint(folder)
    texts = read_calibration_texts(checkpoint, write_text(folder, SMALL["vocab_size"], TOKENS // 16), TOKENS)
    counts = np.zeros(2, np.int64)
    runs = [
        quantize_checkpoint(checkpoint, Recipe(name=recipe, device=name), texts) for name in ("cpu", device)
    ]
    for tensors in zip(*runs, strict=True):
        for first, second in zip(*(tensor.pieces for tensor in tensors), strict=True):
            if isinstance(first, Codes) and isinstance(second, Codes):
                counts += (int((first.codes == second.codes).sum()), first.codes.size)
    return f"{100 * counts[0] / counts[1]:.3f} % of {counts[1]} codes are those of numpy"


def write_text(folder: Path, vocabulary: int, tokens: int) -> Path:
    """Tokens that are drawn."""
    path = folder / "tokens.npy"
    np.save(path, np.random.default_rng(0).integers(3, vocabulary, tokens + 1))
    return path


def count_size(folder: Path) -> float:
    """Of all weights, in GB."""
    return sum(path.stat().st_size for path in folder.glob("*.safetensors")) / 1e9


def main() -> None:
    """Generates, compares, quantizes and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=CONFIG["num_hidden_layers"])
    parser.add_argument("--recipe", nargs="+", default=["balanced", "best"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--to", default="gguf")
    options = parser.parse_args()
    print(
        f"{Engine(options.device).name}, Python {sys.version.split()[0]}, {os.cpu_count()} cores", flush=True
    )
    print(compare_devices(options.folder / "small", "best", options.device), flush=True)
    start = time.monotonic()
    model = options.folder / "phi-4-mini"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        write_checkpoint(model, options.layers, PHI_4_MINI, pool)
    print(f"checkpoint: {count_size(model):.2f} GB in {time.monotonic() - start:.0f} s", flush=True)
    text = write_text(model, PHI_4_MINI["vocab_size"], TOKENS)
    for recipe in options.recipe:
        target = options.folder / f"out-{recipe}-{options.to}"
        made = quantize_language_model(
            model,
            options.to,
            recipe=Recipe(name=recipe, device=options.device),
            calibration=text,
            calibration_tokens=TOKENS,
            output=target,
        )
        print(json.dumps(describe(made)), flush=True)


def describe(made: object) -> dict[str, object]:
    """What was written, what it took."""
    facts = {name: getattr(made, name) for name in ("recipe", "format", "parameters", "file_bytes", "tokens")}
    torch = sys.modules.get("torch")
    has_gpu = torch is not None and torch.cuda.is_available()
    return {
        **facts,
        "seconds": round(made.seconds, 1),  # type: ignore[attr-defined]
        "host_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "gpu_peak_mb": torch.cuda.max_memory_allocated() // (1 << 20) if torch is not None and has_gpu else 0,
    }


if __name__ == "__main__":
    main()
