"""Reading: weights stay in the file, whatever way they are stored."""

import mmap

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
import edgewright.frontends.onnx
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.onnx import wire
from edgewright.frontends.onnx.load import OnnxSource
from edgewright.frontends.onnx.reader import OnnxFile

W = np.arange(4096, dtype=np.float32).reshape(64, 64) / 4096
X = np.ones((1, 64), np.float32)


def info(name, shape=(1, 64), code=T.FLOAT):
    return h.make_tensor_value_info(name, code, shape)


def model(weights, nodes=None, **kwargs):
    nodes = nodes or [h.make_node("MatMul", ["x", "w"], ["y"])]
    graph = h.make_graph(nodes, "g", [info("x")], [info("y")], weights, **kwargs)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=10)


def saved(tmp_path, proto, name="m.onnx"):
    path = tmp_path / name
    path.write_bytes(proto.SerializeToString())
    return path


def base_of(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def constants(source):
    return OnnxSource.open(source).build({}).graph.constants


def stored(field):
    if field == "raw_data":
        return onnx.numpy_helper.from_array(W, "w")
    return h.make_tensor("w", T.FLOAT, W.shape, W.reshape(-1).tolist())


def test_the_field_numbers_are_those_of_onnx():
    for message, fields in wire.CHILDREN.items():
        known = getattr(onnx, message).DESCRIPTOR.fields_by_number
        assert {number: known[number].message_type.name for number in fields} == dict(fields)
    tensor = onnx.TensorProto.DESCRIPTOR.fields_by_name
    assert {tensor[name].number: name for name in wire.PAYLOADS.values()} == dict(wire.PAYLOADS)
    assert (tensor["external_data"].number, tensor["data_location"].number) == (13, 14)


@pytest.mark.parametrize("field", ["raw_data", "float_data"])
def test_large_weights_are_views_of_the_mapped_file(tmp_path, field):
    array = constants(saved(tmp_path, model([stored(field)])))["w"]
    np.testing.assert_array_equal(array, W)
    assert isinstance(base_of(array), mmap.mmap)


def test_weights_in_constant_nodes_branches_and_functions_are_views_too(tmp_path):
    inner = h.make_node("Constant", [], ["w1"], value=stored("raw_data"))
    then = h.make_graph([inner, h.make_node("MatMul", ["x", "w1"], ["t"])], "then", [], [info("t")])
    other = h.make_graph([h.make_node("Relu", ["x"], ["e"])], "else", [], [info("e")])
    nodes = [
        h.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.asarray(True))),
        h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    found = constants(saved(tmp_path, model([], nodes)))
    arrays = [a for a in found.values() if a.size == W.size]
    np.testing.assert_array_equal(arrays[0], W)
    assert all(isinstance(base_of(array), mmap.mmap) for array in arrays)


def test_a_model_as_bytes_or_as_a_proto_gives_the_same_outputs(tmp_path):
    proto = model([stored("raw_data")])
    path = saved(tmp_path, proto)
    for source in (path, str(path), proto.SerializeToString(), proto):
        np.testing.assert_allclose(ew.convert(source).run({"x": X})["y"], X @ W, rtol=1e-5)


def test_a_file_over_two_gigabytes_loads_and_is_not_read(tmp_path):
    """A sparse file: its weights are a hole of 2.2 GB, which protobuf could never parse."""
    small = h.make_tensor("w", T.FLOAT, (64, 64), W.tobytes(), raw=True)
    proto = model([small])
    count = (22 << 27) // 4
    head = onnx.TensorProto(name="huge", dims=[count], data_type=T.FLOAT).SerializeToString()
    raw = wire._write_varint(9 << 3 | 2) + wire._write_varint(count * 4)
    graph = proto.graph.SerializeToString()
    tensor_size = len(head) + len(raw) + count * 4
    opening = wire._write_varint(5 << 3 | 2) + wire._write_varint(tensor_size) + head + raw
    outer = wire._write_varint(7 << 3 | 2) + wire._write_varint(len(graph) + len(opening) + count * 4)
    rest = onnx.ModelProto(ir_version=10, opset_import=proto.opset_import).SerializeToString()
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.write(rest + outer + graph + opening)
        file.seek(count * 4, 1)
        file.truncate()
    assert path.stat().st_size > 1 << 31
    huge = constants(path)["huge"]
    assert huge.shape == (count,)
    assert huge[-1] == 0


