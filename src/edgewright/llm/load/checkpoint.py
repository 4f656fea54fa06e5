"""The weights of a Hugging Face folder or of a GGUF file by what they are."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import read_limited, resolve_inside
from edgewright.core.numbers import Array
from edgewright.llm.load.config import read_model_spec
from edgewright.llm.load.gguf_file import read_gguf
from edgewright.llm.load.gguf_model import GgufTensorView, describe_gguf, list_gguf_tensors
from edgewright.llm.load.gguf_restore import write_restored_files
from edgewright.llm.load.safetensors_file import StoredTensor, list_stored_tensors, widen
from edgewright.llm.load.spec import ModelSpec

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
LARGEST_INDEX = 1 << 26
EMBEDDING, FINAL_NORM, HEAD = "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"


class Checkpoint:
    """A model and its weights, each of which is read when it is asked for.

    Args:
        source: a Hugging Face folder, or a GGUF file.
    """

    def __init__(self, source: Path | str) -> None:
        self.source = self.folder = Path(source)
        self.tensors: Mapping[str, StoredTensor | GgufTensorView]
        if self.source.is_file():
            self._open_gguf()
        elif self.source.is_dir():
            self.spec, self.tensors = read_model_spec(self.folder), _list_tensors(self.folder)
        else:
            raise BadInput(
                "there is no such folder or file",
                Where(file=str(source)),
                do="give a Hugging Face checkpoint's folder, or a GGUF file",
            )
        _check_shapes(self)

    def _open_gguf(self) -> None:
        """What stands beside the weights of a folder is written into a temporary one."""
        content = read_gguf(self.source)
        config = describe_gguf(content)
        self._restored = tempfile.TemporaryDirectory(prefix="edgewright-gguf-")
        self.folder = Path(self._restored.name)
        write_restored_files(self.folder, content, config)
        self.spec, self.tensors = read_model_spec(self.folder), list_gguf_tensors(content, config)

    @property
    def head(self) -> str:
        """The matrix that gives the logits."""
        return EMBEDDING if self.spec.is_tied else HEAD

    def find(self, name: str) -> StoredTensor | GgufTensorView:
        """A stored tensor; the head of a model with tied embeddings is its embedding."""
        if name == HEAD and name not in self.tensors and self.spec.is_tied:
            name = EMBEDDING
        return self.tensors[name]

    def read(self, name: str) -> Array:
        """A tensor in single precision."""
        return widen(self.find(name).read())


def list_expected_shapes(spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    """Every tensor that the architecture has, with its shape."""
    shapes = {EMBEDDING: (spec.vocabulary, spec.hidden), FINAL_NORM: (spec.hidden,)}
    if not spec.is_tied:
        shapes[HEAD] = (spec.vocabulary, spec.hidden)
    for number in range(spec.layers):
        for name, shape in list_layer_shapes(spec).items():
            shapes[name_layer_tensor(number, name)] = shape
    return shapes


def name_layer_tensor(number: int, name: str) -> str:
    """The name of a layer's tensor in the checkpoint."""
    return f"model.layers.{number}.{name}"


def list_layer_shapes(spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    """The tensors of a layer by their names within it."""
    shapes: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (spec.hidden,),
        "post_attention_layernorm.weight": (spec.hidden,),
        "self_attn.o_proj.weight": (spec.hidden, spec.query_rows),
        "mlp.down_proj.weight": (spec.hidden, spec.intermediate),
    }
    for name, rows in list_projections(spec).items():
        shapes[f"{name}.weight"] = (rows, spec.hidden)
        if spec.has_qkv_bias and name.startswith("self_attn"):
            shapes[f"{name}.bias"] = (rows,)
    if spec.has_qk_norm:
        shapes["self_attn.q_norm.weight"] = shapes["self_attn.k_norm.weight"] = (spec.head_dim,)
    return shapes


def list_projections(spec: ModelSpec) -> dict[str, int]:
    """The matrices that take the normalized state, with their rows."""
    if spec.is_fused:
        return {
            "self_attn.qkv_proj": spec.query_rows + 2 * spec.key_rows,
            "mlp.gate_up_proj": 2 * spec.intermediate,
        }
    return {
        "self_attn.q_proj": spec.query_rows,
        "self_attn.k_proj": spec.key_rows,
        "self_attn.v_proj": spec.key_rows,
        "mlp.gate_proj": spec.intermediate,
        "mlp.up_proj": spec.intermediate,
    }


def _list_tensors(folder: Path) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for path in _list_files(folder):
        tensors |= list_stored_tensors(path)
    return tensors


def _list_files(folder: Path) -> list[Path]:
    index = folder / INDEX
    if not index.is_file():
        if not (folder / SINGLE).is_file():
            raise BadInput(
                f"the folder has neither {SINGLE} nor {INDEX}; pickles can run any code and are not read",
                Where(file=str(folder)),
                do="save it again: model.save_pretrained(folder, safe_serialization=True)",
            )
        return [folder / SINGLE]
    try:
        names = set(json.loads(read_limited(index, LARGEST_INDEX))["weight_map"].values())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadInput("the index has no 'weight_map' of files", Where(file=str(index))) from None
    files = [resolve_inside(folder, str(name), str(index)) for name in sorted(map(str, names))]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise BadInput(
            f"{len(missing)} of {len(files)} files are missing: {shown(', '.join(missing))}",
            Where(file=str(index)),
            do="download all of them into the folder",
        )
    return files


def _check_shapes(checkpoint: Checkpoint) -> None:
    """All differences between what the architecture has and what the files hold."""
    problems = []
    for name, shape in list_expected_shapes(checkpoint.spec).items():
        stored = checkpoint.tensors.get(name)
        if stored is None:
            problems.append(f"'{shown(name)}' is missing")
        elif stored.shape != shape:
            problems.append(f"'{shown(name)}' has shape {list(stored.shape)}, expected {list(shape)}")
        elif stored.dtype.kind not in "fV":
            problems.append(f"'{shown(name)}' is {stored.dtype}, expected floating point")
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise BadInput(
            f"weights do not fit config.json: {'; '.join(problems[:5])}{more}",
            Where(file=str(checkpoint.source)),
            do="take both from the same model",
        )
