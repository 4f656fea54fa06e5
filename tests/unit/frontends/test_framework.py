"""Models are told apart by what is in them, whatever they are called."""

import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.framework import Framework, framework_of

MODELS = Path(__file__).parents[3] / "examples" / "models"
SAVED = Path(__file__).parents[1] / "frontends" / "tensorflow" / "models.zip"
FILES = {
    "mnist_cntk.onnx": Framework.ONNX,
    "mnist_dscnn_int8.tflite": Framework.TFLITE,
    "mnist_cnn_fakequant_frozen.pb": Framework.TENSORFLOW,
}
NAMES = ("m.onnx", "m.tflite", "m.pb", "m.pt", "m.pt2", "m.zip", "m.bin", "m")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", FILES)
def test_a_model_converts_under_any_name(source, name, tmp_path):
    shutil.copy(MODELS / source, tmp_path / name)
    assert framework_of(tmp_path / name) is FILES[source]
    assert ew.convert(tmp_path / name).inputs


@pytest.mark.parametrize("name", NAMES)
def test_a_zipped_saved_model_converts_under_any_name(name, tmp_path):
    with ZipFile(SAVED) as models, ZipFile(tmp_path / name, "w") as archive:
        for item in models.namelist():
            if item.startswith("saved/"):
                archive.writestr(item, models.read(item))
    assert ew.convert(tmp_path / name).inputs


def test_a_folder_is_a_saved_model_or_holds_one(tmp_path):
    with ZipFile(SAVED) as models:
        models.extractall(tmp_path, [name for name in models.namelist() if name.startswith("saved/")])
    assert ew.convert(tmp_path / "saved").inputs
    assert ew.convert(tmp_path).inputs
    (tmp_path / "empty").mkdir()
    with pytest.raises(EdgewrightError, match=r"no saved_model\.pb"):
        ew.convert(tmp_path / "empty")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.tflite", "not a TFLite model"),
        ("m.pb", "not a TensorFlow model"),
        ("m.pt", "nothing that PyTorch writes"),
        ("m.onnx", "not an ONNX model"),
    ],
)
def test_garbage_is_answered_by_the_reader_that_its_name_asks_for(name, message, tmp_path):
    (tmp_path / name).write_bytes(b"\xff\xfe\xfd garbage")
    with pytest.raises(EdgewrightError, match=message):
        ew.convert(tmp_path / name)
