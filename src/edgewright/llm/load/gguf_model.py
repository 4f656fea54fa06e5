"""A GGUF file as a checkpoint: its configuration and its tensors in Hugging Face's words."""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array
from edgewright.llm.load.config import REFUSED
from edgewright.llm.load.gguf_file import GgufContent, GgufEntry

log = logging.getLogger(__name__)

ARCHITECTURES = ("phi3", "llama", "qwen2", "qwen3")
# llama.cpp turns neighbours where Hugging Face turns halves of a head; Mistral is a Llama there.
INTERLEAVED = frozenset({"llama", "mistral"})
OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
INNER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
FACTORS = ("rope_factors_short.weight", "rope_factors_long.weight", "rope_freqs.weight")
# What Llama 3 stretches frequencies by, beside the factor, which a file shows.
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


@dataclass(frozen=True)
class GgufTensorView:
    """A tensor of a file, decoded when it is asked for; rows in Hugging Face's order."""

    entry: GgufEntry
    # Where each row stands in the file; None: in its place.
    order: Array | None = None
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        """As [rows, columns]."""
        return self.entry.shape

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return len(self.entry.data)

    def read(self) -> Array:
        """All of it."""
        rows = slice(None) if self.order is None else self.order
        values = self.entry.read_rows(rows) if len(self.shape) > 1 else self.entry.read_rows(slice(None))[0]
        return values if len(self.shape) > 1 or self.order is None else values[self.order]

    def read_rows(self, start: int, stop: int) -> Array:
        """Some rows."""
        return self.pick_rows(np.arange(start, min(stop, self.shape[0])))

    def pick_rows(self, numbers: Array) -> Array:
        """Rows by their numbers."""
        return self.entry.read_rows(numbers if self.order is None else self.order[numbers])


def list_gguf_tensors(content: GgufContent, config: Mapping[str, Any]) -> dict[str, GgufTensorView]:
    """The tensors by Hugging Face's names; one that has none there is an error."""
    kind, views, strangers = config["model_type"], {}, []
    for name, entry in content.tensors.items():
        full = _name_tensor(name, kind)
        if full is not None:
            views[full] = GgufTensorView(entry, _find_order(full, entry.shape, config))
        elif name not in FACTORS:
            strangers.append(name)
    if strangers:
        raise UnsupportedFeature(
            f"{len(strangers)} tensors are not those of a dense {kind}: {shown(', '.join(strangers), 200)}",
            Where(file=str(content.path)),
        )
    return views


