"""Damages ONNX models as exporters, bit rot and attackers do; the same seed does the same damage."""

import contextlib
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto as A
from onnx import TensorProto as T

__all__ = ["damaged"]

SIZES = (0, 1, -1, 2, 3, 7, 100, -2, 1 << 20, 1 << 31, 1 << 33, 1 << 40, (1 << 63) - 1, -(1 << 63))
REALS = (0.0, -1.0, 1e-30, 1e30, 0.5, math.nan, math.inf, -math.inf)
WORDS = (
    "",
    "bogus",
    "NOTSET",
    "SAME_UPPER",
    "VALID",
    "linear",
    "cubic",
    "reflect",
    "mean",
    "add",
    "ij,jk->ik",
)
CODES = (
    T.FLOAT,
    T.INT64,
    T.INT32,
    T.INT8,
    T.UINT8,
    T.BOOL,
    T.FLOAT16,
    T.BFLOAT16,
    T.DOUBLE,
    T.STRING,
    T.INT4,
)
OPSETS = (*range(1, 28), 0, -1, 999)

Damage = Callable[[Random, onnx.ModelProto], None]


def damaged(random: Random, data: bytes) -> bytes:
    """A model with one to three things wrong, or its bytes with a few of them wrong."""
    if random.random() < 0.1:
        return _bytes(random, data)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        return _bytes(random, data)
    if random.random() < 0.2:
        # Others than its author find a rank, a size or a value less well known.
        _apply(random, random.choice((_dims, _opset, _op_type, _store_an_input)), model)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _apply(random, random.choice(DAMAGES), model)
    return model.SerializeToString()


def _apply(random: Random, damage: Damage, model: onnx.ModelProto) -> None:
    # This model has nothing of the kind, or protobuf itself refuses the value.
    with contextlib.suppress(Exception):
        damage(random, model)


