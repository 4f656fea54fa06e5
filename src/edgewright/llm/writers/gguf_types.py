"""Types of GGUF by the names that users of llama.cpp know, and which matrix gets which."""

import logging
from dataclasses import replace

from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.recipe import Recipe
from edgewright.llm.writers.gguf_blocks import SUPER

log = logging.getLogger(__name__)

# A precision, and whether codes are symmetric.
GGUF_TYPES: dict[str, tuple[str, bool]] = {
    "q4_0": ("int4", True),
    "q4_1": ("int4", False),
    "q4_k_s": ("q4_k", True),
    "q4_k_m": ("q4_k", True),
    "q6_k": ("q6_k", True),
    "q8_0": ("int8", True),
    "f16": ("fp16", True),
    "f32": ("fp32", True),
}
# Rows that are no multiple of a super-block.
PLAIN = {"q4_k": "int4", "q6_k": "int8"}


def apply_gguf_type(recipe: Recipe, name: str) -> Recipe:
    """The recipe that gives this type; what the user keeps otherwise stays so."""
    if name not in GGUF_TYPES:
        raise UsageError(
            f"GGUF type '{shown(name)}' is unknown, expected one of: {', '.join(GGUF_TYPES)}",
            do=did_you_mean(name, list(GGUF_TYPES), "choose a type"),
        )
    precision, is_symmetric = GGUF_TYPES[name]
    return replace(recipe, precision=precision, is_symmetric=is_symmetric, is_mix=name == "q4_k_m")


def settle_types(checkpoint: Checkpoint, recipe: Recipe) -> Recipe:
    """The recipe with what the format adds: a wider head, the mix of Q4_K_M, plain blocks for odd rows."""
    spec, keep = checkpoint.spec, dict(recipe.keep)
    if recipe.width == "int4" and not recipe.is_kept(checkpoint.head):
        # As llama.cpp does.
        keep[checkpoint.head] = "q6_k"
    if recipe.is_mix:
        keep |= {name: "q6_k" for name in _list_wider(spec) if not recipe.is_kept(name)}
    wide = replace(recipe, keep=keep)
    odd = [name for name, tensor in checkpoint.tensors.items() if _is_odd(wide, name, tensor.shape)]
    if odd:
        log.warning("%d matrices have rows that are no multiple of %d: plain blocks there", len(odd), SUPER)
    plain = {name: PLAIN[wide.find_precision(name)] for name in odd}
    return replace(wide, keep=plain | {name: keep[name] for name in keep if name not in plain})


def _is_odd(recipe: Recipe, name: str, shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and recipe.find_precision(name) in PLAIN and shape[1] % SUPER != 0


def _list_wider(spec: ModelSpec) -> list[str]:
    """Matrices with 6 bits in llama.cpp's Q4_K_M: values and downs of outer layers and every third."""
    eighth = spec.layers // 8
    layers = [
        number
        for number in range(spec.layers)
        if number < eighth or number >= 7 * spec.layers // 8 or (number - eighth) % 3 == 2
    ]
    parts = ("mlp.down_proj", "self_attn.qkv_proj" if spec.is_fused else "self_attn.v_proj")
    return [f"model.layers.{number}.{part}.weight" for number in layers for part in parts]
