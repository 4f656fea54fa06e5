"""External data: mapped from the model's folder, and from nowhere else."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.onnx.load import OnnxSource

W = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096
X = np.ones((1, 64), np.float32)
SIZE = str(W.nbytes)


def info(name):
    return h.make_tensor_value_info(name, T.FLOAT, (1, 64))


def external(location="w.bin", name="w", dims=(64, 64), **entries):
    tensor = onnx.TensorProto(name=name, dims=dims, data_type=T.FLOAT, data_location=T.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def in_initializer(tensor):
    return h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [info("x")], [info("y")], [tensor])


def in_constant(tensor):
    nodes = [h.make_node("Constant", [], ["w"], value=tensor), h.make_node("MatMul", ["x", "w"], ["y"])]
    return h.make_graph(nodes, "g", [info("x")], [info("y")])


def in_branch(tensor):
    then = h.make_graph([h.make_node("MatMul", ["x", "w"], ["t"])], "t", [], [info("t")], [tensor])
    other = h.make_graph([h.make_node("Relu", ["x"], ["e"])], "e", [], [info("e")])
    condition = h.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.asarray(True)))
    choose = h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return h.make_graph([condition, choose], "g", [info("x")], [info("y")])


def model(graph, functions=()):
    opsets = [h.make_opsetid("", 17), h.make_opsetid("local", 1)]
    return h.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def in_function(tensor):
    nodes = [h.make_node("Constant", [], ["w"], value=tensor), h.make_node("MatMul", ["a", "w"], ["b"])]
    function = h.make_function("local", "f", ["a"], ["b"], nodes, [h.make_opsetid("", 17)])
    graph = h.make_graph([h.make_node("f", ["x"], ["y"], domain="local")], "g", [info("x")], [info("y")])
    return model(graph, [function])


def in_sparse(tensor):
    tensor.dims[:] = [4]
    indices = onnx.numpy_helper.from_array(np.arange(4, dtype=np.int64), "i")
    sparse = h.make_sparse_tensor(tensor, indices, [64, 64])
    node = h.make_node("MatMul", ["x", "w"], ["y"])
    return h.make_graph([node], "g", [info("x")], [info("y")], sparse_initializer=[sparse])


PLACES = [in_initializer, in_constant, in_branch, in_function, in_sparse]


@pytest.fixture
def folder(tmp_path):
    """A folder of a model, with a secret beside it."""
    (tmp_path / "secret.bin").write_bytes(W.tobytes())
    inner = tmp_path / "model"
    inner.mkdir()
    (inner / "w.bin").write_bytes(W.tobytes())
    return inner


def saved(folder, graph):
    path = folder / "m.onnx"
    proto = graph if isinstance(graph, onnx.ModelProto) else model(graph)
    path.write_bytes(proto.SerializeToString())
    return path


def refused(path, says):
    with pytest.raises(EdgewrightError, match=says) as caught:
        ew.convert(path)
    assert caught.value.exit_code == 3
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("place", PLACES[:-1])
def test_external_data_is_mapped_wherever_a_tensor_may_stand(folder, place):
    path = saved(folder, place(external(length=SIZE)))
    np.testing.assert_allclose(ew.convert(path).run({"x": X})["y"], X @ W, rtol=1e-5)


def test_offset_and_length_pick_the_bytes(folder):
    (folder / "w.bin").write_bytes(b"\1" * 100 + W.tobytes() + b"\2" * 9)
    path = saved(folder, in_initializer(external(offset="100", length=SIZE, checksum="0", basepath="/x")))
    found = OnnxSource.open(path).build({}).graph.constants["w"]
    np.testing.assert_array_equal(found, W)
    assert not found.flags.writeable
    assert not found.flags.owndata


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "location",
    ["../secret.bin", "a/../../secret.bin", "/etc/hostname", "\\\\host\\share\\w.bin", "C:\\w.bin", "", "."],
)
def test_a_path_out_of_the_folder_is_refused_wherever_a_tensor_may_stand(folder, place, location):
    refused(saved(folder, place(external(location))), "path '.*' (is absolute|contains|does not name)")


def test_a_link_out_of_the_folder_is_refused(folder):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    (folder / "up").symlink_to(folder.parent)
    refused(saved(folder, in_initializer(external("link.bin"))), "leads out of the folder")
    refused(saved(folder, in_initializer(external("up/secret.bin"))), "leads out of the folder")


def test_a_second_name_of_another_file_is_refused(folder):
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    refused(saved(folder, in_initializer(external("hard.bin"))), "2 hard links, expected 1")


def test_pipes_devices_and_folders_are_refused_without_waiting(folder):
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    (folder / "zero").symlink_to("/dev/zero")
    refused(saved(folder, in_initializer(external("pipe"))), "is a pipe or a device")
    refused(saved(folder, in_initializer(external("sub"))), "is a folder")
    refused(saved(folder, in_initializer(external("zero"))), "leads out of the folder")
    refused(saved(folder, in_initializer(external("none.bin"))), "no such file")


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"offset": "-1"}, "offset '-1', expected a number"),
        ({"length": "-4"}, "length '-4', expected a number"),
        ({"length": "12"}, f"length 12, expected {SIZE}"),
        ({"length": "9" * 19}, f"length {'9' * 19}, expected {SIZE}"),
        ({"offset": "9" * 19}, "external data ends at"),
        ({"offset": "9" * 400}, "expected a number"),
        ({"offset": "1"}, "external data ends at 16385, but its file 'w.bin' has 16384 bytes"),
        ({"__class__": "x"}, "entry '__class__'"),
        ({"mode": "w"}, "entry 'mode'"),
    ],
)
def test_entries_that_make_no_sense_are_refused(folder, entries, says):
    refused(saved(folder, in_initializer(external(**entries))), says)


def test_a_shape_beyond_the_file_is_refused_before_memory_is_taken(folder):
    refused(saved(folder, in_initializer(external(dims=(1 << 40, 1 << 7)))), "external data ends at")
    refused(saved(folder, in_initializer(external(dims=(1 << 62, 1 << 62)))), "out of range")


def test_a_model_in_memory_needs_its_folder(folder):
    proto = model(in_initializer(external()))
    with pytest.raises(EdgewrightError, match="given without a folder"):
        OnnxSource.open(proto).build({})
    for source in (proto, proto.SerializeToString()):
        found = OnnxSource.open(source, folder=folder).build({}).graph.constants["w"]
        np.testing.assert_array_equal(found, W)
