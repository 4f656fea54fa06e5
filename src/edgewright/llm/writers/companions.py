"""What stands beside the weights in a folder: the tokenizer's own files, and how a runtime generates."""

import json
from pathlib import Path

from edgewright.core.files import read_limited
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.load.vocabulary import LARGEST, SETTINGS, TEMPLATE, TOKENIZER

# Copied as they are; what a checkpoint does not have is not missed.
TOKENIZER_FILES = (
    TOKENIZER,
    SETTINGS,
    TEMPLATE,
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
)
# Names that ONNX Runtime GenAI has for architectures.
GENAI_TYPES = {"phi3": "phi3", "llama": "llama", "mistral": "mistral", "qwen2": "qwen2", "qwen3": "qwen3"}


def list_companions(folder: Path) -> dict[str, list[bytes]]:
    """The tokenizer's files of a checkpoint."""
    paths = {name: folder / name for name in TOKENIZER_FILES}
    return {name: [read_limited(path, LARGEST)] for name, path in paths.items() if path.is_file()}


def make_genai_config(spec: ModelSpec, model: str) -> bytes:
    """genai_config.json of a model that keeps its keys and values in one buffer."""
    content = {"model": _describe_model(spec, model), "search": _describe_search(spec)}
    return json.dumps(content, indent=2).encode() + b"\n"


def _describe_model(spec: ModelSpec, model: str) -> dict[str, object]:
    eos = list(spec.eos) or [spec.bos or 0]
    return {
        "type": GENAI_TYPES[spec.architecture],
        "vocab_size": spec.vocabulary,
        "context_length": spec.context,
        "bos_token_id": spec.bos if spec.bos is not None else eos[0],
        "eos_token_id": eos,
        "pad_token_id": spec.pad if spec.pad is not None else eos[0],
        "decoder": {
            "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
            "filename": model,
            "head_size": spec.head_dim,
            "hidden_size": spec.hidden,
            "num_attention_heads": spec.heads,
            "num_hidden_layers": spec.layers,
            "num_key_value_heads": spec.kv_heads,
            "inputs": {
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                "past_key_names": "past_key_values.%d.key",
                "past_value_names": "past_key_values.%d.value",
            },
            "outputs": {
                "logits": "logits",
                "present_key_names": "present.%d.key",
                "present_value_names": "present.%d.value",
            },
        },
    }


def _describe_search(spec: ModelSpec) -> dict[str, object]:
    """Greedy, until a user asks for something else."""
    return {
        "do_sample": False,
        "max_length": spec.context,
        "min_length": 0,
        "num_beams": 1,
        "num_return_sequences": 1,
        "past_present_share_buffer": True,
        "repetition_penalty": 1.0,
        "temperature": 1.0,
        "top_k": 50,
        "top_p": 1.0,
    }
