"""Which files a model is: what changes in one of them is another model."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgewright.model.shared_files import list_model_files, locate_shared, share_model
from edgewright.tasks.engine import open_engine


@pytest.fixture
def model(tmp_path):
    """A model whose weights lie in files with names of their own, one of them in a body of If."""
    folder = tmp_path / "m"
    (folder / "parts").mkdir(parents=True)

    def keep_outside(name, location):
        tensor = numpy_helper.from_array(np.arange(4, dtype=np.float32), name)
        (folder / location).write_bytes(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        return tensor

    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [4])
    constant = helper.make_node("Constant", [], ["r"], value=keep_outside("inner", "parts/inner.weights"))
    body = helper.make_graph([constant], "body", [], [result])
    nodes = [
        helper.make_node("If", ["c"], ["i"], then_branch=body, else_branch=body),
        helper.make_node("Add", ["i", "w"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [keep_outside("w", "everything.dat")])
    onnx.save(helper.make_model(graph), folder / "net.onnx")
    (folder / "other.dat").write_bytes(b"not of this model")
    return folder / "net.onnx"


def test_weights_under_any_name_are_part_of_a_model(model, tmp_path):
    names = [path.relative_to(model.parent).as_posix() for path in list_model_files(model)]
    assert names == ["net.onnx", "everything.dat", "parts/inner.weights"]
    with open_engine(tmp_path / "store", workers=0) as engine:
        before = share_model(model, engine.contents.share_files)
        (model.parent / "parts/inner.weights").write_bytes(np.ones(4, np.float32).tobytes())
        after = share_model(model, engine.contents.share_files)
        copied = locate_shared(after, engine.fetch_files)
    assert before != after
    assert onnx.load(copied).graph.initializer[0].raw_data == np.arange(4, dtype=np.float32).tobytes()


@pytest.mark.parametrize("content", [b"", b"location of nothing", b"\x08"])
def test_a_file_that_is_no_model_is_itself(tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    assert list_model_files(tmp_path / "m.onnx") == [tmp_path / "m.onnx"]


def test_a_file_outside_of_the_folder_is_left_alone(model):
    loaded = onnx.load(model, load_external_data=False)
    loaded.graph.initializer[0].external_data[0].value = "../secret"
    model.write_bytes(loaded.SerializeToString())
    (model.parent.parent / "secret").write_bytes(b"0123456789abcdef")
    assert all(model.parent in path.parents for path in list_model_files(model))