def test_small_and_large_tensors_of_every_datatype_arrive_unchanged(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        f"{code}_{size}": rng.integers(0, 2 if code == T.BOOL else 8, size).astype(
            h.tensor_dtype_to_np_dtype(code)
        )
        for code in (
            T.FLOAT,
            T.FLOAT16,
            T.BFLOAT16,
            T.DOUBLE,
            T.INT8,
            T.UINT16,
            T.INT64,
            T.BOOL,
            T.INT4,
            T.UINT4,
        )
        for size in (0, 3, 20001)
    }
    weights = [onnx.numpy_helper.from_array(a, name) for name, a in arrays.items()]
    path = saved(tmp_path, model([stored("raw_data"), *weights]))
    file = OnnxFile.open(path)
    for tensor in file.graph.initializer:
        if tensor.name in arrays:
            found = file.array(tensor, None)
            assert found.dtype == arrays[tensor.name].dtype
            np.testing.assert_array_equal(found.astype(np.float32), arrays[tensor.name].astype(np.float32))


@pytest.mark.parametrize("as_rows", [True, False])
def test_sparse_weights_are_made_dense(tmp_path, as_rows):
    values = onnx.numpy_helper.from_array(np.asarray([3, 5], np.float32), "w")
    places = np.asarray([[0, 1], [63, 2]], np.int64) if as_rows else np.asarray([1, 63 * 64 + 2], np.int64)
    sparse = h.make_sparse_tensor(values, onnx.numpy_helper.from_array(places, "i"), [64, 64])
    proto = model([], sparse_initializer=[sparse])
    dense = constants(saved(tmp_path, proto))["w"]
    assert dense.sum() == 8
    assert (dense[0, 1], dense[63, 2]) == (3, 5)


def test_training_data_of_a_model_is_left_out(tmp_path):
    proto = model([stored("raw_data")])
    proto.training_info.add().algorithm.initializer.append(onnx.numpy_helper.from_array(W, "copy"))
    file = OnnxFile.open(saved(tmp_path, proto))
    assert len(file._weights.payloads) == 1


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (b"", "not an ONNX model: it holds no graph"),
        (b"\0" * 100, "not an ONNX model"),
        (b"PK\3\4" + b"\1" * 200, "not an ONNX model"),
        (b"\xff" * 50, "does not end"),
        (b"\x0a\xff\xff\xff\x7f", "where 0 are left"),
    ],
)
def test_what_is_no_model_says_so(tmp_path, damage, says):
    path = tmp_path / "bad.onnx"
    path.write_bytes(damage)
    with pytest.raises(EdgewrightError, match=says) as caught:
        ew.convert(path)
    assert caught.value.exit_code == 3
    assert caught.value.where.file == str(path)


def test_a_model_cut_at_any_place_is_refused_or_read_whole(tmp_path):
    data = model([stored("raw_data")]).SerializeToString()
    path = tmp_path / "cut.onnx"
    for end in [*range(120), *range(120, len(data), 997)]:
        path.write_bytes(data[:end])
        with pytest.raises(EdgewrightError):
            ew.convert(path)


def outcome(path):
    try:
        ew.convert(path)
    except EdgewrightError as problem:
        return problem.exit_code
    return 0


def test_random_bytes_never_end_in_a_traceback(tmp_path):
    rng = np.random.default_rng(1)
    data = bytearray(model([stored("raw_data")]).SerializeToString())
    path = tmp_path / "random.onnx"
    for _ in range(150):
        damaged = bytearray(data)
        for place in rng.integers(0, 200, 3):
            damaged[-int(place) - 1 if rng.random() < 0.5 else int(place)] = int(rng.integers(0, 256))
        path.write_bytes(bytes(damaged))
        assert outcome(path) in {0, 3, 4}
