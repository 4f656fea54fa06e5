"""Opens TensorFlow's files: frozen graphs, SavedModels (folders or zipped), .meta files with checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

from edgewright.core.errors import BadInput, LimitExceeded, UsageError, Where, shown
from edgewright.core.words import did_you_mean
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.mapping import map_file
from edgewright.frontends.tensorflow.checkpoint import Checkpoint
from edgewright.frontends.tensorflow.graphdef import GraphDef, name_tensor, read_graph
from edgewright.frontends.tensorflow.tensors import TensorShape, shape_of
from edgewright.frontends.tensorflow.wire import Message, make_damage_error

SAVED_MODEL = "saved_model.pb"
# A SavedModel begins with a number, a graph with its nodes.
SCHEMA_VERSION = 1
VARIABLES = ("variables", "variables")
DEFAULT_TAG, DEFAULT_SIGNATURE = "serve", "serving_default"
# Signatures that only initialise, in SavedModels of TensorFlow 2.
INTERNAL = "__saved_model_"
SUFFIXES = (".pb", ".meta")
# The first byte: a graph begins with a node; a SavedModel with a number, as models of ONNX do.
A_NODE, A_NUMBER = b"\n", b"\x08"
# Fields that ONNX has and a SavedModel has not: the graph and the opsets.
ONNX_FIELDS = frozenset({7, 8})
SAVED_MODEL_FIELDS = frozenset({1, 2})
# Enough for the length of a node and the name in it; the bit that says that a length goes on.
HEAD, MORE = 16, 0x80
ZIPPED = b"PK\x03\x04"
LARGEST_ZIPPED = 1 << 33
MOST_MEMBERS = 10_000


@dataclass(frozen=True)
class End:
    """An input or output of a signature: the tensor behind it and what is said of it."""

    tensor: str
    dtype: int
    shape: TensorShape


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs by the names that callers use."""

    key: str
    inputs: Mapping[str, End]
    outputs: Mapping[str, End]


@dataclass
class TensorflowFile:
    """A graph, its signature where it has one, and its variables where they are stored apart."""

    name: str
    graph: GraphDef
    format: str
    signature: Signature | None = None
    checkpoint: Checkpoint | None = None
    # A folder that was unpacked lives as long as the model.
    folder: TemporaryDirectory[str] | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path, tag: str | None = None, signature: str | None = None) -> "TensorflowFile":
        """From a file or a folder, told apart by what is in it."""
        with guard_reading(str(path)):
            if path.is_dir():
                return _open_saved_model(path, str(path), tag, signature)
            if map_file(path, Where(file=str(path)))[:4] == ZIPPED:
                return _open_zipped(path, tag, signature)
            return _open_single(path, tag, signature)

    @staticmethod
    def is_inside(path: Path) -> bool:
        """Whether a file holds a model of TensorFlow, whatever it is called."""
        with path.open("rb") as file:
            start = file.read(HEAD)
        if start[: len(ZIPPED)] == ZIPPED:
            return _has_saved_model(path)
        if start[:1] == A_NUMBER:
            return _list_fields(path) == SAVED_MODEL_FIELDS
        return _is_graph(start)

    @staticmethod
    def is_called_so(path: Path) -> bool:
        """Whether a name is that of a TensorFlow model."""
        return path.suffix.lower() in SUFFIXES


def _open_single(path: Path, tag: str | None, signature: str | None) -> TensorflowFile:
    """A frozen graph, a SavedModel under any name, or a graph with its checkpoint beside it."""
    message = Message(map_file(path, Where(file=str(path))))
    if not message.fields:
        raise make_damage_error("the file is empty")
    if path.suffix == ".meta":
        prefix = path.with_suffix("")
        checkpoint = Checkpoint(prefix) if Path(f"{prefix}.index").exists() else None
        graph = read_graph(message.message(2))
        return TensorflowFile(str(path), graph, "TensorFlow graph with checkpoint", None, checkpoint)
    if message.is_number(SCHEMA_VERSION):
        return _of_saved_model(message, path.parent, str(path), tag, signature)
    graph = read_graph(message)
    if not graph.nodes:
        raise make_damage_error("it has no nodes")
    return TensorflowFile(str(path), graph, "TensorFlow frozen graph")


def _open_saved_model(folder: Path, name: str, tag: str | None, signature: str | None) -> TensorflowFile:
    file = folder / SAVED_MODEL
    if not file.is_file():
        inner = _list_inner_folders(folder)
        if len(inner) != 1:
            raise BadInput(
                f"the folder has no {SAVED_MODEL}",
                Where(file=name),
                do="give the folder of a SavedModel, or a frozen graph",
            )
        return _open_saved_model(inner[0], name, tag, signature)
    return _of_saved_model(Message(map_file(file, Where(file=str(file)))), folder, name, tag, signature)


def _of_saved_model(
    message: Message, folder: Path, name: str, tag: str | None, signature: str | None
) -> TensorflowFile:
    chosen = _choose_meta_graph(message.messages(2), tag, name)
    found = _choose_signature(chosen, signature, name)
    prefix = folder.joinpath(*VARIABLES)
    checkpoint = Checkpoint(prefix) if Path(f"{prefix}.index").exists() else None
    graph = read_graph(chosen.message(2))
    return TensorflowFile(name, graph, f"TensorFlow SavedModel{_read_version(chosen)}", found, checkpoint)


