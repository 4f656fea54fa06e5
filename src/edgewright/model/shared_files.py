"""The files of a model or of an option, as tasks name them: by the hash of their content."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from edgewright.frontends.onnx.external import list_external_files

# Endings of files that hold the weights of a model beside it.
WEIGHTS = (".data", ".bin", ".weights")
# Shares files of a folder and gives their hash.
Share = Callable[[Path, Sequence[str]], str]


def list_model_files(path: Path) -> list[Path]:
    """The file of a model and those beside it that hold its weights, or all files of its folder."""
    if path.is_dir():
        return sorted(item for item in path.rglob("*") if item.is_file())
    stem = path.stem.removesuffix("_net")
    named = {f"{stem}{ending}" for ending in WEIGHTS}
    beside = {item for item in path.parent.iterdir() if item.name.startswith(path.name) or item.name in named}
    if path.suffix == ".onnx" and path.is_file() and path.stat().st_size:
        beside |= set(list_external_files(path))
    return [path, *sorted(item for item in beside if item.is_file() and item != path)]


def share_model(path: Path, share: Share) -> dict[str, str]:
    """A model with its weights."""
    if path.is_dir():
        return share_path(path, share)
    files = [each.relative_to(path.parent).as_posix() for each in list_model_files(path)]
    return {"content": share(path.parent, files), "name": path.name}


def share_path(path: Path, share: Share) -> dict[str, str]:
    """A file, or a folder with all that is in it."""
    if not path.is_dir():
        return {"content": share(path.parent, [path.name]), "name": path.name}
    files = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    return {"content": share(path, files), "name": ""}


def locate_shared(place: Mapping[str, str], fetch: Callable[[str], Path]) -> Path:
    """Where a worker has what was shared."""
    folder = fetch(place["content"])
    return folder / place["name"] if place["name"] else folder
