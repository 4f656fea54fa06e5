"""The DLC container: what is written is read back, and other readers of zips and FlatBuffers agree."""

import io
import json
import struct
import tracemalloc
import zipfile
from dataclasses import replace

import flatbuffers
import numpy as np
import pytest
from flatbuffers import number_types
from flatbuffers.table import Table

from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader, writer, zip_writer
from edgewright.artifacts.dlc.params_writer import LARGEST_INLINE
from edgewright.artifacts.dlc.spelling import (
    _BY_LIMITS,
    _BY_NUMBER,
    _BY_WORD,
    Spelling,
    spell_in_dlc,
    spell_in_qnn,
)
from edgewright.artifacts.dlc.writer import DlcVersion
from edgewright.artifacts.dlc.zip_reader import open_members
from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature
from edgewright.core.files import write_whole
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import REGISTRY
from edgewright.lower.qnn_graph import QnnNode, QnnScalar, TensorKind
from tests.unit.artifacts.graphs import (
    conv_graph,
    every_dtype_graph,
    graph_of,
    quantized_graph,
    same_graph,
    static,
    tensor,
)

ABOUT = Description(
    command="qairt-converter input_network=m.onnx",
    copyright_text="(c) me\nand you",
    model_version="3.1",
    quantizer_command="qairt-quantizer act_bitwidth=8",
)
VERSIONS = list(DlcVersion)


def with_float32_scales(graph):
    """QNN holds scales as float32, so only those come back as they were."""
    for name, item in graph.tensors.items():
        if item.encoding is not None:
            scales = tuple(float(np.float32(scale)) for scale in item.encoding.scales)
            graph.tensors[name] = replace(item, encoding=replace(item.encoding, scales=scales))
    return graph


def float32_graph():
    return with_float32_scales(quantized_graph())


def layout_graph():
    """Layouts that have a number in the file, and layouts that have none."""
    kinds = {"NCHW": (), "NFC": (0, 2, 1), "NONTRIVIAL": (), "NHWC": (3, 0, 1, 2)}
    tensors = [
        tensor(
            f"t_{form}", TensorKind.APP_WRITE, dims=(1, 2, 3, 4)[: len(order) or 4], axis_format=form,
            permute_order_to_src=order,
        )
        for form, order in kinds.items()
    ]  # fmt: skip
    return graph_of("layouts", tensors, [])


GRAPHS = [conv_graph, float32_graph, every_dtype_graph, layout_graph]


def saved(path, graphs, about=ABOUT, version=None):
    write_whole(path, writer.to_chunks(graphs, about, version))
    return path


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", GRAPHS)
def test_a_graph_is_read_as_it_was_written(make, version, tmp_path):
    found = reader.read(saved(tmp_path / "m.dlc", make(), version=version))
    same_graph(found.graphs[0], make())
    assert (found.description, found.version) == (ABOUT, version.value)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", [*GRAPHS, quantized_graph])
def test_what_was_read_is_written_as_the_same_bytes(make, version, tmp_path):
    path = saved(tmp_path / "m.dlc", make(), version=version)
    found = reader.read(path)
    assert b"".join(writer.to_chunks(found.graphs, found.description, version)) == path.read_bytes()


def test_several_graphs_keep_their_own_weights(tmp_path):
    other = replace(float32_graph(), name="other")
    found = reader.read(saved(tmp_path / "m.dlc", [float32_graph(), conv_graph(), other]))
    assert [graph.name for graph in found.graphs] == ["quantized", "tiny_conv", "other"]
    for graph, wanted in zip(found.graphs, [float32_graph(), conv_graph(), other], strict=True):
        same_graph(graph, wanted)


@pytest.mark.parametrize("text", ["", "N/A", "two\nlines", "a=b; c", "é \\n"])
@pytest.mark.parametrize("version", VERSIONS)
def test_texts_of_any_kind_come_back(text, version, tmp_path):
    about = Description(command=text, copyright_text=text, model_version=text, quantizer_command=text)
    assert reader.read(saved(tmp_path / "m.dlc", conv_graph(), about, version)).description == about


def test_weights_are_views_of_the_file_and_not_copies(tmp_path):
    for version in VERSIONS:
        data = (
            reader.read(saved(tmp_path / "m.dlc", conv_graph(), version=version)).graphs[0].tensors["w"].data
        )
        assert not data.flags.writeable
        assert not data.flags.owndata