def _bytes(random: Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    if random.random() < 0.3:
        return bytes(changed[: random.randrange(len(changed) + 1)])
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The nodes of the graph and of the graphs inside it."""
    found, pending = [], [model.graph]
    while pending:
        graph = pending.pop()
        found.extend(graph.node)
        pending.extend(a.g for node in graph.node for a in node.attribute if a.type == A.GRAPH)
    return found


def _attribute(random: Random, model: onnx.ModelProto) -> None:
    attribute = random.choice([a for node in _nodes(model) for a in node.attribute])
    if attribute.type == A.INT:
        attribute.i = random.choice(SIZES)
    elif attribute.type == A.FLOAT:
        attribute.f = random.choice(REALS)
    elif attribute.type == A.STRING:
        attribute.s = random.choice(WORDS).encode()
    elif attribute.type == A.INTS:
        _list(random, attribute.ints, SIZES)
    elif attribute.type == A.FLOATS:
        _list(random, attribute.floats, REALS)
    elif attribute.type == A.STRINGS:
        _list(random, attribute.strings, [word.encode() for word in WORDS])
    elif attribute.type == A.TENSOR:
        _stored(random, attribute.t)


def _list(random: Random, items: Any, values: Any) -> None:
    what = random.randrange(5)
    if what == 0:
        del items[:]
    elif what == 1:
        del items[random.randrange(len(items))]
    elif what == 2:
        items.append(random.choice(values))
    elif what == 3:
        items[:] = [random.choice(values)] * len(items)
    else:
        items[random.randrange(len(items))] = random.choice(values)


def _attribute_gone(random: Random, model: onnx.ModelProto) -> None:
    node = random.choice([node for node in _nodes(model) if node.attribute])
    del node.attribute[random.randrange(len(node.attribute))]


def _attribute_kind(random: Random, model: onnx.ModelProto) -> None:
    attribute = random.choice([a for node in _nodes(model) for a in node.attribute])
    if random.random() < 0.5:
        attribute.type = random.randrange(15)
    else:
        value = random.choice((1, 1.5, "text", [1, 2], [0.5], ["a"]))
        attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, value))


def _attribute_added(random: Random, model: onnx.ModelProto) -> None:
    """An attribute that the op has, but that this model does not give, with an odd value of its kind."""
    node = random.choice(_nodes(model))
    schema = onnx.defs.get_schema(node.op_type, domain=node.domain) if onnx.defs.has(node.op_type) else None
    known = {} if schema is None else {n: a.type.value for n, a in schema.attributes.items()}
    name = random.choice(sorted(known))
    values: dict[int, Any] = {
        A.INT: random.choice(SIZES),
        A.FLOAT: random.choice(REALS),
        A.STRING: random.choice(WORDS),
        A.INTS: [random.choice(SIZES) for _ in range(random.randrange(1, 5))],
        A.FLOATS: [random.choice(REALS) for _ in range(random.randrange(1, 5))],
    }
    for index, attribute in enumerate(node.attribute):
        if attribute.name == name:
            del node.attribute[index]
            break
    node.attribute.append(onnx.helper.make_attribute(name, values[known[name]]))


def _dims(random: Random, model: onnx.ModelProto) -> None:
    shape = random.choice([item.type.tensor_type for item in model.graph.input]).shape
    what = random.randrange(6)
    if what == 0:
        del shape.dim[random.randrange(len(shape.dim))]
    elif what == 1:
        shape.dim.insert(
            random.randrange(len(shape.dim) + 1), shape.Dimension(dim_value=random.choice(SIZES))
        )
    elif what == 2:
        random.choice(shape.dim).dim_param = random.choice(("N", "batch", "H", "", "a b"))
    else:
        random.choice(shape.dim).dim_value = random.choice(SIZES)


def _no_shape(random: Random, model: onnx.ModelProto) -> None:
    random.choice(model.graph.input).type.tensor_type.ClearField("shape")


def _input_dtype(random: Random, model: onnx.ModelProto) -> None:
    random.choice(model.graph.input).type.tensor_type.elem_type = random.choice((*CODES, 0, 99))


def _weights(random: Random, model: onnx.ModelProto) -> None:
    _stored(random, random.choice(model.graph.initializer))


def _stored(random: Random, tensor: onnx.TensorProto) -> None:
    what = random.randrange(6)
    if what == 0:
        tensor.data_type = random.choice((*CODES, 0, 99))
    elif what == 1:
        _list(random, tensor.dims, SIZES)
    elif what == 2:
        tensor.CopyFrom(onnx.numpy_helper.from_array(_array(random, tensor).reshape(-1)[:1], tensor.name))
    elif what == 3:
        array = _array(random, tensor)
        tensor.CopyFrom(
            onnx.numpy_helper.from_array(array.reshape(random.choice(((-1,), (1, -1), (-1, 1)))), tensor.name)
        )
    else:
        array = _array(random, tensor).copy()
        values = [v for v in (SIZES if array.dtype.kind in "iu" else REALS) if _fits(v, array)]
        flat = array.reshape(-1)
        if random.random() < 0.3:
            flat[:] = random.choice(values)
        else:
            flat[random.randrange(flat.size)] = random.choice(values)
        tensor.CopyFrom(onnx.numpy_helper.from_array(flat.reshape(array.shape), tensor.name))


def _array(random: Random, tensor: onnx.TensorProto) -> Any:
    del random
    array = onnx.numpy_helper.to_array(tensor)
    if not array.size or array.dtype.kind not in "iufb":
        raise ValueError("nothing to change")
    return array


def _fits(value: float, array: Any) -> bool:
    if array.dtype.kind not in "iu":
        return True
    info = np.iinfo(array.dtype)
    return bool(info.min <= value <= info.max)


def _store_an_input(random: Random, model: onnx.ModelProto) -> None:
    """What was an input is a constant: of ones, or of a few small numbers."""
    index = random.randrange(len(model.graph.input))
    item = model.graph.input[index]
    dims = [dim.dim_value for dim in item.type.tensor_type.shape.dim]
    if math.prod(dims) > 4096:
        raise ValueError("too large")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
    array = np.asarray([random.choice((0, 1, 1, 2, 3)) for _ in range(math.prod(dims))]).astype(dtype)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array.reshape(dims), item.name))
    del model.graph.input[index]


def _inputs(random: Random, model: onnx.ModelProto) -> None:
    node = random.choice([node for node in _nodes(model) if node.input])
    index, what = random.randrange(len(node.input)), random.randrange(5)
    names = [*(item.name for item in model.graph.input), *(t.name for t in model.graph.initializer), "nobody"]
    if what == 0:
        node.input[index] = ""
    elif what == 1:
        del node.input[index]
    elif what == 2:
        node.input[index] = random.choice(names)
    elif what == 3:
        node.input.append(random.choice((*names, "")))
    else:
        node.input[:] = random.sample(list(node.input), len(node.input))


def _outputs(random: Random, model: onnx.ModelProto) -> None:
    node = random.choice(_nodes(model))
    what = random.randrange(4)
    if what == 0:
        node.output[random.randrange(len(node.output))] = random.choice(("", "other", *node.input))
    elif what == 1:
        node.output.append(f"more{len(node.output)}")
    elif what == 2:
        del node.output[random.randrange(len(node.output))]
    else:
        del model.graph.output[random.randrange(len(model.graph.output))]


def _op_type(random: Random, model: onnx.ModelProto) -> None:
    random.choice(_nodes(model)).op_type = random.choice(OP_TYPES)


def _opset(random: Random, model: onnx.ModelProto) -> None:
    random.choice(model.opset_import).version = random.choice(OPSETS)


def _twice(random: Random, model: onnx.ModelProto) -> None:
    """A node that reads what another one of the kind made."""
    node = random.choice(model.graph.node)
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[0], copy.name = node.output[0], "again"
    copy.output[:] = [f"{name}_again" if name else "" for name in node.output]
    model.graph.node.append(copy)
    model.graph.output.append(onnx.ValueInfoProto(name=copy.output[0]))


OP_TYPES = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain})
DAMAGES: tuple[Damage, ...] = (
    *(_attribute,) * 5,
    _attribute_gone,
    _attribute_kind,
    *(_attribute_added,) * 3,
    *(_dims,) * 4,
    _no_shape,
    _input_dtype,
    *(_weights,) * 4,
    *(_store_an_input,) * 2,
    *(_inputs,) * 2,
    _outputs,
    *(_op_type,) * 2,
    _opset,
    _twice,
)
