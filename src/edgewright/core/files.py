"""Files written completely or not at all, and untrusted files read within limits."""

import errno
import glob
import mmap
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from edgewright.core.errors import BadInput, EnvironmentProblem, LimitExceeded, UsageError, Where, shown
from edgewright.core.words import did_you_mean

Chunks = Iterable[bytes | memoryview]
_DRIVE = re.compile(r"[A-Za-z]:")


def write_whole(path: Path | str, chunks: Chunks) -> None:
    """Stream the chunks into the file, which appears complete or not at all; missing folders are created."""
    write_all({path: chunks})


def write_all(files: Mapping[Path | str, Chunks] | Mapping[Path, Chunks] | Mapping[str, Chunks]) -> None:
    """Write several files that belong together: either all of them appear, or none and old ones stay."""
    contents = {Path(path): chunks for path, chunks in files.items()}
    for path in contents:
        _check_target(path)
    staged: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        for path, chunks in contents.items():
            _make_folder(path.parent, made)
            _stage(path, chunks, staged)
        _publish(staged)
    # All exceptions: ^C between two chunks must not leave half a file either.
    except BaseException:
        _remove(staged.values(), made)
        raise


def check_target(path: Path | str) -> None:
    """Refuse a file that cannot be written, before the work and not after it."""
    path = Path(path)
    _check_target(path)
    ground = find_existing_folder(path.parent)
    if not os.access(ground, os.W_OK):
        raise EnvironmentProblem(
            f"cannot write '{shown(path)}': no permission to write into '{shown(ground)}'",
            do="name another place",
        )


def keep_sources(sources: Iterable[Path], written: Iterable[Path]) -> None:
    """Refuse to overwrite a file that is read: its content would be lost."""
    kept = [path for path in sources if path.exists()]
    for path in written:
        if path.exists() and any(path.samefile(source) for source in kept):
            raise UsageError(
                f"'{shown(path)}' would be overwritten, it is a file of the model that is read",
                do="name another file or folder for what is written",
            )


def write_folder(folder: Path | str, files: Mapping[str, Chunks]) -> None:
    """Write a folder of files that appears complete or not at all, replacing an older one of that name."""
    folder = Path(folder)
    _check_replaceable(folder)
    made: list[Path] = []
    temporary = folder.with_name(f".{folder.name[:64]}.{secrets.token_hex(4)}.part")
    try:
        _make_folder(temporary, made)
        staged: dict[Path, Path] = {}
        for name, chunks in files.items():
            _stage(temporary / name, chunks, staged)
        with _explain_write_errors(folder):
            for path, part in staged.items():
                part.replace(path)
            _swap(temporary, folder)
    except BaseException:
        _empty(temporary)
        _remove([], made)
        raise


def remove_parts(path: Path | str) -> None:
    """Remove what a killed process left of this file or folder; nobody else may be writing it."""
    path = Path(path)
    for part in path.parent.glob(f".{glob.escape(path.name[:64])}.[0-9a-f]*.part"):
        if part.is_dir() and not part.is_symlink():
            _empty(part)
            _remove([], [part])
        else:
            _remove([part], [])


def resolve_inside(folder: Path | str, relative: str, file: str | None = None) -> Path:
    """The path that an untrusted file names, which must stay inside `folder`.

    Args:
        folder: the folder that may be used.
        relative: the path as the untrusted file spells it.
        file: that file, for the message.
    """
    parts = relative.replace("\\", "/").split("/")
    if relative in {"", "."} or "\0" in relative:
        raise _make_path_error(relative, "does not name a file", file)
    if parts[0] == "" or _DRIVE.match(relative):
        raise _make_path_error(
            relative, "is absolute, expected one relative to the folder of the model", file
        )
    if ".." in parts:
        raise _make_path_error(relative, "contains '..', expected one inside the folder of the model", file)
    # realpath and not resolve(): a loop of links must end in a message, not in a RuntimeError.
    root = os.path.realpath(folder)
    target = Path(os.path.realpath(Path(root, relative)))
    if not target.is_relative_to(root) or target == Path(root):
        raise _make_path_error(relative, "leads out of the folder of the model through a link", file)
    return target


def with_own_name(path: Path | str) -> Path:
    """The path, whose last part is a name: a folder such as '.' is called as it is from outside."""
    path = Path(path)
    whole = path if path.name else Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links
    if not whole.name:
        raise UsageError(f"'{shown(path)}' has no name that files could be called after")
    return whole


def is_there(path: Path | str) -> bool:
    """Whether there is such a file or folder; a name that no system takes (too long, a NUL) is not there.

    For names that come from files: ``Path.exists`` raises errors for some of them.
    """
    return os.path.exists(path)  # noqa: PTH110 - see above; it is also several times quicker


def measure_file(path: Path | str) -> int:
    """The size of an existing regular file; anything else is an error that says what was found."""
    path = Path(path)
    with _explain_read_errors(path):
        found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise BadInput(f"'{shown(path)}' is a folder, expected a file", Where(file=str(path)))
    # A pipe or a device would block, or never end.
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"'{shown(path)}' is not a regular file", Where(file=str(path)))
    return found.st_size