def test_scales_are_rounded_to_float32_as_qnn_holds_them(tmp_path):
    found = reader.read(saved(tmp_path / "m.dlc", quantized_graph())).graphs[0]
    same_graph(found, float32_graph())


@pytest.mark.parametrize("scale", [1e39, 1e-60])
def test_a_scale_that_is_none_in_float32_is_refused(scale):
    graph = quantized_graph()
    graph.tensors["y"] = replace(graph.tensors["y"], encoding=Encoding((scale,), (0,)))
    with pytest.raises(BadInput, match="as float32, where it is"):
        list(writer.to_chunks(graph, ABOUT))


def test_a_package_name_stands_in_for_every_node(tmp_path):
    found = reader.read(saved(tmp_path / "m.dlc", conv_graph(), replace(ABOUT, package="mine")))
    assert {node.package for node in found.graphs[0].nodes} == {"mine"}


def test_packed_four_bit_data_is_unpacked(tmp_path):
    values = np.array([[1, -2, 7], [-8, 0, 3]], np.int8)
    plain = graph_of("g", [static("w", values, DType.SFIXED_POINT_4), *_x_to_y()], _relu())
    packed = np.array([0xE1, 0x87, 0x30], np.uint8)
    graph = graph_of("g", [static("w", packed), *_x_to_y()], _relu())
    path = saved(tmp_path / "m.dlc", graph)
    raw = bytearray(path.read_bytes())
    # The tensor says that it is 2 x 3 values of four bits; the weights say that it has three bytes.
    model = b"".join(writer.to_chunks(plain, ABOUT))
    path.write_bytes(_with_member(raw, "model", _member(model, "model")))
    found = reader.read(path).graphs[0].tensors["w"]
    assert (found.dtype, found.data.tolist()) == (DType.SFIXED_POINT_4, values.tolist())


def test_four_bit_data_with_a_byte_for_each_value_is_read(tmp_path):
    values = np.array([[1, -2, 7], [-8, 0, 3]], np.int8)
    path = saved(tmp_path / "m.dlc", graph_of("g", [static("w", values), *_x_to_y()], _relu()))
    narrow = graph_of("g", [static("w", values, DType.SFIXED_POINT_4), *_x_to_y()], _relu())
    model = b"".join(writer.to_chunks(narrow, ABOUT))
    path.write_bytes(_with_member(bytearray(path.read_bytes()), "model", _member(model, "model")))
    found = reader.read(path).graphs[0].tensors["w"]
    assert (found.dtype, found.data.tolist()) == (DType.SFIXED_POINT_4, values.tolist())


def _x_to_y():
    return tensor("x", TensorKind.APP_WRITE, dims=(2,)), tensor("y", TensorKind.APP_READ, dims=(2,))


def _relu():
    return [QnnNode("relu", "qti.aisw", "Relu", inputs=("x",), outputs=("y",))]


def _member(raw, name):
    return zipfile.ZipFile(io.BytesIO(raw)).read(name)


def _with_member(raw, name, content, limit=2**32 - 2):
    old = zipfile.ZipFile(io.BytesIO(bytes(raw)))
    contents = {item: old.read(item) for item in old.namelist()} | {name: content}
    members = [zip_writer.Member(item, lambda c=c: [c]) for item, c in contents.items()]
    return b"".join(zip_writer.to_chunks(members, limit))


# --- ops ---------------------------------------------------------------------------------------------------

FAMILY_MEMBERS = [
    *(name for _, ops in _BY_NUMBER.values() for name in ops.values()),
    *(name for _, names in _BY_WORD.values() for name in names),
    *_BY_LIMITS,
]


@pytest.mark.parametrize("name", FAMILY_MEMBERS)
def test_an_op_that_a_family_stands_for_comes_back(name):
    assert name in REGISTRY
    spelling = spell_in_dlc(name, "qti.aisw")
    assert spelling.type not in REGISTRY
    assert spell_in_qnn(spelling, "qti.aisw") == Spelling(name)


@pytest.mark.parametrize("family", ["Unary", "Binary", "Neuron"])
def test_numbers_of_a_family_are_those_of_the_op_with_the_same_parameter(family):
    word = "Neuron" if family == "Neuron" else f"Eltwise_{family}"
    generic, ops = _BY_NUMBER[word]
    for number, name in ops.items():
        limits = {"min_value": 0.0, "max_value": 1.0} if name == "ReluMinMax" else {}
        assert type(REGISTRY[generic](operation=number, **limits).specific()).__name__ == name


