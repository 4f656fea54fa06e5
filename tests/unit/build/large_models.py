"""ONNX files of gigabytes that take no room on disk: their weights are holes."""

from pathlib import Path

from onnx import TensorProto, helper

SIDE = 4096
# Fields of ONNX's messages: ModelProto.graph, GraphProto.initializer, TensorProto.raw_data.
GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9


def large_model(folder: Path, gigabytes: float, *, is_inline: bool, dtype: int = TensorProto.FLOAT) -> Path:
    """A chain of products with square weights, and behind it an op whose shape only a run tells."""
    width = 4 if dtype == TensorProto.FLOAT else 1
    size = SIDE * SIDE * width
    weights = [_weight(f"w{place}", dtype) for place in range(round(gigabytes * 1e9 / size))]
    path = folder / "large.onnx"
    if not is_inline:
        for place, weight in enumerate(weights):
            _place_outside(weight, place * size, size)
        with (folder / "large.data").open("wb") as file:
            file.truncate(len(weights) * size)
        path.write_bytes(
            helper.make_model(_graph(weights, with_weights=True), **_about()).SerializeToString()
        )
        return path
    _write_inline(path, weights, size)
    return path


def _graph(weights, *, with_weights):
    is_float = weights[0].data_type == TensorProto.FLOAT
    nodes, value = [], "x"
    for place, weight in enumerate(weights):
        read = weight.name
        if not is_float:
            nodes.append(helper.make_node("DequantizeLinear", [read, "scale"], [f"{read}_real"]))
            read = f"{read}_real"
        nodes.append(helper.make_node("MatMul", [value, read], [f"h{place}"], name=f"product_{place}"))
        value = f"h{place}"
    nodes.append(helper.make_node("NonZero", [value], ["places"], name="post/NonZero"))
    io = [
        helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, SIDE]),
        helper.make_tensor_value_info("places", TensorProto.INT64, [2, None]),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SIDE])]
    small = [] if is_float else [helper.make_tensor("scale", TensorProto.FLOAT, [], [0.01])]
    return helper.make_graph(nodes, "g", given, io, [*small, *(weights if with_weights else [])])


def _about():
    return {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 8}


def _weight(name, dtype):
    weight = TensorProto(name=name, data_type=dtype)
    weight.dims.extend([SIDE, SIDE])
    return weight


def _place_outside(weight, start, size):
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "large.data"), ("offset", str(start)), ("length", str(size))):
        weight.external_data.add(key=key, value=value)


def _write_inline(path, weights, size):
    """Protocol buffers written by hand: no message of this size can be made, but files of it exist."""
    heads = []
    for weight in weights:
        inner = weight.SerializeToString() + _tag(RAW_DATA) + _varint(size)
        heads.append(_tag(INITIALIZER) + _varint(len(inner) + size) + inner)
    graph = _graph(weights, with_weights=False).SerializeToString()
    model = helper.make_model(helper.make_graph([], "g", [], []), **_about())
    model.ClearField("graph")
    total = len(graph) + sum(len(head) + size for head in heads)
    with path.open("wb") as file:
        file.write(model.SerializeToString() + _tag(GRAPH) + _varint(total) + graph)
        for head in heads:
            file.write(head)
            file.seek(size, 1)
        file.truncate()


def _tag(field):
    return bytes([field << 3 | 2])


def _varint(number):
    parts = []
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])
