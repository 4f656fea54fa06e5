"""What kind of PyTorch file a file is, told from its content; archives of strangers read within limits."""

import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown

MOST_MEMBERS = 200_000
# Larger archives are no models that a phone runs; members are stored as they are, so this bounds memory.
LARGEST_ARCHIVE = 1 << 36
# torch stores, it does not compress: what grows this much on reading is a bomb.
MOST_GROWTH = 200
# Parsed code takes a hundred times its size.
LARGEST_CODE = 1 << 23
# Members that are read whole: descriptions, which are small beside weights.
LARGEST_READ = 1 << 28
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
# What Python raises where an archive is damaged.
NOT_A_ZIP = (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError)
ZIP_MAGIC = b"PK\x03\x04"
EMPTY_ZIP = b"PK\x05\x06"
# A pickle of protocol 2 to 5: how torch saved before it used archives.
PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
# The number that torch put before a checkpoint then, itself a pickle.
OLD_START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
OLD_TAR = b"ustar"
# The version at the head of ONNX and TensorFlow models; TFLite's mark.
PROTOBUF_START = b"\x08"
TFLITE_MARK = b"TFL3"


class Kind(Enum):
    """What a PyTorch file holds."""

    SCRIPT = "TorchScript"
    EXPORTED = "torch.export"
    OLD_EXPORTED = "torch.export before 2.8"
    CHECKPOINT = "a checkpoint"
    MOBILE = "PyTorch Lite"
    UNKNOWN = "nothing that PyTorch writes"