def test_a_generic_op_comes_back_as_the_op_it_means(tmp_path):
    generic = replace(_relu()[0], type="ElementWiseUnary", scalar_params=_operation(15))
    graph = graph_of("g", _x_to_y(), [generic])
    found = reader.read(saved(tmp_path / "m.dlc", graph)).graphs[0].nodes[0]
    assert (found.type, found.scalar_params) == ("ElementWiseSquareRoot", {})


def test_a_number_without_an_op_of_its_own_stays_with_the_generic_op(tmp_path):
    generic = replace(_relu()[0], type="ElementWiseUnary", scalar_params=_operation(10))
    found = reader.read(saved(tmp_path / "m.dlc", graph_of("g", _x_to_y(), [generic]))).graphs[0].nodes[0]
    assert (found.type, found.scalar_params) == ("ElementWiseUnary", _operation(10))


def test_parameters_that_only_the_generic_op_has_keep_it_generic():
    given = Spelling("Neuron", _operation(4) | {"alpha": QnnScalar(DType.FLOAT_32, 0.5)})
    assert spell_in_qnn(given, "qti.aisw") == replace(given, type="ElementWiseNeuron")


def test_an_op_of_another_package_keeps_its_name():
    assert spell_in_dlc("Relu", "my.package") == Spelling("Relu")
    assert spell_in_qnn(Spelling("Pool"), "my.package") == Spelling("Pool")


def _operation(number):
    return {"operation": QnnScalar(DType.UINT_32, number)}


# --- other readers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [2**32 - 2, 0])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_zip_is_whole_and_stored_for_another_reader(limit, version, tmp_path):
    raw = b"".join(writer.to_chunks(conv_graph(), ABOUT, version))
    if not limit:  # as it would be written above 4 GB
        raw = _with_member(raw, "model", _member(raw, "model"), limit)
    path = tmp_path / "m.dlc"
    path.write_bytes(raw)
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        assert {item.compress_type for item in found.infolist()} == {zipfile.ZIP_STORED}
        assert {name: bytes(view) for name, view in open_members(path).items()} == {
            name: found.read(name) for name in found.namelist()
        }
    same_graph(reader.read(path).graphs[0], conv_graph())


def test_members_are_those_of_each_version():
    names = {
        v: zipfile.ZipFile(io.BytesIO(b"".join(writer.to_chunks(conv_graph(), ABOUT, v)))).namelist()
        for v in VERSIONS
    }
    assert names[DlcVersion.V4_0] == ["dlc.metadata", "model", "model.params"]
    assert names[DlcVersion.V4_1] == ["dlc.metadata2.0.0", "model", "model.params", "model.params.bin"]


def test_the_text_about_the_file_has_the_lines_of_genuine_ones():
    text = _member(b"".join(writer.to_chunks(conv_graph(), ABOUT)), "dlc.metadata").decode()
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert lines["converter-command"] == "qairt-converter input_network=m.onnx"
    assert lines["model-copyright"] == "(c) me and you"
    assert lines["quantizer-command"] == "qairt-quantizer act_bitwidth=8"
    assert lines["model-version"] == "3.1"
    assert json.loads(lines["edgewright"])["graphs"]["tiny_conv"]["source_names"] == {"_575": '57"5/é'}


def test_the_flatbuffers_package_reads_the_same_tables():
    raw = _member(b"".join(writer.to_chunks(float32_graph(), ABOUT)), "model")
    assert raw[:8] == bytes.fromhex("d50a040000000000")
    assert raw[12:16] == b"NETD"
    graph = _child(_root(raw[8:]), 0, 0)
    node, weights = _child(graph, 1, 0), _child(graph, 2, 1)
    assert _text(node, 1) == b"MatMul"
    encoding = _table(weights, 5)
    assert _number(encoding, 0, number_types.Uint32Flags) == 1
    step = _child(_table(encoding, 3), 1, 1)
    assert _number(step, 3, number_types.Float32Flags) == 0.25


