"""Which framework a source model is of: its content says so, its name only where that is damaged."""

from enum import Enum
from pathlib import Path

from edgewright.frontends._common.caffe import refuse_caffe
from edgewright.frontends._common.keras import refuse_keras
from edgewright.frontends.pytorch.archive import identify_file
from edgewright.frontends.tensorflow.saved_model import TensorflowFile, is_onnx
from edgewright.frontends.tflite.codes import IDENTIFIER


class Framework(Enum):
    """Where a model comes from."""

    ONNX = "ONNX"
    TFLITE = "TFLite"
    TENSORFLOW = "TensorFlow"
    PYTORCH = "PyTorch"


def framework_of(source: Path | str) -> Framework:
    """The framework that wrote a file or a folder; Caffe's and Keras' are refused."""
    path = Path(source)
    refuse_caffe(path)
    refuse_keras(path)
    return _by_content(path) or _by_name(path)


def _by_content(path: Path) -> Framework | None:
    if path.is_dir():
        # Only TensorFlow has models that are folders.
        return Framework.TENSORFLOW
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(8)[4:] == IDENTIFIER:
            return Framework.TFLITE
    if TensorflowFile.is_inside(path):
        return Framework.TENSORFLOW
    return Framework.ONNX if is_onnx(path) else None


def _by_name(path: Path) -> Framework:
    if identify_file(path) is not None:
        return Framework.PYTORCH
    if path.exists() and TensorflowFile.is_called_so(path):
        return Framework.TENSORFLOW
    return Framework.TFLITE if path.suffix.lower() == ".tflite" else Framework.ONNX
