"""Records what transformers computes for small models of each family: logits and greedy tokens.

python -m tests.unit.llm.record_transformers, in an environment with transformers and torch; weights are drawn
here and in the test from the same numbers, so only answers and configurations are kept.
"""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent / "golden" / "transformers.json"
BASE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 80,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
SHORT, LONG = ([1.0 + 0.1 * n for n in range(8)], [2.0 + 0.5 * n for n in range(8)])
STRETCH = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": SHORT, "long_factor": LONG}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
MODELS = {
    "phi-3": {"model_type": "phi3", "num_key_value_heads": 4},
    "phi-3-window": {"model_type": "phi3", "sliding_window": 6},
    "phi-3.5": {
        "model_type": "phi3",
        "num_key_value_heads": 4,
        "original_max_position_embeddings": 16,
        "rope_parameters": {**STRETCH, "original_max_position_embeddings": 16},
    },
    "phi-4-mini": {
        "model_type": "phi3",
        "tie_word_embeddings": True,
        "original_max_position_embeddings": 16,
        "partial_rotary_factor": 0.75,
        "rope_parameters": {
            **STRETCH,
            "short_factor": SHORT[:6],
            "long_factor": LONG[:6],
            "partial_rotary_factor": 0.75,
            "original_max_position_embeddings": 16,
        },
    },
    # Phi-4 has 40 heads of 128 values, 10 of them for keys, and 17,920 inner values.
    "phi-4": {
        "model_type": "phi3",
        "num_attention_heads": 8,
        "intermediate_size": 224,
        "rope_theta": 250000.0,
    },
    "llama": {"model_type": "llama", "attention_bias": False},
    "llama-3.2": {
        "model_type": "llama",
        "tie_word_embeddings": True,
        "rope_parameters": {**LLAMA3, "original_max_position_embeddings": 16},
    },
    "mistral": {"model_type": "mistral", "sliding_window": 6, "head_dim": 32},
    "qwen2": {"model_type": "qwen2", "use_sliding_window": False},
    "qwen3": {"model_type": "qwen3", "head_dim": 32, "tie_word_embeddings": True},
}
# Within the original context of the stretched ones, and beyond.
LENGTHS = (12, 30)
GREEDY = 12


def draw_weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The same for everyone."""
    weights = {}
    for number, name in enumerate(sorted(shapes)):
        rng = np.random.default_rng(number)
        values = rng.normal(1.0 if name.endswith("norm.weight") else 0.0, 0.2, shapes[name])
        weights[name] = values.astype(np.float32)
    return weights


def draw_tokens(count: int) -> np.ndarray:
    """A text."""
    return np.random.default_rng(99).integers(3, BASE["vocab_size"], count)


def record_model(name: str) -> dict[str, object]:
    """Logits after the last tokens of each text, greedy tokens, and the configuration as it is saved."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = {**BASE, **MODELS[name]}
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    tied = config.tie_word_embeddings
    kept = {key: shape for key, shape in shapes.items() if not (tied and key == "lm_head.weight")}
    state = {key: torch.from_numpy(value) for key, value in draw_weights(kept).items()}
    model.load_state_dict(state, strict=not tied)
    model.tie_weights()
    answers = {}
    with torch.no_grad():
        for count in LENGTHS:
            logits = model(torch.from_numpy(draw_tokens(count))[None]).logits[0]
            answers[str(count)] = [[round(float(value), 6) for value in row] for row in logits[-2:]]
        tokens = draw_tokens(LENGTHS[0])[None]
        for _ in range(GREEDY):
            best = model(torch.from_numpy(tokens)).logits[0, -1].argmax()
            tokens = np.append(tokens, [[int(best)]], axis=1)
    return {
        "config": json.loads(config.to_json_string()),
        "logits": answers,
        "greedy": tokens[0, LENGTHS[0] :].tolist(),
    }


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps({name: record_model(name) for name in MODELS}) + "\n")