def test_the_flatbuffers_package_finds_inline_weights():
    raw = _member(b"".join(writer.to_chunks(conv_graph(), ABOUT)), "model.params")
    assert raw[12:16] == b"NETP"
    graph = _child(_root(raw[8:]), 0, 0)
    weights = _child(graph, 1, 0)
    assert _text(weights, 0) == b"w"
    place = weights.Offset(6)
    found = bytes(weights.Bytes[weights.Vector(place) : weights.Vector(place) + weights.VectorLen(place)])
    assert found == conv_graph().tensors["w"].data.tobytes()
    assert graph.VectorLen(graph.Offset(8)) == len(conv_graph().nodes)


def _root(raw):
    return Table(raw, flatbuffers.encode.Get(flatbuffers.packer.uoffset, raw, 0))


def _child(table, slot, index):
    start = table.Vector(table.Offset(4 + 2 * slot)) + 4 * index
    return Table(table.Bytes, table.Indirect(start))


def _table(table, slot):
    return Table(table.Bytes, table.Indirect(table.Pos + table.Offset(4 + 2 * slot)))


def _text(table, slot):
    return table.String(table.Pos + table.Offset(4 + 2 * slot))


def _number(table, slot, flags):
    return table.Get(flags, table.Pos + table.Offset(4 + 2 * slot))


def test_the_tables_of_a_small_convolution_are_written_as_recorded(golden):
    raw = b"".join(writer.to_chunks(conv_graph(), ABOUT))
    golden("dlc/tiny_conv.model", _member(raw, "model"))
    golden("dlc/tiny_conv.model.params", _member(raw, "model.params"))


# --- size and refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_writing_needs_no_copy_of_the_weights(version):
    weights = np.ones((64, 1 << 18), np.float32)  # 64 MB
    graph = graph_of("g", [static("w", weights), *_x_to_y()], _relu())
    tracemalloc.start()
    for _ in writer.to_chunks(graph, ABOUT, version):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_weights_beyond_what_version_4_0_holds_are_written_as_4_1():
    weights = np.broadcast_to(np.int8(0), (LARGEST_INLINE + 1,))
    graph = graph_of("g", [static("w", weights), *_x_to_y()], _relu())
    assert b"dlc.metadata2.0.0" in next(iter(writer.to_chunks(graph, ABOUT)))
    with pytest.raises(LimitExceeded, match=f"at most {LARGEST_INLINE}"):
        next(iter(writer.to_chunks(graph, ABOUT, DlcVersion.V4_0)))


def test_every_vector_and_field_is_aligned_for_readers_in_c():
    raw = _member(b"".join(writer.to_chunks(every_dtype_graph(), ABOUT)), "model.params")[8:]
    graph = _child(_root(raw), 0, 0)
    for index in range(graph.VectorLen(graph.Offset(6))):
        weights = _child(graph, 1, index)
        place = weights.Pos + weights.Offset(6)
        assert (place + struct.unpack_from("<I", raw, place)[0]) % 4 == 0


REFUSED = {
    "type": (lambda g: g.tensors.update(x=tensor("x", TensorKind.APP_WRITE, DType.INT_4, (1,))), "INT_4"),
    "scalar": (
        lambda g: g.nodes[0].scalar_params.update(group=QnnScalar(DType.INT_4, 1)),
        "INT_4' of parameter 'group'",
    ),
    "no-data": (lambda g: g.tensors.update(w=tensor("w", TensorKind.STATIC, dims=(1,))), "has no data"),
    "wrong-data": (
        lambda g: g.tensors.update(w=replace(g.tensors["w"], dims=(3,))),
        r"the tensor needs float32 \(3,\)",
    ),
    "two-nodes": (lambda g: g.nodes.append(g.nodes[1]), "2 nodes are named 'relu'"),
    "newline": (lambda g: g.nodes.append(replace(g.nodes[1], name="a\nb")), "expected a name"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_dlc_cannot_hold_is_refused(case):
    edit, message = REFUSED[case]
    graph = conv_graph()
    edit(graph)
    with pytest.raises((BadInput, UnsupportedFeature), match=message):
        list(writer.to_chunks(graph, ABOUT))


def test_graphs_of_one_name_and_no_graphs_are_refused():
    with pytest.raises(BadInput, match="2 graphs are named 'tiny_conv'"):
        list(writer.to_chunks([conv_graph(), conv_graph()], ABOUT))
    with pytest.raises(BadInput, match="no graph to write"):
        list(writer.to_chunks([], ABOUT))
