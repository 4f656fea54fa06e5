"""ONNX models that declare other sizes than they store: refused before anything is read or allocated."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from tests.declared_sizes import SIX, WIDE, check_refused, each

BITS = SIX.tobytes()
LARGE = np.tile(SIX, 5000)  # stays in the file
STORED = {
    "raw": {"data_type": T.FLOAT, "raw_data": BITS},
    "raw and large": {"data_type": T.FLOAT, "raw_data": LARGE.tobytes()},
    "floats": {"data_type": T.FLOAT, "float_data": SIX},
    "floats and large": {"data_type": T.FLOAT, "float_data": LARGE},
    "doubles": {"data_type": T.DOUBLE, "double_data": SIX},
    "bytes": {"data_type": T.INT8, "int32_data": [1] * 6},
    "halves": {"data_type": T.FLOAT16, "int32_data": [1] * 6},
    "longs": {"data_type": T.INT64, "int64_data": [1] * 6},
    "unsigned": {"data_type": T.UINT32, "uint64_data": [1] * 6},
    "complex": {"data_type": T.COMPLEX64, "float_data": [1.0] * 12},
    "nibbles": {"data_type": T.INT4, "raw_data": b"\1\2\3"},
    "texts": {"data_type": T.STRING, "string_data": [b"a"] * 6},
}


def onnx_file(folder, weight, sparse=None):
    nodes = [
        h.make_node("Cast", ["w"], ["c"], to=T.FLOAT),
        h.make_node("ReduceSum", ["c"], ["s"], keepdims=0),
    ]
    nodes.append(h.make_node("Add", ["x", "s"], ["y"]))
    ends = [[h.make_tensor_value_info(name, T.FLOAT, [1])] for name in ("x", "y")]
    proto = h.make_graph(nodes, "g", *ends, [weight] if weight else [])
    if sparse:
        proto.sparse_initializer.append(sparse)
    model = h.make_model(proto, opset_imports=[h.make_opsetid("", 18)], ir_version=10)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


@pytest.mark.parametrize("stored", list(STORED.values()), ids=list(STORED))
@each(WIDE)
def test_onnx_elements_and_dims_agree(stored, size, tmp_path):
    check_refused(lambda: ew.convert(onnx_file(tmp_path, T(name="w", dims=size, **stored))))


@pytest.mark.parametrize("count", [0, 1, 5, 7, 12])
@pytest.mark.parametrize("name", [name for name in STORED if "large" not in name])
def test_onnx_elements_that_are_too_few_or_too_many(name, count, tmp_path):
    ((field_name, elements),) = ((k, v) for k, v in STORED[name].items() if k != "data_type")
    units = len(elements) // 6 if name != "nibbles" else 1
    changed = (list(elements) * 2)[: count * units] if isinstance(elements, list) else elements
    if not isinstance(elements, list):
        doubled = np.concatenate([elements, elements]) if isinstance(elements, np.ndarray) else elements * 2
        changed = doubled[: count * units]
    weight = T(name="w", dims=[6], data_type=STORED[name]["data_type"], **{field_name: changed})
    check_refused(lambda: ew.convert(onnx_file(tmp_path, weight)))


@pytest.mark.parametrize("stored", list(STORED.values()), ids=list(STORED))
def test_onnx_elements_in_two_places_are_ambiguous(stored, tmp_path):
    twice = {"raw_data": BITS, "int32_data": [1] * 6, "float_data": SIX}
    other = next(name for name in twice if name not in stored)
    weight = T(name="w", dims=[6], **stored, **{other: twice[other]})
    assert "2 places" in check_refused(lambda: ew.convert(onnx_file(tmp_path, weight))).what


def external(folder, dims=(6,), **entries):
    (folder / "w.bin").write_bytes(BITS)
    weight = T(name="w", dims=dims, data_type=T.FLOAT, data_location=T.EXTERNAL)
    for key, value in ({"location": "w.bin", "offset": "0", "length": "24"} | entries).items():
        if value is not None:
            weight.external_data.add(key=key, value=value)
    return onnx_file(folder, weight)


@each(WIDE)
def test_onnx_external_data_and_dims_agree(size, tmp_path):
    check_refused(lambda: ew.convert(external(tmp_path, size)))


@each({name: size for name, size in WIDE.items() if min(size) > 0 and abs(np.prod(size, dtype=object)) > 6})
def test_onnx_external_data_without_a_length_lies_within_its_file(size, tmp_path):
    check_refused(lambda: ew.convert(external(tmp_path, size, length=None)))


NUMBERS = {
    "offset": [
        "1",
        "24",
        "-1",
        "-24",
        str(2**31),
        str(2**63 - 1),
        str(2**64),
        str(2**64 - 23),
        "1e1",
        "0x0",
        "",
    ],
    "length": ["0", "23", "25", "-24", str(2**31), str(2**63 - 1), str(2**64 + 24), "24.0", ""],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in NUMBERS.items() for value in values]
)
def test_onnx_external_data_lies_within_its_file(key, value, tmp_path):
    check_refused(lambda: ew.convert(external(tmp_path, **{key: value})), values=0)


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "", ".", "..", "a/../../w.bin", "missing", "a\0b", "w.bin/.."]
)
def test_onnx_external_data_lies_in_the_folder(location, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "w.bin").write_bytes(BITS)
    check_refused(lambda: ew.convert(external(tmp_path / "inner", location=location)), values=0)


def sparse(dims, places=(1, 3), **declared):
    stored = np.ones(2, np.float32), np.asarray(places, np.int64)
    shapes = declared.get("values", stored[0].shape), declared.get("indices", stored[1].shape)
    tensors = [
        T(name=name, dims=shape, data_type=code, raw_data=array.tobytes())
        for name, shape, code, array in zip("wi", shapes, (T.FLOAT, T.INT64), stored, strict=True)
    ]
    return onnx.SparseTensorProto(dims=dims, values=tensors[0], indices=tensors[1])


@each({name: size for name, size in WIDE.items() if size not in {(5,), (7,), (6, 2)}})
def test_onnx_sparse_shapes_are_bounded(size, tmp_path):
    check_refused(lambda: ew.convert(onnx_file(tmp_path, None, sparse(size))))


@pytest.mark.parametrize("part", ["values", "indices"])
@each(WIDE)
def test_onnx_sparse_parts_have_the_sizes_that_they_declare(part, size, tmp_path):
    check_refused(lambda: ew.convert(onnx_file(tmp_path, None, sparse([6], **{part: size}))))


@pytest.mark.parametrize("places", [(1,), (1, 2, 3), (), (1, 6), (1, -1), (1, 2**62), (1, 1)])
def test_onnx_sparse_values_have_places_of_their_own(places, tmp_path):
    check_refused(lambda: ew.convert(onnx_file(tmp_path, None, sparse([6], places))))