class Archive:
    """An archive whose members were checked before anything is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._where = Where(file=self.name)
        with self._open_zip() as found:
            members = found.infolist()
            self._check(members)
            self._names = [item.filename for item in members]
            self._members = {item.filename: item for item in members}
        self.folder = self._find_folder()
        self._map: mmap.mmap | None = None
        self._content: memoryview | None = None

    def members(self) -> list[str]:
        """Names without the folder that all of them are in."""
        return [name.removeprefix(self.folder) for name in self._names]

    def has(self, name: str) -> bool:
        """Whether there is a member of this name."""
        return f"{self.folder}{name}" in self._members

    def one(self, start: str, end: str, *, is_needed: bool = True) -> str:
        """The only member of a folder whose name ends so; "" where there is none and none is needed."""
        found = [name for name in self.members() if name.startswith(start) and name.endswith(end)]
        if len(found) == 1 or (not found and not is_needed):
            return found[0] if found else ""
        raise BadInput(
            f"the archive has {len(found)} members '{start}*{end}', expected 1",
            self._where,
            do="export one model into a file",
        )

    def read(self, name: str) -> bytes:
        """The content of a member, which must not be large."""
        member = self._find(name)
        if member.file_size > LARGEST_READ:
            raise LimitExceeded(
                f"member '{shown(name)}' has {member.file_size} bytes, at most {LARGEST_READ} are read",
                self._where,
                do="check where the file comes from",
            )
        with self._open_zip() as file:
            return file.read(member)

    def map(self, name: str) -> memoryview:
        """The content of a member as a private view of the mapped file: what is written there stays here."""
        member = self._find(name)
        if member.compress_type != zipfile.ZIP_STORED:
            return memoryview(bytearray(self.read(name)))
        content = self._open_map()
        start = self._find_start(member, content)
        if member.file_size != member.compress_size or member.file_size > len(content) - start:
            raise self._make_safety_error(
                f"member '{shown(name)}' has {member.file_size} bytes, the file ends before"
            )
        data = content[start : start + member.file_size]
        if zlib.crc32(data) != member.CRC:
            raise self._make_safety_error(
                f"member '{shown(name)}' has another checksum than the archive says"
            )
        return data

    def read_code(self) -> dict[str, str]:
        """The program's source files by name."""
        names = [n for n in self.members() if n.startswith("code/") and n.endswith(".py")]
        if sum(self._find(name).file_size for name in names) > LARGEST_CODE:
            raise LimitExceeded(
                f"the program's code has more than {LARGEST_CODE} bytes", self._where, do="check the file"
            )
        with self._open_zip() as file:
            return {name: file.read(self._find(name)).decode("utf-8", "replace") for name in names}

    def _find(self, name: str) -> zipfile.ZipInfo:
        full = f"{self.folder}{name}"
        if full not in self._members:
            raise BadInput(
                f"the archive has no member '{shown(name)}'", self._where, do="save the model again"
            )
        return self._members[full]

    def _find_folder(self) -> str:
        """The one folder that torch puts all members into: two would be two programs in one file."""
        tops = list(dict.fromkeys(name.partition("/")[0] for name in self._names))
        if len(tops) != 1 or any("/" not in name for name in self._names):
            listed = ", ".join(f"'{shown(top, 40)}'" for top in tops[:4])
            raise self._make_safety_error(
                f"the archive has {listed or 'nothing'} at its top, expected one folder with all members"
            )
        return f"{tops[0]}/"

    def _open_map(self) -> memoryview:
        if self._content is None:
            try:
                with self.path.open("rb") as file:
                    self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            except (OSError, ValueError) as problem:
                raise self._make_safety_error(f"the archive cannot be read: {shown(problem, 100)}") from None
            self._content = memoryview(self._map)
        return self._content

    def _find_start(self, member: zipfile.ZipInfo, content: memoryview) -> int:
        """Where a member's bytes begin: what stands before them must say the same as the archive's list."""
        first = member.header_offset + _LOCAL.size
        # Where bytes are missing before the list, what is stored first has no place.
        is_inside = member.header_offset >= 0 and first <= len(content)
        fields = _LOCAL.unpack_from(content, member.header_offset) if is_inside else (b"",)
        name = bytes(content[first : first + fields[9]]) if fields[0] == ZIP_MAGIC else b""
        if name != member.orig_filename.encode("utf-8") or fields[3] != zipfile.ZIP_STORED:
            raise self._make_safety_error(
                f"member '{shown(member.filename)}' is not where the archive's list says"
            )
        return int(first + fields[9] + fields[10])

    @contextmanager
    def _open_zip(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as found:
                yield found
        except (*NOT_A_ZIP, RuntimeError, zlib.error, struct.error) as problem:
            raise BadInput(
                f"the archive cannot be read: {shown(problem, 100)}",
                self._where,
                do="check that it is complete",
            ) from None

    def _check(self, members: list[zipfile.ZipInfo]) -> None:
        if len(members) > MOST_MEMBERS:
            raise LimitExceeded(
                f"the archive has {len(members)} members, at most {MOST_MEMBERS}", self._where
            )
        total, stored = (sum(getattr(m, key) for m in members) for key in ("file_size", "compress_size"))
        if total > LARGEST_ARCHIVE or total > MOST_GROWTH * stored + (1 << 20):
            raise LimitExceeded(
                f"the archive of {stored} bytes unpacks to {total}, at most {MOST_GROWTH} times as much",
                self._where,
                do="check where the file comes from",
            )
        names = [item.filename for item in members]
        for item in members:
            parts = item.filename.replace("\\", "/").split("/")
            is_link = (item.external_attr >> 16) & 0o170000 == 0o120000
            if ".." in parts or parts[0] == "" or ":" in parts[0] or "\0" in item.filename or is_link:
                raise self._make_safety_error(f"member '{shown(item.filename)}' points outside the archive")
            if item.flag_bits & 1:
                raise self._make_safety_error(f"member '{shown(item.filename)}' is encrypted")
        if len(set(names)) != len(names):
            raise self._make_safety_error("two members have the same name")

    def _make_safety_error(self, what: str) -> BadInput:
        return BadInput(what, self._where, do="check where the file comes from, and save the model again")


def identify_file(path: Path | str) -> Kind | None:
    """What a file holds; None where it is no PyTorch file."""
    # A pipe would be waited for without an end.
    if not Path(path).is_file():
        return None
    try:
        with Path(path).open("rb") as file:
            start = file.read(512)
    except (OSError, ValueError):
        return None
    if start[:4] in {ZIP_MAGIC, EMPTY_ZIP}:
        return _identify_archive(Path(path))
    is_pickle = start.startswith(OLD_START) or (start[:2] in PICKLE_STARTS and _is_named_so(path))
    if is_pickle or (start[257:262] == OLD_TAR and _is_named_so(path)):
        return Kind.CHECKPOINT
    # Other formats may come under a name of PyTorch's.
    is_other = start[:1] == PROTOBUF_START or start[4:8] == TFLITE_MARK
    return Kind.UNKNOWN if not is_other and Path(path).suffix.lower() in {".pt", ".pth", ".pt2"} else None


def _identify_archive(path: Path) -> Kind | None:
    try:
        with zipfile.ZipFile(path) as found:
            names = found.namelist()[: 2 * MOST_MEMBERS]
    except NOT_A_ZIP:
        return Kind.SCRIPT if _is_named_so(path) else None
    ends = {name.split("/", maxsplit=1)[-1] for name in names} | set(names)
    signs = {
        Kind.EXPORTED: "archive_format" in ends or "models/model.json" in ends,
        Kind.OLD_EXPORTED: "serialized_exported_program.json" in ends,
        Kind.SCRIPT: any(name.startswith("code/") for name in ends) or "constants.pkl" in ends,
        Kind.MOBILE: "bytecode.pkl" in ends,
        Kind.CHECKPOINT: "data.pkl" in ends or _is_named_so(path),
    }
    return next((kind for kind, is_found in signs.items() if is_found), None)


def _is_named_so(path: Path | str) -> bool:
    return Path(path).suffix.lower() in {".pt", ".pth", ".pt2", ".ptl", ".bin", ".ckpt"}
