"""Where results and contents are kept by their hashes: a folder, or an object store behind fsspec."""

import platform
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.core.files import write_whole
from edgewright.core.optional import require

CHUNK = 1 << 20
WITH_FOLDERS = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "webhdfs"})


class Store(Protocol):
    """Entries by name; an entry is written once, whole, and never changed."""

    # As a worker opens it.
    url: str

    def prepare(self) -> None:
        """Makes it where it is missing; workers only look for it."""

    def check(self) -> None:
        """Raises where this machine does not reach it."""

    def read(self, name: str) -> bytes | None:
        """The content of an entry; None where there is none."""

    def read_many(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Those entries that are there."""

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""

    def write(self, name: str, content: bytes) -> None:
        """Makes an entry."""

    def put_file(self, name: str, path: Path) -> None:
        """Makes an entry of a file."""

    def get_file(self, name: str, path: Path) -> None:
        """Copies an entry to a file."""


def locate_result(key: str) -> str:
    """The entry of a task's outcome."""
    return f"results/{key[:2]}/{key}.json"


def locate_content(digest: str) -> str:
    """The entry of a file or of an array."""
    return f"content/{digest[:2]}/{digest}"


def open_store(url: str | Path) -> Store:
    """A folder, or what a URL such as s3://bucket/folder names."""
    text = str(url)
    return _open_object_store(text) if "://" in text else FolderStore(Path(text).absolute())


class FolderStore:
    """A folder, which workers on other machines may share; entries appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = str(folder)

    def prepare(self) -> None:
        """Makes the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise _make_error(self.url, problem) from problem

    def check(self) -> None:
        """Raises where the folder is of another machine."""
        if not self.folder.is_dir():
            raise EnvironmentProblem(
                f"the folder of results '{shown(self.folder)}' is not on worker {platform.node()}",
                do="name a store that all workers reach: a folder that they share, or s3://BUCKET/FOLDER",
            )

    def read(self, name: str) -> bytes | None:
        """The content of an entry; None where there is none."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _make_error(self.url, problem) from problem

    def read_many(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Those entries that are there."""
        contents = {name: self.read(name) for name in names}
        return {name: content for name, content in contents.items() if content is not None}

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""
        return (self.folder / name).exists()

    def write(self, name: str, content: bytes) -> None:
        """Makes an entry."""
        write_whole(self.folder / name, [content])

    def put_file(self, name: str, path: Path) -> None:
        """Makes an entry of a file."""
        write_whole(self.folder / name, _iterate_chunks(path))

    def get_file(self, name: str, path: Path) -> None:
        """Copies an entry to a file."""
        try:
            write_whole(path, _iterate_chunks(self.folder / name))
        except OSError as problem:
            raise _make_error(self.url, problem) from problem


class ObjectStore:
    """A store that fsspec knows: s3://, gs://, abfs:// and others."""

    def __init__(self, url: str, file_system: Any, root: str) -> None:
        self.url, self._files, self._root = url, file_system, root.rstrip("/")

    def prepare(self) -> None:
        """Nothing: the bucket is the user's to make."""

    def check(self) -> None:
        """Nothing: what cannot be reached is said by the first request."""

    def read(self, name: str) -> bytes | None:
        """The content of an entry; None where there is none."""
        return self.read_many([name]).get(name)

    def read_many(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Those entries that are there, asked for at a time where the store can do that."""
        paths = {self._locate(name): name for name in names}
        contents = self._ask("cat", list(paths), on_error="return") if paths else {}
        # One path that is asked for alone may be answered without its name.
        answers = contents if isinstance(contents, dict) else {next(iter(paths)): contents}
        problems = [x for x in answers.values() if isinstance(x, Exception) and not _is_absence(x)]
        if problems:
            raise _make_error(self.url, problems[0]) from problems[0]
        return {paths[path]: content for path, content in answers.items() if isinstance(content, bytes)}

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""
        return bool(self._ask("exists", self._locate(name)))

    def write(self, name: str, content: bytes) -> None:
        """Makes an entry."""
        path = self._locate(name)
        self._prepare(path)
        self._ask("pipe_file", path, content)

    def put_file(self, name: str, path: Path) -> None:
        """Makes an entry of a file."""
        self._prepare(self._locate(name))
        self._ask("put_file", str(path), self._locate(name))

    def get_file(self, name: str, path: Path) -> None:
        """Copies an entry to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._ask("get_file", self._locate(name), str(path))

    def _locate(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _prepare(self, path: str) -> None:
        """Makes folders where there are such; an object store would make a bucket of a name misspelled."""
        protocol = self._files.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        if names & WITH_FOLDERS:
            self._ask("makedirs", path.rpartition("/")[0], exist_ok=True)

    def _ask(self, what: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._files, what)(*arguments, **options)
        except Exception as problem:  # every kind of store has errors of its own
            raise _make_error(self.url, problem) from problem


@lru_cache(maxsize=8)
def _open_object_store(url: str) -> ObjectStore:
    try:
        file_system, root = require("fsspec", to="keep results in an object store").url_to_fs(url)
    except ImportError as problem:
        raise EnvironmentProblem(
            f"'{shown(url)}' needs another package: {shown(problem)}", do="install the package that it names"
        ) from problem
    except ValueError as problem:
        raise _make_error(url, problem) from problem
    # Others write into it too: what was listed before says nothing.
    file_system.use_listings_cache = False
    return ObjectStore(url, file_system, root)


def _iterate_chunks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            yield part


def _is_absence(problem: Exception) -> bool:
    return isinstance(problem, FileNotFoundError | KeyError)


def _make_error(url: str, problem: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the store '{shown(url)}' cannot be used: {type(problem).__name__}: {shown(problem)}",
        do="name a folder, or a store that all workers can read and write",
    )