def read_limited(path: Path | str, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes."""
    path = Path(path)
    size = measure_file(path)
    if size > limit:
        raise LimitExceeded(f"the file has {size} bytes, at most {limit} are read", Where(file=str(path)))
    with _explain_read_errors(path), path.open("rb") as file:
        # The file may grow meanwhile: no more is read. A read takes memory for all that it asks for.
        return file.read(size)


def map_file(path: Path) -> memoryview:
    """The content of a regular file that is not empty, read only; the view keeps it open."""
    measure_file(path)
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as problem:  # ValueError: it has become empty meanwhile
        raise EnvironmentProblem(f"cannot read '{shown(path)}': {problem}") from problem


def _check_target(path: Path) -> None:
    with _explain_write_errors(path):
        if path.is_dir():
            raise UsageError(f"cannot write '{shown(path)}': it is a folder", do="name a file inside it")
        # Renaming over a device such as /dev/null would replace the device itself.
        if path.exists() and not path.is_file():
            raise UsageError(
                f"cannot write '{shown(path)}': it is not a regular file", do="name another file"
            )


def _check_replaceable(folder: Path) -> None:
    """A folder of plain files may be replaced; anything else is not ours to remove."""
    with _explain_write_errors(folder):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise UsageError(f"cannot write to '{shown(folder)}': it is a file, expected a folder")
        strangers = [entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
    if strangers:
        raise UsageError(
            f"cannot replace folder '{shown(folder)}': it holds the folder '{shown(strangers[0])}'",
            do="name another place, or remove the old folder",
        )


def _swap(temporary: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name[:64]}.{secrets.token_hex(4)}.old")
    is_replaced = folder.exists()
    if is_replaced:
        folder.rename(old)
    try:
        temporary.rename(folder)
    except BaseException:
        if is_replaced:
            old.rename(folder)
        raise
    if is_replaced:
        _empty(old)
        _remove([], [old])


def _empty(folder: Path) -> None:
    with suppress(OSError):
        for entry in folder.iterdir():
            entry.unlink(missing_ok=True)


def _make_folder(folder: Path, made: list[Path]) -> None:
    find_existing_folder(folder)
    with _explain_write_errors(folder):
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        for parent in reversed(missing):
            made.append(parent)
            parent.mkdir(exist_ok=True)


def find_existing_folder(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    with _explain_write_errors(folder):
        ground = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path())
    if not ground.is_dir():
        raise UsageError(
            f"cannot write to '{shown(folder)}': '{shown(ground)}' is a file, expected a folder",
            do="name another place",
        )
    return ground


def _stage(path: Path, chunks: Chunks, staged: dict[Path, Path]) -> None:
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(4)}.part")
    # Listed before it exists: a signal right after the opening must find it in the list.
    staged[path] = temporary
    with _explain_write_errors(path):
        file = temporary.open("xb")
    try:
        # Only the write is guarded: an error while the chunks are made is not a writing error.
        for chunk in chunks:
            with _explain_write_errors(path):
                file.write(chunk)
    except BaseException:
        with suppress(OSError):
            file.close()
        raise
    with _explain_write_errors(path):
        file.close()


def _publish(staged: dict[Path, Path]) -> None:
    old: dict[Path, Path | None] = {}
    try:
        for path, temporary in staged.items():
            _check_target(path)  # again: streaming may have taken minutes
            with _explain_write_errors(path):
                old[path] = _set_aside(path)
                temporary.replace(path)
    except BaseException:
        for path, kept in old.items():
            with suppress(OSError):
                _put_back(path, kept, staged[path])
        raise
    _remove([kept for kept in old.values() if kept is not None], [])


def _set_aside(path: Path) -> Path | None:
    """Keep the old file under a second name, so that it can be restored."""
    if not path.exists():
        return None
    kept = path.with_name(f".{path.name[:64]}.{secrets.token_hex(4)}.old")
    try:
        kept.hardlink_to(path)
    except OSError:
        path.rename(kept)  # a file system without hard links: a short moment without the file
    return kept


def _put_back(path: Path, kept: Path | None, temporary: Path) -> None:
    if kept is not None:
        kept.replace(path)
    elif not temporary.exists():  # it had been renamed to `path`
        path.unlink(missing_ok=True)


def _remove(temporaries: Iterable[Path], folders: list[Path]) -> None:
    for temporary in temporaries:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise EnvironmentProblem(
            f"cannot write '{shown(path)}': {_explain_problem(problem)}",
            do=_WRITING_ADVICE.get(problem.errno or 0, ""),
        ) from problem


@contextmanager
def _explain_read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise BadInput(f"file '{shown(path)}' does not exist", do=_suggest_file(path)) from problem
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise BadInput(f"'{shown(path)}' is too long for a file name") from problem
        raise EnvironmentProblem(f"cannot read '{shown(path)}': {_explain_problem(problem)}") from problem
    except ValueError as problem:  # a NUL in the name
        raise BadInput(f"'{shown(path)}' is not a file name") from problem


_WRITING_ADVICE = {
    errno.ENOSPC: "free some space or write elsewhere",
    errno.EDQUOT: "free some space or write elsewhere",
    errno.EACCES: "use a folder that you may write to",
    errno.EPERM: "use a folder that you may write to",
    errno.EROFS: "use a folder that you may write to",
    errno.ENAMETOOLONG: "use a shorter name",
}


def _explain_problem(problem: OSError) -> str:
    text = problem.strerror or type(problem).__name__
    return text[:1].lower() + text[1:]


def _suggest_file(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir() if not (path.suffix and entry.is_dir())]
    except OSError:
        return f"folder '{shown(path.parent)}' does not exist either"
    return did_you_mean(path.name, names)


def _make_path_error(relative: str, why: str, file: str | None) -> BadInput:
    return BadInput(
        f"path '{shown(relative)}' {why}",
        Where(file=file) if file else None,
        do="keep the file it names beside the model, and name it by a relative path",
    )
