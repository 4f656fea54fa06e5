"""Knows Keras' files, so that they are refused with a way out: only Keras reads them, and runs their code."""

import zipfile
from pathlib import Path

from edgewright.core.errors import UnsupportedFeature, Where

# What HDF5 files begin with, and the files of a .keras archive.
HDF5 = b"\x89HDF\r\n\x1a\n"
ARCHIVED = frozenset({"config.json", "metadata.json"})


def refuse_keras(path: Path | str) -> None:
    """An error where a file is Keras'."""
    if is_keras(Path(path)):
        raise UnsupportedFeature(
            "the file is a Keras model, which only Keras reads; expected ONNX, TFLite, TensorFlow or PyTorch",
            Where(file=str(path)),
            do="load it in Python with keras.models.load_model(FILE) and hand the model over in place of a "
            "file, as in ew.build(model, data, target=CHIP), or save it with model.export(FOLDER) and give "
            "that folder",
        )


def is_keras(path: Path) -> bool:
    """Whether a file is a model or the weights of one, by its content."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if file.read(len(HDF5)) == HDF5:
                return True
        with zipfile.ZipFile(path) as archive:
            return ARCHIVED.issubset(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return False
