"""A language model as one GGUF file, as llama.cpp reads it."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.files import check_target, write_whole
from edgewright.core.numbers import Array
from edgewright.llm.load import gguf_model
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.load.vocabulary import Vocabulary, read_vocabulary
from edgewright.llm.quantize_checkpoint import Quantized, list_tensor_names, quantize_checkpoint
from edgewright.llm.recipe import Recipe
from edgewright.llm.rotary import list_frequencies
from edgewright.llm.rounding.codes import Codes
from edgewright.llm.writers.gguf_blocks import F16, F32, BlockType, find_block_type, pack_blocks
from edgewright.llm.writers.gguf_format import GgufTensor, Value, iterate_file
from edgewright.llm.writers.gguf_types import settle_types

log = logging.getLogger(__name__)

ARCHITECTURES = {"phi3": "phi3", "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
OUTER = {name: own for own, name in gguf_model.OUTER.items()}
INNER = {name: own for own, name in gguf_model.INNER.items()} | {"mlp.gate_up_proj": "ffn_up"}
# What llama.cpp looks for in a model of such a name.
PHI_WORDS = frozenset({"<unk>", "<s>", "</s>", "<|endoftext|>"})
FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q4_K": 14, "Q4_K_M": 15, "Q6_K": 18}


def write_gguf(checkpoint: Checkpoint, recipe: Recipe, path: Path, texts: Sequence[Array] = ()) -> None:
    """Quantizes a checkpoint into a file."""
    check_target(path)
    vocabulary = read_vocabulary(checkpoint.folder, checkpoint.spec.vocabulary)
    writer = _GgufModel(checkpoint, settle_types(checkpoint, recipe))
    values = {
        "general.name": choose_model_name(checkpoint.source.resolve().name.removesuffix(".gguf"), vocabulary),
        **_describe_model(checkpoint, writer.file_type),
        **_describe_vocabulary(vocabulary),
    }
    write_whole(path, iterate_file(values, writer.list_tensors(), writer.iterate_contents(texts)))


class _GgufModel:
    """Which type each tensor has, and its bytes."""

    def __init__(self, checkpoint: Checkpoint, recipe: Recipe) -> None:
        self._checkpoint, self._recipe, self._spec = checkpoint, recipe, checkpoint.spec
        self.file_type = FILE_TYPES["Q4_K_M" if recipe.is_mix else self._find_type("*", 2).name]

    def list_tensors(self) -> list[GgufTensor]:
        """In the order in which they are made."""
        extra = [GgufTensor(name, array.shape, F32) for name, array in _list_rope_factors(self._spec).items()]
        named = [(name, self._checkpoint.find(name).shape) for name in list_tensor_names(self._checkpoint)]
        return extra + [
            GgufTensor(name_tensor(name), shape, self._find_type(name, len(shape))) for name, shape in named
        ]

    def iterate_contents(self, texts: Sequence[Array]) -> Iterator[Iterable[bytes]]:
        """The bytes of each tensor."""
        for array in _list_rope_factors(self._spec).values():
            yield [array.tobytes()]
        for tensor in quantize_checkpoint(self._checkpoint, self._recipe, texts):
            rank = len(self._checkpoint.find(tensor.name).shape)
            yield self._pack(tensor, self._find_type(tensor.name, rank))

    def _find_type(self, name: str, rank: int) -> BlockType:
        grid = self._recipe.find_grid(name) if rank == 2 else None
        if grid is not None:
            return find_block_type(grid)
        return F16 if rank == 2 and self._recipe.find_precision(name) == "fp16" else F32

    def _pack(self, tensor: Quantized, kind: BlockType) -> Iterator[bytes]:
        if tensor.name.endswith(("q_proj.weight", "k_proj.weight", "q_proj.bias", "k_proj.bias")):
            heads = self._spec.heads if "q_proj" in tensor.name else self._spec.kv_heads
            order = self._order_rows(heads)
        else:
            order = None
        for piece in tensor.pieces:
            rows = _pack_piece(piece, kind)
            yield (rows if order is None else rows[order]).tobytes()

    def _order_rows(self, heads: int) -> Array | None:
        if self._spec.architecture not in gguf_model.INTERLEAVED:
            return None
        rows = np.arange(heads * self._spec.head_dim).reshape(heads, 2, self._spec.head_dim // 2)
        return rows.swapaxes(1, 2).reshape(-1)


def name_tensor(name: str) -> str:
    """The name that llama.cpp looks for."""
    if name in OUTER:
        return OUTER[name]
    number, _, rest = name.removeprefix("model.layers.").partition(".")
    base, _, kind = rest.rpartition(".")
    return f"blk.{number}.{INNER[base]}.{kind}"


def _pack_piece(piece: Codes | Array, kind: BlockType) -> Array:
    if isinstance(piece, Codes):
        return pack_blocks(piece)
    return piece.astype("<f2" if kind is F16 else "<f4")


def _list_rope_factors(spec: ModelSpec) -> dict[str, Array]:
    """Divisors of frequencies, which are tensors there."""
    rope = spec.rope
    if rope.short_factors:
        return {
            "rope_factors_long.weight": np.array(rope.long_factors, np.float32),
            "rope_factors_short.weight": np.array(rope.short_factors, np.float32),
        }
    if rope.llama3:
        plain = rope.theta ** (-np.arange(0, rope.dims, 2) / rope.dims)
        return {"rope_freqs.weight": (plain / list_frequencies(rope, 1)).astype(np.float32)}
    return {}


def _describe_model(checkpoint: Checkpoint, file_type: int) -> dict[str, Value]:
    spec, rope = checkpoint.spec, checkpoint.spec.rope
    if rope.linear_factor != 1.0 and spec.architecture == "phi3":
        raise UnsupportedFeature("llama.cpp has no linear stretching for Phi 3")
    if spec.window and spec.architecture != "phi3":
        log.warning(
            "llama.cpp has no window for %s: beyond %d tokens it looks at all", spec.architecture, spec.window
        )
    name = ARCHITECTURES[spec.architecture]
    values: dict[str, Value] = {
        "general.architecture": name,
        "general.file_type": file_type,
        "general.quantization_version": 2,
        f"{name}.context_length": spec.context,
        f"{name}.embedding_length": spec.hidden,
        f"{name}.block_count": spec.layers,
        f"{name}.feed_forward_length": spec.intermediate,
        f"{name}.attention.head_count": spec.heads,
        f"{name}.attention.head_count_kv": spec.kv_heads,
        f"{name}.attention.key_length": spec.head_dim,
        f"{name}.attention.value_length": spec.head_dim,
        f"{name}.attention.layer_norm_rms_epsilon": spec.norm_epsilon,
        f"{name}.rope.dimension_count": rope.dims,
        f"{name}.rope.freq_base": rope.theta,
        f"{name}.vocab_size": spec.vocabulary,
    }
    if name == "phi3":
        values[f"{name}.attention.sliding_window"] = spec.window
        values[f"{name}.rope.scaling.original_context_length"] = rope.original_context or spec.context
        values[f"{name}.rope.scaling.attn_factor"] = rope.attention_factor
    if rope.linear_factor != 1.0:
        values[f"{name}.rope.scaling.type"] = "linear"
        values[f"{name}.rope.scaling.factor"] = rope.linear_factor
    return values


def choose_model_name(name: str, vocabulary: Vocabulary) -> str:
    """Blanks behind special tokens are lost in llama.cpp where a model's name has phi-3 in it, only there."""
    is_phi = re.search("phi-?3", name, re.IGNORECASE) is not None
    if vocabulary.strips_blanks and PHI_WORDS.issubset(vocabulary.tokens):
        return name if is_phi else f"phi-3 {name}"
    return re.sub("phi-?3", "phi 3", name, flags=re.IGNORECASE) if is_phi else name


def _describe_vocabulary(vocabulary: Vocabulary) -> dict[str, Value]:
    prefix = "tokenizer.ggml."
    values: dict[str, Value] = {
        f"{prefix}model": vocabulary.kind,
        f"{prefix}pre": vocabulary.cutting or "default",
        f"{prefix}tokens": vocabulary.tokens,
        f"{prefix}token_type": vocabulary.types,
        f"{prefix}add_bos_token": vocabulary.adds_bos,
    }
    if vocabulary.kind == "llama":
        values[f"{prefix}scores"] = vocabulary.scores
        values[f"{prefix}add_space_prefix"] = vocabulary.adds_space
    else:
        values[f"{prefix}merges"] = vocabulary.merges
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    values |= {f"{prefix}{roles[role]}_token_id": number for role, number in vocabulary.special.items()}
    if vocabulary.template:
        values["tokenizer.chat_template"] = vocabulary.template
    return values
