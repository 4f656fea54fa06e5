"""What every runtime does with a language model: it takes tokens and gives logits."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol, runtime_checkable

from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.llm.npu.manifest import FILE as NPU_FILE

GGUF, ONNX, OPENVINO, MLX, FLOAT = "gguf", "onnx", "openvino", "mlx", "safetensors"
# Built for the NPU.
QNN = "qnn"
# What is needed to run each.
PACKAGES = {
    GGUF: "llama_cpp",
    ONNX: "onnxruntime",
    OPENVINO: "openvino",
    MLX: "mlx_lm",
    FLOAT: "numpy",
    QNN: "numpy",
}
# Who ships it.
DISTRIBUTIONS = {GGUF: "llama-cpp-python", ONNX: "onnxruntime", OPENVINO: "openvino", MLX: "mlx-lm"}
MAGIC = b"GGUF"
# What the simulation of the NPU is called, where nothing is said.
SIMULATION = "htp-sim"
# How weights tell that they are for MLX, whatever their precision.
MLX_FORMAT = b'"__metadata__":{"format":"mlx"}'


class Decoder(Protocol):
    """A model that remembers the tokens it was given."""

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens, [tokens, vocabulary]."""

    def reset(self) -> None:
        """Forgets all tokens."""


@runtime_checkable
class OwnTokenizer(Protocol):
    """What a runtime knows of texts where its file has the tokenizer."""

    def split_text(self, text: str, *, is_start: bool) -> list[int]:
        """The tokens of a text."""

    def join_tokens(self, tokens: list[int]) -> bytes:
        """The text of tokens."""

    def list_ends(self) -> list[int]:
        """Tokens that end an answer."""

    def get_template(self) -> str:
        """How a chat is spelled."""


@runtime_checkable
class OwnProbe(Protocol):
    """What takes tokens here, but has a tokenizer in the hands of its users."""

    def split_probe(self, text: str) -> list[int] | None:
        """The tokens of a text; None where that tokenizer is not there."""


@runtime_checkable
class OwnRoom(Protocol):
    """What knows how long a text may be."""

    def get_room(self) -> int:
        """Tokens that the model was made for."""


@runtime_checkable
class OwnFactors(Protocol):
    """What turns keys by factors of a text's length, and keeps them as they were turned."""

    def get_short_context(self) -> int | None:
        """Tokens that LongRoPE's short factors are for; None where there is one kind."""


@runtime_checkable
class OwnRanges(Protocol):
    """What keeps states in fixed point, whose ranges a text may leave."""

    def get_limit_share(self) -> float:
        """The share of keys and values so far that are at an end of their range."""


def find_kind(path: Path) -> str:
    """The format of a file or folder, by what is in it."""
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return GGUF
    elif (path / "model.onnx").is_file():
        return ONNX
    elif (path / "openvino_model.xml").is_file():
        return OPENVINO
    elif (path / NPU_FILE).is_file():
        return QNN
    elif (path / "config.json").is_file():
        is_mlx = b'"quantization"' in _read_beginning(path / "config.json")
        return MLX if is_mlx or MLX_FORMAT in _read_beginning(path / "model.safetensors") else FLOAT
    what = "the path is neither a GGUF file nor a folder of a language model"
    raise BadInput(
        what if path.exists() else "there is no such file or folder",
        Where(file=str(path)),
        do="give what `edgewright llm quantize` wrote, or a Hugging Face checkpoint",
    )


def _read_beginning(path: Path) -> bytes:
    """What a file says of itself; nothing where there is none."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(1 << 20)


def describe_runtime(kind: str) -> str:
    """The package that runs a format, and its version; empty for the float arithmetic of this package."""
    name = DISTRIBUTIONS.get(kind, "")
    try:
        return f"{name} {version(name)}" if name else ""
    except PackageNotFoundError:
        return name


def open_decoder(kind: str, path: Path, context: int, backend: str = "") -> Decoder:
    """A model in its runtime, which reads a text anew where the factors of its length change.

    Args:
        kind: one of the formats.
        path: the file or folder.
        context: tokens that it must be able to remember.
        backend: where a model that was built for the NPU runs; the simulation where nothing is said.
    """
    from edgewright.llm.runtimes.rereading import RereadingDecoder

    decoder = _open_runtime(kind, path, context, backend)
    short = decoder.get_short_context() if isinstance(decoder, OwnFactors) else None
    return decoder if short is None else RereadingDecoder(decoder, short)


def _open_runtime(kind: str, path: Path, context: int, backend: str) -> Decoder:
    if kind == QNN:
        from edgewright.llm.runtimes.npu_decoder import NpuDecoder

        return NpuDecoder(path, backend or SIMULATION)
    if backend:
        raise UsageError(f"a backend is for what `edgewright llm build` writes; this is {kind}")
    if kind == GGUF:
        from edgewright.llm.runtimes.gguf_decoder import GgufDecoder

        return GgufDecoder(path, context)
    if kind == ONNX:
        from edgewright.llm.runtimes.onnx_decoder import OnnxDecoder

        return OnnxDecoder(path)
    if kind == OPENVINO:
        from edgewright.llm.runtimes.openvino_decoder import OpenvinoDecoder

        return OpenvinoDecoder(path)
    if kind == MLX:
        from edgewright.llm.runtimes.mlx_decoder import MlxDecoder

        return MlxDecoder(path)
    from edgewright.llm.runtimes.float_decoder import FloatDecoder

    return FloatDecoder(path)
