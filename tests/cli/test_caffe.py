"""Caffe's files are refused, under any name, with a way out."""

import pytest

import edgewright as ew
from edgewright.frontends._common.caffe import is_caffe
from edgewright.tools.qairt_converter import main as qairt
from edgewright.tools.qnn_onnx_converter import main as onnx
from edgewright.tools.umbrella import main as umbrella
from tests.cli.models import DIGITS_MODEL
from tests.unit.frontends.tensorflow.graph_writer import graph, node, placeholder

NETWORK = b'# LeNet\nname: "LeNet"\nlayer {\n  name: "data"\n  type: "Input"\n}\n'
FILES = {
    "network": NETWORK,
    "old network": b'name: "n"\ninput: "data"\nlayers { name: "conv" type: CONVOLUTION }\n',
    "weights": b"\x0a\x05LeNet\xa2\x06\x08\x0a\x06conv_1",
    "old weights": b"\x0a\x05LeNet\x12\x08\x22\x06conv_1",
    "weights without a name": b"\xa2\x06\x08\x0a\x06conv_1",
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("name", ["m.bin", "m.pb", "m.onnx"])
def test_a_caffe_file_is_known_by_its_content(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    assert is_caffe(tmp_path / name)
    with pytest.raises(ew.EdgewrightError, match="Caffe") as caught:
        ew.convert(tmp_path / name)
    assert caught.value.code == "unsupported-feature"


@pytest.mark.parametrize("name", ["m.caffemodel", "m.prototxt"])
@pytest.mark.parametrize(
    ("main", "words"), [(umbrella, ("inspect",)), (umbrella, ("convert",)), (onnx, ("-i",)), (qairt, ("-i",))]
)
def test_every_tool_says_that_caffe_goes_through_onnx(call, tmp_path, name, main, words):
    (tmp_path / name).write_bytes(NETWORK)
    answer = call(main, *words, tmp_path / name)
    assert answer.code == 4
    assert answer.err == (
        "error[unsupported-feature]: the file is a Caffe model, expected ONNX, TFLite, TensorFlow or "
        "PyTorch\n"
        f"  where: {tmp_path / name}\n"
        "  do:    convert it to ONNX first, for example with the package caffe2onnx, and give the .onnx "
        "file\n"
    )
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_other_files_are_not_taken_for_caffe(tmp_path):
    frozen = graph(placeholder("x", 1, 2), node("y", "Relu", "x"))
    text = b'node {\n  name: "layer {"\n  op: "Relu"\n}\n'
    for content in (b"", b"\x0a", b"\x0a\x7f", b"not a model at all", frozen, text, b"\x80\x02}q\x00"):
        (tmp_path / "m").write_bytes(content)
        assert not is_caffe(tmp_path / "m")
    assert not is_caffe(DIGITS_MODEL)
    assert not is_caffe(tmp_path)
    assert not is_caffe(tmp_path / "nowhere.prototxt")