def describe_gguf(content: GgufContent) -> dict[str, Any]:
    """The fields of a config.json, in the dialect of transformers 4."""
    values, kind = content.values, content.values.get("general.architecture")
    if kind not in ARCHITECTURES:
        reason = REFUSED.get(kind, "") if isinstance(kind, str) else ""
        raise UnsupportedFeature(
            f"architecture '{shown(kind)}' is not read{f': {reason}' if reason else ''}; "
            f"expected one of: {', '.join(ARCHITECTURES)}",
            Where(file=str(content.path)),
        )
    get = _Values(values, kind, content)
    if get("expert_count", 0):
        raise UnsupportedFeature(
            "a mixture of experts, only dense models are read", Where(file=str(content.path))
        )
    heads, hidden = get("attention.head_count"), get("embedding_length")
    width = get("attention.key_length", hidden // heads if _is_count(heads) and _is_count(hidden) else None)
    embedding = content.tensors.get("token_embd.weight")
    config = {
        "model_type": kind,
        "hidden_size": hidden,
        "intermediate_size": get("feed_forward_length"),
        "num_hidden_layers": get("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv", heads),
        "head_dim": width,
        "vocab_size": embedding.shape[0] if embedding is not None else None,
        "max_position_embeddings": get("context_length"),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon", 1e-6),
        "rope_theta": get("rope.freq_base", 10000.0),
        "sliding_window": get("attention.sliding_window", 0) or None,
        "tie_word_embeddings": "output.weight" not in content.tensors,
        "attention_bias": "blk.0.attn_q.bias" in content.tensors,
        "torch_dtype": "float16",
        **{f"{role}_token_id": values.get(f"tokenizer.ggml.{name}_token_id") for role, name in ROLES.items()},
    }
    turned = get("rope.dimension_count", width)
    if _is_count(turned) and _is_count(width) and turned != width:
        config["partial_rotary_factor"] = turned / width
    scaling = _describe_scaling(content, get, config)
    return {**config, **({"rope_scaling": scaling} if scaling else {})}


ROLES = {"bos": "bos", "eos": "eos", "pad": "padding"}


class _Values:
    """The values of an architecture."""

    def __init__(self, values: Mapping[str, Any], kind: str, content: GgufContent) -> None:
        self._values, self._kind, self.where = values, kind, Where(file=str(content.path))

    def __call__(self, name: str, default: Any = None) -> Any:
        value = self._values.get(f"{self._kind}.{name}", default)
        if isinstance(value, list):
            raise UnsupportedFeature(
                f"'{self._kind}.{name}' differs from layer to layer, only equal layers are read", self.where
            )
        return value


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _describe_scaling(content: GgufContent, get: _Values, config: dict[str, Any]) -> dict[str, Any]:
    """How positions are stretched, from the values or from the tensors of factors."""
    short, long, frequencies = (content.tensors.get(name) for name in FACTORS)
    if short is not None and long is not None:
        config["original_max_position_embeddings"] = get("rope.scaling.original_context_length")
        factors = {"short_factor": _read_factors(short), "long_factor": _read_factors(long)}
        factor = get("rope.scaling.attn_factor")
        return {"type": "longrope", **factors, **({} if factor is None else {"attention_factor": factor})}
    if frequencies is not None:
        return _find_llama3(_read_factors(frequencies), config, get)
    kind = get("rope.scaling.type", "none")
    if kind == "linear":
        return {"type": "linear", "factor": get("rope.scaling.factor", 1.0)}
    if kind not in {"none", ""}:
        raise UnsupportedFeature(f"rope scaling '{shown(kind)}' without its factors is not read", get.where)
    return {}


def _read_factors(entry: GgufEntry) -> list[float]:
    if len(entry.shape) != 1 or entry.shape[0] > 1 << 16:
        raise BadInput(f"tensor '{entry.name}' has shape {list(entry.shape)}, expected one short row")
    factors: list[float] = entry.read_rows(slice(None))[0].tolist()
    return factors


def _find_llama3(divisors: list[float], config: dict[str, Any], get: _Values) -> dict[str, Any]:
    """The file has the divisors only: the parameters that give them, where they are the usual ones."""
    theta, count = config["rope_theta"], len(divisors)
    if not isinstance(theta, int | float) or not theta > 0 or not all(map(math.isfinite, divisors)):
        raise BadInput("'rope_freqs.weight' does not hold divisors of frequencies", get.where)
    factor = max(divisors, default=1.0)
    turns = (
        LLAMA3["original_max_position_embeddings"]
        * float(theta) ** (-np.arange(count) / count)
        / (2 * math.pi)
    )
    share = np.clip((turns - LLAMA3["low_freq_factor"]) / 3.0, 0.0, 1.0)
    if not np.allclose(1 / (share + (1 - share) / factor), divisors, rtol=1e-3):
        raise UnsupportedFeature(
            "'rope_freqs.weight' is not what Llama 3's usual parameters give, which the file does not hold",
            get.where,
            do="give the checkpoint that the file was made from",
        )
    return {"type": "llama3", "factor": factor, **LLAMA3}


def _name_tensor(name: str, kind: str) -> str | None:
    if name in OUTER:
        return OUTER[name]
    start, _, rest = name.partition(".")
    number, _, rest = rest.partition(".")
    base, _, ending = rest.rpartition(".")
    if start != "blk" or not number.isdecimal() or base not in INNER or ending not in {"weight", "bias"}:
        return None
    inner = "mlp.gate_up_proj" if kind == "phi3" and base == "ffn_up" else INNER[base]
    return f"model.layers.{int(number)}.{inner}.{ending}"


def _find_order(name: str, shape: tuple[int, ...], config: Mapping[str, Any]) -> Array | None:
    """Where the rows of queries and keys stand that llama.cpp has put in its own order."""
    if config["model_type"] not in INTERLEAVED or not ("q_proj" in name or "k_proj" in name):
        return None
    width = config["head_dim"]
    if not _is_count(width) or shape[0] % width or width % 2:
        return None  # the check of shapes says what is wrong
    order = np.arange(shape[0]).reshape(-1, width // 2, 2)
    return np.ascontiguousarray(order.swapaxes(1, 2)).reshape(-1)
