"""Knows Caffe's files, by what is in them, so that they are refused with a way out."""

import re
from pathlib import Path

from edgewright.core.errors import UnsupportedFeature, Where

SUFFIXES = (".caffemodel", ".prototxt")
LOOKED_AT = 1 << 16
# caffe.proto, NetParameter: 1 = name, 2 = layers (before 2014), 100 = layer; all of them with a length.
NAME, OLD_LAYERS, LAYER = b"\x0a", b"\x12", b"\xa2\x06"
A_LAYER = re.compile(r"^\s*layers?\s*\{", re.MULTILINE)
SHORT = 0x80


def refuse_caffe(path: Path | str) -> None:
    """An error where a file is Caffe's."""
    if is_caffe(Path(path)):
        raise UnsupportedFeature(
            "the file is a Caffe model, expected ONNX, TFLite, TensorFlow or PyTorch",
            Where(file=str(path)),
            do="convert it to ONNX first, for example with the package caffe2onnx, and give the .onnx file",
        )


def is_caffe(path: Path) -> bool:
    """Whether a file is a network or the weights of one; a name decides only where the content does not."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
    except OSError:
        return False
    return path.suffix.lower() in SUFFIXES or _is_weights(start) or _is_network(start)


def _is_weights(start: bytes) -> bool:
    if start.startswith(LAYER):
        return True
    if not start.startswith(NAME) or len(start) < 2 or start[1] >= SHORT:
        return False
    # TensorFlow's graphs have a message in this place, which begins with a line feed.
    name, rest = start[2 : 2 + start[1]], start[2 + start[1] :]
    return name.isascii() and name.decode("ascii").isprintable() and rest.startswith((OLD_LAYERS, LAYER))


def _is_network(start: bytes) -> bool:
    text = start.decode("utf-8", "ignore")
    return "\0" not in text and A_LAYER.search(text) is not None
