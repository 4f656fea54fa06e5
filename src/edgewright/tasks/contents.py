"""Files by the hash of their content: shared once, fetched once by each machine."""

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, EnvironmentProblem, shown
from edgewright.core.files import resolve_inside, write_whole
from edgewright.core.numbers import Array
from edgewright.tasks.store import Store, locate_content
from edgewright.tasks.task import to_canonical_json


@dataclass(frozen=True)
class Contents:
    """A store's contents, and the folder of this machine that keeps those that were fetched."""

    store: Store
    cache: Path

    def share_files(self, folder: Path, names: Iterable[str], *, is_same_machine: bool = False) -> str:
        """The hash of some files of a folder, from which they can be fetched.

        Args:
            folder: where they are.
            names: the files, relative to it.
            is_same_machine: whoever fetches them finds them where they are now; they are not copied.
        """
        files = {name: folder / name for name in sorted(names)}
        digests = {name: hash_file(path) for name, path in files.items()}
        manifest = [[name, path.stat().st_size, digests[name]] for name, path in files.items()]
        digest = self._keep(to_canonical_json(manifest))
        if is_same_machine:
            stats = {name: path.stat().st_mtime_ns for name, path in files.items()}
            place = json.dumps({"folder": str(folder.absolute()), "times": stats}).encode()
            write_whole(self._locate_origin(digest), [place])
            return digest
        for name, path in files.items():
            if not self.store.has(locate_content(digests[name])):
                self.store.put_file(locate_content(digests[name]), path)
        return digest

    def fetch_files(self, digest: str) -> Path:
        """A folder with the files of a hash; they must not be changed."""
        manifest = self._read_manifest(digest)
        origin = self._find_origin(digest, manifest)
        if origin is not None:
            return origin
        folder = self.cache / digest
        if not folder.is_dir():
            self._fetch(manifest, folder)
        return folder

    def copy_files(self, digest: str, folder: Path, rename: Callable[[str], str | None] = str) -> None:
        """Puts the files of a hash into a folder, under other names where the caller wants that.

        Args:
            digest: the hash.
            folder: where they go; it may have other files already.
            rename: the name that a file gets; None leaves it out.
        """
        for name, _, each in self._read_manifest(digest):
            target = rename(name)
            if target is not None:
                self._fetch_file(each, resolve_inside(folder, target))

    def keep_arrays(self, arrays: Mapping[str, Array]) -> str:
        """The hash of arrays, which are kept as .npz."""
        buffer = BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        return self._keep(buffer.getvalue())

    def load_arrays(self, digest: str) -> dict[str, Array]:
        """The arrays of a hash."""
        with np.load(BytesIO(self._read(digest)), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def _keep(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if not self.store.has(locate_content(digest)):
            self.store.write(locate_content(digest), content)
        return digest

    def _read(self, digest: str) -> bytes:
        content = self.store.read(locate_content(digest))
        if content is None:
            raise self._make_missing_error(digest)
        if hashlib.sha256(content).hexdigest() != digest:
            raise self._make_damage_error(digest)
        return content

    def _read_manifest(self, digest: str) -> list[tuple[str, int, str]]:
        try:
            return [(str(name), int(size), str(each)) for name, size, each in json.loads(self._read(digest))]
        except (ValueError, TypeError) as problem:
            raise BadInput(
                f"content {digest[:16]} of '{shown(self.store.url)}' is no list of files"
            ) from problem

    def _find_origin(self, digest: str, manifest: list[tuple[str, int, str]]) -> Path | None:
        """Where the files were shared from, if they are still there as they were."""
        try:
            place: dict[str, Any] = json.loads(self._locate_origin(digest).read_bytes())
        except (OSError, ValueError):
            return None
        folder, times = Path(place["folder"]), place["times"]
        for name, size, _ in manifest:
            try:
                stat = (folder / name).stat()
            except OSError:
                return None
            if (stat.st_size, stat.st_mtime_ns) != (size, times.get(name)):
                return None
        return folder

    def _locate_origin(self, digest: str) -> Path:
        return self.cache / f"{digest}.origin.json"

    def _fetch(self, manifest: list[tuple[str, int, str]], folder: Path) -> None:
        """Fills a folder that appears whole or not at all; another process may do the same meanwhile."""
        part = folder.with_name(f".{folder.name[:16]}.{secrets.token_hex(4)}.part")
        try:
            for name, _, digest in manifest:
                self._fetch_file(digest, resolve_inside(part, name))
            part.rename(folder)
        except BaseException as problem:
            shutil.rmtree(part, ignore_errors=True)
            if not (isinstance(problem, OSError) and folder.is_dir()):
                raise

    def _fetch_file(self, digest: str, path: Path) -> None:
        if not self.store.has(locate_content(digest)):
            raise self._make_missing_error(digest)
        self.store.get_file(locate_content(digest), path)
        if hash_file(path) != digest:
            raise self._make_damage_error(digest)

    def _make_missing_error(self, digest: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"content {digest[:16]} is not in the store '{shown(self.store.url)}', and what was shared was "
            "changed or removed meanwhile",
            do="start again: what is missing is shared, what was computed is kept",
        )

    def _make_damage_error(self, digest: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"content {digest[:16]} of the store '{shown(self.store.url)}' is damaged: its hash differs",
            do=f"remove {locate_content(digest)} there and start again",
        )


def hash_file(path: Path) -> str:
    """Of its content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
