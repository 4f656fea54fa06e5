"""Makes the source of op packages, as qnn-op-package-generator does."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from edgewright.artifacts.op_package.reader import LARGEST_FILE, read
from edgewright.artifacts.op_package.records import PackageDef
from edgewright.artifacts.op_package.writer import BACKENDS, to_files
from edgewright.config.op_package import PackageOutput
from edgewright.core.errors import UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import read_limited, write_all


@dataclass(frozen=True)
class GeneratedPackages:
    """The folders that were written, with their files, and what was left out."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def generate_packages(options: PackageOutput) -> GeneratedPackages:
    """Writes the skeletons of all packages, all files or none."""
    files: dict[Path, list[bytes]] = {}
    notes: list[str] = []
    out = Path(options.output_path)
    for name in options.config_path:
        package = read(name)
        notes += _list_left_out(package, name)
        xml = read_limited(name, LARGEST_FILE)
        made = to_files(package, xml, with_converter=options.converter_op_package)
        clash = [path for path in made if out / path in files]
        if clash:
            raise UsageError(
                f"two packages are named '{package.name}', expected unique names",
                do="rename one of them, or write them to two folders",
            )
        files |= {out / path: [content] for path, content in made.items()}
    folders = sorted({out / path.relative_to(out).parts[0] for path in files})
    for folder in folders:
        _clear(folder, is_forced=options.force_generation)
    write_all(files)
    return GeneratedPackages(tuple(map(str, folders)), tuple(map(str, files)), tuple(notes))


def _list_left_out(package: PackageDef, file: str) -> list[str]:
    unknown = [backend for backend in package.backends if backend not in BACKENDS]
    if len(unknown) == len(package.backends):
        raise UnsupportedFeature(
            f"the package is for {', '.join(unknown)}, skeletons are made for {' and '.join(BACKENDS)}",
            Where(file=file),
            do=f"add a SupportedBackend {BACKENDS[0]}",
        )
    return [f"no skeleton is made for backend {backend}" for backend in unknown]


def _clear(folder: Path, *, is_forced: bool) -> None:
    """Removes an older package if that is requested, and refuses any other folder."""
    if not folder.exists():
        return
    if not is_forced:
        raise UsageError(
            f"'{shown(folder)}' exists already", do="add -f to replace it, or name another folder"
        )
    is_package = any((folder / place / "Makefile").is_file() for place in (".", "ConverterOpPackage"))
    if folder.is_symlink() or not is_package:
        raise UsageError(
            f"'{shown(folder)}' is not a generated op package: it has no Makefile",
            do="remove it yourself, or name another folder",
        )
    shutil.rmtree(folder)
