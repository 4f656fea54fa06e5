"""config.json of a Hugging Face folder, in the dialects of transformers 4 and 5, as one description."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import read_limited
from edgewright.llm.load.spec import ModelSpec, RopeSpec

CONFIG = "config.json"
LARGEST_CONFIG = 1 << 24
# More than any dense model has; beyond it memory is not asked for.
LARGEST_NUMBER = 1 << 24
# Every layer is several names: a file that announces millions must not get them.
MOST_LAYERS = 1 << 12


@dataclass(frozen=True)
class Family:
    """What a model_type says that its config.json does not."""

    is_fused: bool = False
    has_qk_norm: bool = False
    has_qkv_bias: bool = False


FAMILIES: dict[str, Family] = {
    "phi3": Family(is_fused=True),
    "llama": Family(),
    "mistral": Family(),
    "qwen2": Family(has_qkv_bias=True),
    "qwen3": Family(has_qk_norm=True),
}
_EXPERTS = "a mixture of experts: a router and several matrices in place of one are needed in every writer"
_LOOKS = "a model that sees: its encoder of pictures is needed beside the decoder"
# Known, and why it is refused, and what would be needed.
REFUSED: dict[str, str] = {
    "phimoe": f"{_EXPERTS}; mlx-lm converts it (python -m mlx_lm convert)",
    "phi3_v": f"{_LOOKS}; ONNX Runtime GenAI and OpenVINO have scripts of their own for it, "
    "mlx-vlm converts it (python -m mlx_vlm convert)",
    "phi3small": "Phi-3-small: attention over sparse blocks and its gate (gegelu) are needed in every writer",
    "phi4mm": "a multimodal model: encoders of pictures and sound and their LoRA weights are needed; "
    "its language part is Phi-4-mini, which is read from a folder of its own",
    "phi4_multimodal": "a multimodal model: encoders of pictures and sound are needed; its language part is "
    "Phi-4-mini, which is read from a folder of its own",
    "phi": "Phi 1 and 2: parallel blocks with LayerNorm, which no writer here knows",
    "phi4flash": "a hybrid with state space layers, which are needed in every writer",
    "mixtral": _EXPERTS,
    "qwen2_moe": _EXPERTS,
    "qwen3_moe": _EXPERTS,
    "llama4": _EXPERTS,
    "llava": _LOOKS,
    "mllama": _LOOKS,
    "mistral3": _LOOKS,
    "qwen2_vl": _LOOKS,
    "qwen2_5_vl": _LOOKS,
    "qwen3_vl": _LOOKS,
}


def read_model_spec(folder: Path) -> ModelSpec:
    """What the model in a folder is."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadInput(
            f"the folder has no {CONFIG}",
            Where(file=str(folder)),
            do="give a Hugging Face checkpoint's folder",
        )
    try:
        fields = json.loads(read_limited(path, LARGEST_CONFIG))
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the file is no JSON: {shown(problem)}", Where(file=str(path))) from None
    return describe_config(_Fields(fields if isinstance(fields, dict) else {}, path))