def _list_inner_folders(folder: Path) -> list[Path]:
    """Folders of models one level down: an archive often holds the folder, not what is in it."""
    return [item.parent for item in sorted(folder.glob(f"*/{SAVED_MODEL}"))]


def _read_version(meta: Message) -> str:
    text = meta.message(1).text(5)
    return f" of version {shown(text, 20)}" if text else ""


def _choose_meta_graph(found: Sequence[Message], tag: str | None, file: str) -> Message:
    tagged = [(frozenset(item.message(1).texts(4)), item) for item in found]
    wanted = frozenset((tag or DEFAULT_TAG).split(","))
    exact = [item for tags, item in tagged if tags == wanted] or [i for t, i in tagged if wanted <= t]
    if exact:
        return exact[0]
    if tag is None and len(found) == 1:
        return found[0]
    known = [",".join(sorted(tags)) for tags, _ in tagged]
    raise UsageError(
        f"the tag '{shown(tag or DEFAULT_TAG)}' is asked for, which the model does not have",
        Where(file=file),
        do=did_you_mean(tag or "", known, f"use one of: {', '.join(known[:10])}" if known else "save again"),
    )


def _choose_signature(meta: Message, wanted: str | None, file: str) -> Signature | None:
    found = {key: _read_signature(key, Message(data)) for key, data in meta.entries(5).items()}
    usable = {key: item for key, item in found.items() if not key.startswith(INTERNAL) and item.outputs}
    if wanted is None:
        first = next(iter(usable.values()), None)
        return usable.get(DEFAULT_SIGNATURE, first)
    if wanted not in usable:
        known = sorted(usable)
        raise UsageError(
            f"the signature '{shown(wanted)}' is asked for, which the model does not have",
            Where(file=file),
            do=did_you_mean(
                wanted, known, f"use one of: {', '.join(known[:10])}" if known else "leave the option out"
            ),
        )
    return usable[wanted]


def _read_signature(key: str, message: Message) -> Signature:
    return Signature(key, _read_io(message.entries(1)), _read_io(message.entries(2)))


def _read_io(entries: Mapping[str, memoryview]) -> dict[str, End]:
    infos = {key: Message(data) for key, data in entries.items()}
    # A sparse or composite tensor has no name of its own.
    return {
        key: End(name_tensor(info.text(1)), info.whole(2), shape_of(info.message(3)))
        for key, info in sorted(infos.items())
        if info.text(1)
    }


def is_onnx(path: Path) -> bool:
    """Whether a file begins as a model of ONNX does, and has a graph or opsets."""
    with path.open("rb") as file:
        return file.read(1) == A_NUMBER and bool(_list_fields(path) & ONNX_FIELDS)


def _list_fields(path: Path) -> frozenset[int]:
    try:
        return frozenset(Message(map_file(path, Where(file=str(path)))).fields)
    except BadInput:
        return frozenset()


def _is_graph(start: bytes) -> bool:
    """Whether it begins with a node, which begins with its name."""
    if start[:1] != A_NODE:
        return False
    ends = [index for index, byte in enumerate(start[1:6], 1) if byte < MORE]
    return bool(ends) and start[ends[0] + 1 : ends[0] + 2] == A_NODE


def _has_saved_model(path: Path) -> bool:
    try:
        with ZipFile(path) as archive:
            return any(Path(name).name == SAVED_MODEL for name in archive.namelist()[:MOST_MEMBERS])
    except (BadZipFile, NotImplementedError, OSError, ValueError):
        return False


def _open_zipped(path: Path, tag: str | None, signature: str | None) -> TensorflowFile:
    """A zipped SavedModel, unpacked to a folder of its own."""
    folder = TemporaryDirectory(prefix="edgewright-")
    try:
        with ZipFile(path) as archive:
            _unpack(archive, Path(folder.name))
    except (BadZipFile, NotImplementedError, RuntimeError, OSError) as problem:
        folder.cleanup()
        raise BadInput(
            f"the archive cannot be unpacked: {shown(str(problem))}", do="zip the folder again"
        ) from None
    try:
        found = _open_saved_model(Path(folder.name), str(path), tag, signature)
    except Exception:
        folder.cleanup()
        raise
    found.folder = folder
    return found


def _unpack(archive: ZipFile, folder: Path) -> None:
    """Only files of a model, inside the folder, of a bearable size."""
    members = [item for item in archive.infolist() if not item.is_dir()]
    size = sum(item.file_size for item in members)
    if size > LARGEST_ZIPPED or len(members) > MOST_MEMBERS:
        raise LimitExceeded(
            f"the archive holds {len(members)} files of {size} bytes, at most {MOST_MEMBERS} of "
            f"{LARGEST_ZIPPED} are unpacked",
            do="unpack it yourself and give the folder",
        )
    for item in members:
        target = (folder / item.filename).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise BadInput(
                f"the archive holds '{shown(item.filename)}', which lies outside", do="zip it again"
            )
    for item in members:
        archive.extract(item, folder)
