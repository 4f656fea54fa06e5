"""Peak memory, time and files of `edgewright llm build` on a generated checkpoint of a known model's shapes.

python -m benchmarks.llm_npu_memory FOLDER [--shapes phi-4-mini] [--layers 32] [--precision w4a16]
[--recipe lpbq] [--compile]: writes the checkpoint (bf16, in shards) into FOLDER where it is not there yet,
and builds it in a process of its own.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.llm_memory import write_checkpoint

PHI_4_MINI: dict[str, Any] = {
    "model_type": "phi3",
    "architectures": ["Phi3ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 32,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "vocab_size": 200_064,
    "tie_word_embeddings": True,
    "partial_rotary_factor": 0.75,
    "max_position_embeddings": 131_072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [4.0] * 48},
    "rms_norm_eps": 1e-5,
    "bos_token_id": 199_999,
    "eos_token_id": 199_999,
}
QWEN_2_5_HALF: dict[str, Any] = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151_936,
    "tie_word_embeddings": True,
    "max_position_embeddings": 32_768,
    "rope_theta": 1e6,
    "rms_norm_eps": 1e-6,
    "bos_token_id": 151_643,
    "eos_token_id": 151_645,
}
SHAPES = {"phi-4-mini": PHI_4_MINI, "qwen2.5-0.5b": QWEN_2_5_HALF}
CHILD = """
import json, resource, sys
from pathlib import Path
from edgewright.llm.npu.build_model import BuildRequest, build_language_model
built = build_language_model(BuildRequest(**json.loads(sys.argv[1])))
usage = resource.getrusage(resource.RUSAGE_SELF)
# Not maxrss of the usage: that is the parent's, too, which may have written the checkpoint.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
record = {"peak_mb": int(status["VmHWM"].split()[0]) // 1024}
record |= {"processor_s": round(usage.ru_utime + usage.ru_stime)}
record |= {"seconds": round(built.seconds), "parts": built.parts, "weights": built.parameters}
print(json.dumps(record | {"file_mb": {name: size // 10**6 for name, size in built.file_bytes.items()}}))
"""


def build(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What the process that builds says of itself."""
    tokens = np.random.default_rng(0).integers(0, SHAPES[options.shapes]["vocab_size"], options.tokens)
    np.save(folder / "calib.npy", tokens)
    request = {
        "checkpoint": str(folder / "model"),
        "output": str(folder / "out"),
        "target": "SM8650",
        "calibration": str(folder / "calib.npy"),
        "precision": options.precision,
        "recipe": options.recipe,
        "effort": options.effort,
        "prefill": 128,
        "context": 4096,
        "is_compiled": options.compile,
        "share_weights": options.share_weights,
    }
    command = [sys.executable, "-c", CHILD, json.dumps(request)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    record: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return record


def main() -> None:
    """Writes the checkpoint, builds it and prints what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shapes", choices=list(SHAPES), default="phi-4-mini")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--precision", default="w4a16")
    parser.add_argument("--recipe", default="lpbq")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--share_weights", action="store_true")
    options = parser.parse_args()
    config = SHAPES[options.shapes]
    write_checkpoint(options.folder / "model", options.layers or config["num_hidden_layers"], config)
    print(json.dumps(build(options.folder, options), indent=1))


if __name__ == "__main__":
    main()