class _Fields:
    """The fields of a config.json, checked as they are read."""

    def __init__(self, fields: Mapping[str, Any], path: Path) -> None:
        self._fields, self._path = fields, path

    def get(self, name: str, default: Any = None) -> Any:
        """As it is; null counts as absent."""
        value = self._fields.get(name)
        return default if value is None else value

    def refuse(self, name: str, expected: str) -> BadInput:
        """The error about a field."""
        value = self._fields.get(name)
        state = "is missing" if value is None else f"is {shown(repr(value), 60)}"
        return BadInput(f"'{name}' {state}, expected {expected}", Where(file=str(self._path)))

    def read_count(self, name: str, default: int | None = None, most: int = LARGEST_NUMBER) -> int:
        """A whole number of at least 1."""
        value = self.get(name, default)
        if type(value) is not int or not 1 <= value <= most:
            raise self.refuse(name, f"a whole number from 1 to {most}")
        return value

    def read_word(self, name: str, default: str) -> str:
        """A text."""
        value = self.get(name, default)
        if not isinstance(value, str):
            raise self.refuse(name, "a word")
        return value

    def read_number(self, name: str, default: float) -> float:
        """A finite number above 0."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.refuse(name, "a number above 0")
        return float(value)

    def read_section(self, name: str) -> "_Fields":
        """A part; empty where it is absent."""
        value = self.get(name, {})
        if not isinstance(value, dict):
            raise self.refuse(name, "an object")
        return _Fields(value, self._path)

    def read_numbers(self, name: str, count: int) -> tuple[float, ...]:
        """A list of so many numbers above 0."""
        value = self.get(name)
        is_list = isinstance(value, list) and len(value) == count
        if not is_list or not all(isinstance(item, int | float) and 0 < item < math.inf for item in value):
            raise self.refuse(name, f"a list of {count} numbers above 0")
        return tuple(map(float, value))

    def read_tokens(self, name: str) -> tuple[int, ...]:
        """One token or several."""
        value = self.get(name, [])
        items = value if isinstance(value, list) else [value]
        if not all(type(item) is int and 0 <= item <= LARGEST_NUMBER for item in items):
            raise self.refuse(name, "numbers of tokens")
        return tuple(items)

    @property
    def where(self) -> Where:
        """The file."""
        return Where(file=str(self._path))


def describe_config(fields: _Fields) -> ModelSpec:
    """The fields in one dialect."""
    kind = fields.get("model_type", "")
    family = _find_family(fields, kind)
    heads, hidden = fields.read_count("num_attention_heads"), fields.read_count("hidden_size")
    kv_heads, head_dim = (
        fields.read_count("num_key_value_heads", heads),
        fields.read_count("head_dim", hidden // heads),
    )
    if heads % kv_heads:
        raise fields.refuse("num_key_value_heads", f"a divisor of the {heads} heads")
    _refuse_variants(fields)
    bos, pad = fields.read_tokens("bos_token_id"), fields.read_tokens("pad_token_id")
    return ModelSpec(
        architecture=kind,
        layers=fields.read_count("num_hidden_layers", most=MOST_LAYERS),
        hidden=hidden,
        intermediate=fields.read_count("intermediate_size"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=fields.read_count("vocab_size"),
        context=fields.read_count("max_position_embeddings"),
        norm_epsilon=fields.read_number("rms_norm_eps", 1e-6),
        rope=_describe_rope(fields, head_dim),
        is_tied=bool(fields.get("tie_word_embeddings", False)),
        has_qk_norm=family.has_qk_norm,
        has_qkv_bias=family.has_qkv_bias or bool(fields.get("attention_bias", False)),
        is_fused=family.is_fused,
        window=_find_window(fields),
        bos=bos[0] if bos else None,
        eos=fields.read_tokens("eos_token_id"),
        pad=pad[0] if pad else None,
    )


def _find_family(fields: _Fields, kind: Any) -> Family:
    if isinstance(kind, str) and kind in FAMILIES:
        return FAMILIES[kind]
    known = f"expected one of: {', '.join(FAMILIES)}"
    reason = REFUSED.get(kind, "") if isinstance(kind, str) else ""
    raise UnsupportedFeature(
        f"model_type '{shown(kind)}' is not read{f': {reason}' if reason else ''}; {known}", fields.where
    )


def _refuse_variants(fields: _Fields) -> None:
    """What would change the meaning of the weights."""
    activation = fields.read_word("hidden_act", "silu")
    if activation not in {"silu", "swish"}:
        raise UnsupportedFeature(f"hidden_act is '{shown(activation)}', expected silu", fields.where)
    if fields.get("mlp_bias", False):
        raise UnsupportedFeature("mlp_bias is true: no writer here has biases there", fields.where)
    if fields.get("quantization_config") is not None:
        raise UnsupportedFeature(
            "the checkpoint is quantized already", fields.where, do="give the one that it was made from"
        )


def _find_window(fields: _Fields) -> int:
    if fields.get("sliding_window") is None or fields.get("use_sliding_window", True) is False:
        return 0
    window = fields.read_count("sliding_window")
    # One that no text reaches is none.
    return window if window < fields.read_count("max_position_embeddings") else 0


def _describe_rope(fields: _Fields, head_dim: int) -> RopeSpec:
    """Transformers 5 has all of it in rope_parameters, 4 has parts in rope_scaling and parts outside."""
    inner = fields.read_section("rope_parameters")
    scaling = inner if fields.get("rope_parameters") is not None else fields.read_section("rope_scaling")
    theta = inner.read_number("rope_theta", fields.read_number("rope_theta", 10000.0))
    share = inner.read_number("partial_rotary_factor", fields.read_number("partial_rotary_factor", 1.0))
    dims = int(head_dim * share) // 2 * 2
    if not 2 <= dims <= head_dim:
        raise fields.refuse("partial_rotary_factor", "a share of each head, at most 1")
    kind = scaling.read_word("rope_type", scaling.read_word("type", "default"))
    return _scale_rope(fields, scaling, RopeSpec(theta, dims), kind)


def _scale_rope(fields: _Fields, scaling: _Fields, rope: RopeSpec, kind: Any) -> RopeSpec:
    if kind == "default":
        return rope
    if kind == "linear":
        return RopeSpec(rope.theta, rope.dims, linear_factor=scaling.read_number("factor", 1.0))
    if kind in {"longrope", "su", "yarn_longrope"}:
        return _describe_long_rope(fields, scaling, rope)
    if kind == "llama3":
        names = ("factor", "low_freq_factor", "high_freq_factor")
        original = scaling.read_count("original_max_position_embeddings")
        factors = tuple(scaling.read_number(name, 1.0) for name in names)
        return RopeSpec(rope.theta, rope.dims, original_context=original, llama3=factors)
    raise UnsupportedFeature(
        f"rope type '{shown(kind)}' is not known, expected default, linear, longrope or llama3", fields.where
    )


def _describe_long_rope(fields: _Fields, scaling: _Fields, rope: RopeSpec) -> RopeSpec:
    context = fields.read_count("max_position_embeddings")
    given = scaling.get("original_max_position_embeddings")
    original = (scaling if given is not None else fields).read_count(
        "original_max_position_embeddings", context
    )
    stretch = context / original
    default = math.sqrt(1 + math.log(stretch) / math.log(original)) if stretch > 1 and original > 1 else 1.0
    count = rope.dims // 2
    return RopeSpec(
        rope.theta,
        rope.dims,
        scaling.read_numbers("short_factor", count),
        scaling.read_numbers("long_factor", count),
        original,
        scaling.read_number("attention_factor", default),
    )
