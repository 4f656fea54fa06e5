"""What comes back from a device is untrusted."""

import io
import os
import tarfile

import pytest

from edgewright.core.errors import BackendCrash, BadInput, EdgewrightError, LimitExceeded
from edgewright.run.remote.archive import pack_files, unpack_files


def write_archive(path, *entries):
    """A tar of entries, each with its content."""
    with tarfile.open(path, "w") as tar:
        for entry, content in entries:
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def make_entry(name, kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    for field, value in (("type", kind), ("linkname", link)):
        setattr(entry, field, value)
    return entry


def test_files_go_there_and_back(tmp_path):
    (tmp_path / "a b").write_bytes(b"1")
    pack_files({"inputs/0.raw": tmp_path / "a b"}, tmp_path / "x.tar")
    unpack_files(tmp_path / "x.tar", tmp_path / "out", 1 << 20)
    assert (tmp_path / "out/inputs/0.raw").read_bytes() == b"1"


def test_what_would_never_end_is_not_sent(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a regular file"):
        pack_files({"inputs/0.raw": tmp_path / "pipe"}, tmp_path / "x.tar")


@pytest.mark.parametrize(
    "entry",
    [
        make_entry("../outside"),
        make_entry("/tmp/outside"),
        make_entry("output/../../outside"),
        make_entry("output/link", tarfile.SYMTYPE, "/etc/passwd"),
        make_entry("output/link", tarfile.LNKTYPE, "/etc/passwd"),
        make_entry("output/pipe", tarfile.FIFOTYPE),
        make_entry("output/device", tarfile.CHRTYPE),
    ],
)
def test_entries_that_lead_elsewhere_are_refused(tmp_path, entry):
    inside = tmp_path / "in" / "side"
    inside.mkdir(parents=True)
    with pytest.raises((BackendCrash, BadInput)):
        unpack_files(write_archive(tmp_path / "x.tar", (entry, b"")), inside, 1 << 20)
    assert [path.name for path in tmp_path.rglob("outside")] == []


def test_what_is_too_large_or_damaged_or_twice_is_refused(tmp_path):
    archive = write_archive(tmp_path / "x.tar", (make_entry("a"), b"12345"))
    with pytest.raises(LimitExceeded):
        unpack_files(archive, tmp_path, 4)
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(BackendCrash, match="damaged"):
        unpack_files(archive, tmp_path, 1 << 20)
    archive.write_bytes(b"")
    with pytest.raises(BackendCrash, match="damaged"):
        unpack_files(archive, tmp_path, 1 << 20)
    twice = write_archive(tmp_path / "y.tar", (make_entry("b"), b"1"), (make_entry("b"), b"2"))
    with pytest.raises(EdgewrightError):
        unpack_files(twice, tmp_path, 1 << 20)
