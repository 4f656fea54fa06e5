"""What a file that exists already is, so that one kind is never written over another."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from edgewright.artifacts.context.frame import MAGIC
from edgewright.core.errors import UsageError, shown

_TAR_MAGIC = slice(257, 262)
# Enough for the notice of a copyright before the first line of C++.
_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class FileKind:
    """What files of one kind are called, and how their first bytes tell them."""

    title: str
    is_start: Callable[[bytes], bool]


def _is_tar(head: bytes) -> bool:
    # A model without weights has a tar of zeros.
    return head[_TAR_MAGIC] == b"ustar" or not any(head[:512])


WEIGHTS = FileKind("the weights file of a converted model", _is_tar)
DLC = FileKind("a DLC", lambda head: head.startswith(b"PK\x03\x04"))
CPP = FileKind("the C++ source of a converted model", lambda head: b"QnnModel" in head)
# The second field of the message: who wrote it.
ONNX = FileKind("an ONNX model that Edgewright wrote", lambda head: b"\x12\x0aedgewright" in head[:64])
_OTHERS = (
    FileKind("a zip such as a DLC", DLC.is_start),
    FileKind("a library", lambda head: head.startswith((b"\x7fELF", b"MZ"))),
    FileKind("text", lambda head: head.isascii() and b"\0" not in head and not head.startswith(MAGIC)),
    WEIGHTS,
)
# Genuine ones have no mark of their own: what is clearly something else is none.
CONTEXT = FileKind("a context binary", lambda head: not any(kind.is_start(head) for kind in _OTHERS))


def refuse_other_kinds(files: Iterable[tuple[Path, FileKind]]) -> None:
    """Raises where a file that would be written exists and is of another kind."""
    for path, kind in files:
        head = _read_head(path)
        if head and not kind.is_start(head):
            others = [other.title for other in (*_OTHERS, CONTEXT) if other.is_start(head)]
            raise UsageError(
                f"'{shown(path)}' would be overwritten, it is not {kind.title} but {others[0]}",
                do="write to another folder or under another name, or remove the file first",
            )


def _read_head(path: Path) -> bytes:
    """Empty where there is nothing to lose."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
