"""Writes TensorFlow's messages byte by byte, so that tests can say exactly what a file holds."""

import json
import struct
from importlib.resources import files

import numpy as np

FLOAT, INT32, STRING, HALF = 1, 3, 7, 19
TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int32): INT32, np.dtype(np.float16): HALF}

DECLARED = json.loads((files("edgewright") / "_data" / "tensorflow_ops.json").read_text())


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def shape(*dims):
    return b"".join(field(2, field(1, dim)) for dim in dims)


def tensor(array):
    array = np.asarray(array)
    return (
        field(1, TYPES[array.dtype])
        + field(2, shape(*array.shape))
        + field(4, np.ascontiguousarray(array).tobytes())
    )


ATTRIBUTES = (
    (bool, lambda value: field(5, int(value))),
    (int, lambda value: field(3, value)),
    (float, lambda value: field(4, value)),
    (str, lambda value: field(2, value)),
    (list, lambda value: field(1, b"".join(field(3, item) for item in value))),
    (np.ndarray, lambda value: field(8, tensor(value))),
)


def attribute(value):
    """A value as an attribute stores it; bytes stay what they are."""
    return next((write(value) for kind, write in ATTRIBUTES if isinstance(value, kind)), value)


def dtype(code):
    return field(6, code)


def calls(name):
    return field(10, field(1, name))


def pair(number, key, value):
    return field(number, field(1, key) + field(2, value))


def required(op, inputs):
    """What TensorFlow wants every node of an op to say: datatypes, and how many inputs there are."""
    declared = DECLARED.get(op, {"inputs": [], "attributes": {}})
    for name, item in declared["attributes"].items():
        if "default" not in item and item["type"] == "type":
            yield name, dtype(FLOAT)
        elif "default" not in item and name in declared["inputs"]:
            count = len(inputs) - len([item for item in declared["inputs"] if item == 1])
            yield name, field(3, count) if item["type"] == "int" else field(1, field(6, FLOAT) * count)


def node(name, op, *inputs, **attributes):
    """A node; with None for an attribute it is left out, even where it is required."""
    data = [item for item in inputs if not item.startswith("^")]
    attributes = {**dict(required(op, data)), **attributes}
    attributes = {key: value for key, value in attributes.items() if value is not None}
    stored = b"".join(pair(5, key, attribute(value)) for key, value in attributes.items())
    return field(1, name) + field(2, op) + b"".join(field(3, item) for item in inputs) + stored


def placeholder(name, *dims):
    return node(name, "Placeholder", dtype=dtype(FLOAT), shape=field(7, shape(*dims)))


def const(name, array):
    array = np.asarray(array)
    return node(name, "Const", dtype=dtype(TYPES[array.dtype]), value=array)


def function(name, arguments, results, *nodes):
    """``results``: the names of the outputs, and what inside each one is."""
    signature = field(1, name) + b"".join(field(2, field(1, item)) for item in arguments)
    signature += b"".join(field(3, field(1, item)) for item in results)
    body = b"".join(field(3, item) for item in nodes)
    return field(1, signature) + body + b"".join(pair(4, key, value) for key, value in results.items())


def graph(*nodes, functions=()):
    library = field(2, b"".join(field(1, item) for item in functions)) if functions else b""
    # The version from which on an empty shape is a scalar's.
    return b"".join(field(1, item) for item in nodes) + library + field(4, field(1, 1000))


def signature(inputs, outputs):
    def ends(number, names):
        return b"".join(
            pair(number, key, field(1, name) + field(2, FLOAT) + field(3, shape(*dims)))
            for key, (name, dims) in names.items()
        )

    return ends(1, inputs) + ends(2, outputs)


def saved_model(graph_bytes, signatures, tag="serve"):
    meta = field(1, field(4, tag)) + field(2, graph_bytes)
    meta += b"".join(pair(5, key, value) for key, value in signatures.items())
    return field(1, 1) + field(2, meta)
