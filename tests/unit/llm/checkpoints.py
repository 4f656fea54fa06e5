"""Small checkpoints with random weights, written as Hugging Face writes them."""

import json
from pathlib import Path

import numpy as np

from edgewright.llm.load.checkpoint import list_expected_shapes
from edgewright.llm.load.config import read_model_spec

PHI = {
    "model_type": "phi3",
    "hidden_size": 256,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": [2, 3],
}
LONG = {"type": "longrope", "short_factor": [1.0] * 24, "long_factor": [2.0] * 24}
FAMILIES = {
    "phi3": {},
    "phi35": {
        "rope_scaling": {**LONG, "short_factor": [1.5] * 32, "long_factor": [3.0] * 32},
        "original_max_position_embeddings": 16,
    },
    "phi4mini": {
        "rope_scaling": LONG,
        "partial_rotary_factor": 0.75,
        "original_max_position_embeddings": 16,
        "tie_word_embeddings": True,
    },
    "llama": {"model_type": "llama", "rope_theta": 5e5},
    "mistral": {"model_type": "mistral", "sliding_window": 8, "head_dim": 32},
    "qwen2": {"model_type": "qwen2", "use_sliding_window": False, "sliding_window": 8},
    "qwen3": {"model_type": "qwen3", "head_dim": 32, "rope_parameters": {"rope_theta": 1e6}},
}


def write_checkpoint(folder: Path, family: str = "phi3", **changes: object) -> Path:
    """A folder with a configuration, weights and a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**PHI, **FAMILIES[family], **changes}))
    rng = np.random.default_rng(0)
    shapes = list_expected_shapes(read_model_spec(folder))
    write_safetensors(
        folder / "model.safetensors",
        {name: _draw(rng, shape) for name, shape in shapes.items()},
    )
    write_tokenizer(folder)
    return folder


def _draw(rng, shape):
    if len(shape) == 1:
        return rng.normal(1, 0.1, shape).astype(np.float32)
    return (rng.normal(size=shape) / np.sqrt(shape[1]) * 2).astype(np.float32)


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """A file as the library writes it."""
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(
        len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in tensors.values())
    )


def write_tokenizer(folder: Path) -> None:
    """A vocabulary of SentencePiece's kind, with a few words."""
    letters = ["▁", *"abcdefgh"]
    merges = [["a", "b"], ["▁", "ab"], ["c", "d"]]
    tokens = ["<unk>", "<s>", "</s>", *letters, *("".join(pair) for pair in merges)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    special = [{"id": n, "content": tokens[n], "special": True, **flags} for n in range(3)]
    model = {"type": "BPE", "byte_fallback": True, "vocab": {t: i for i, t in enumerate(tokens)}}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        "added_tokens": special,
        "normalizer": {"type": "Prepend", "prepend": "▁"},
        "model": {**model, "merges": merges},
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    settings = {"add_bos_token": True, "bos_token": "<s>", "eos_token": {"content": "</s>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
