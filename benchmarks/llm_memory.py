"""Peak memory and time of `edgewright llm quantize` on a generated checkpoint of Phi-3.5-mini's shapes.

python -m benchmarks.llm_memory FOLDER [--layers 32] [--to gguf onnx]: writes the checkpoint (bf16, in shards)
into FOLDER where it is not there yet, then quantizes it, each format in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time
import zlib
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

CONFIG: dict[str, Any] = {
    "model_type": "phi3",
    "architectures": ["Phi3ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "vocab_size": 32064,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 32000,
}
CHILD = """
import resource, sys, time
from edgewright.llm.quantize_model import quantize_language_model
start = time.monotonic()
quantize_language_model(sys.argv[1], sys.argv[2], output=sys.argv[3])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_maxrss // 1024, round(usage.ru_utime + usage.ru_stime), round(time.monotonic() - start))
"""


def write_checkpoint(
    folder: Path, layers: int, config: dict[str, Any] = CONFIG, pool: Executor | None = None
) -> None:
    """Random weights, a shard for each layer."""
    from edgewright.llm.load.checkpoint import list_expected_shapes
    from edgewright.llm.load.config import read_model_spec

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": layers}))
    tokens = {f"t{number}": number for number in range(config["vocab_size"])}
    model = {"type": "BPE", "byte_fallback": True, "vocab": tokens, "merges": []}
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": [], "model": model}))
    shards: dict[str, list[str]] = {}
    shapes = list_expected_shapes(read_model_spec(folder))
    for name in shapes:
        shards.setdefault(name.rpartition("layers.")[2].partition(".")[0], []).append(name)
    places, tasks = {}, []
    for number, names in shards.items():
        file = f"shard-{number}.safetensors"
        places |= dict.fromkeys(names, file)
        if not (folder / file).exists():
            tasks.append((folder / file, {name: shapes[name] for name in names}))
    list((pool.map if pool else map)(lambda task: write_shard(*task), tasks))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def write_shard(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """A file of random tensors, which is there when it is whole."""
    header: dict[str, Any]
    rng, header, offset = np.random.default_rng(zlib.crc32(path.name.encode())), {}, 0
    header["__metadata__"] = {"format": "pt"}
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes.values():
            values = rng.standard_normal(shape, np.float32) / np.sqrt(np.float32(shape[-1]))
            file.write(values.astype(ml_dtypes.bfloat16).tobytes())
    part.replace(path)


def main() -> None:
    """Writes, quantizes and prints a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=CONFIG["num_hidden_layers"])
    parser.add_argument("--to", nargs="+", default=["gguf", "onnx"])
    options = parser.parse_args()
    start = time.monotonic()
    write_checkpoint(options.folder / "model", options.layers)
    size = sum(path.stat().st_size for path in (options.folder / "model").glob("*.safetensors"))
    print(f"checkpoint: {size / 1e9:.2f} GB in {time.monotonic() - start:.0f} s", flush=True)
    for kind in options.to:
        target = options.folder / f"out-{kind}"
        command = [sys.executable, "-c", CHILD, str(options.folder / "model"), kind, str(target)]
        peak, processor, wall = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.split()
        print(f"{kind}: peak {peak} MB, {processor} CPU s, {wall} s", flush=True)


if __name__ == "__main__":
    main()
