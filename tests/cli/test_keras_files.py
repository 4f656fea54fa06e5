"""Files of Keras: not read, and refused with a way out."""

import zipfile

import pytest

from edgewright.tools.umbrella import main


def write_hdf5(path):
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))


def write_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(name, "{}")


@pytest.mark.parametrize(("name", "write"), [("m.h5", write_hdf5), ("m.keras", write_archive)])
@pytest.mark.parametrize("tool", ["build", "convert"])
def test_a_file_of_keras_is_refused_with_what_to_do_in_python(call, tmp_path, name, write, tool):
    write(tmp_path / name)
    options = ["--target", "SM8650", "--dry-run", "--random-data"] if tool == "build" else []
    answer = call(main, tool, tmp_path / name, *options)
    assert answer.code == 4
    assert "the file is a Keras model" in answer.err
    assert "keras.models.load_model" in answer.err


def test_an_archive_whose_names_are_damaged_is_one_error(call, tmp_path):
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.json", "{}")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xc9\xc9"))
    answer = call(main, "convert", path)
    assert answer.code == 3
    assert "Traceback" not in answer.err
