"""The JSON description: what is written is read back, and nothing in a stranger's file is trusted."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from edgewright.artifacts.cpp import bin as weight_tar
from edgewright.artifacts.description import Description
from edgewright.artifacts.net_json import reader, writer
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedFeature
from edgewright.core.files import write_all
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnScalar, TensorKind
from tests.unit.artifacts.graphs import conv_graph, every_dtype_graph, quantized_graph, same_graph, tensor

GRAPHS = [conv_graph, quantized_graph, every_dtype_graph]
ABOUT = Description("m.cpp", "m.bin", "qnn-onnx-converter; act_bitwidth=8", "(c) me")


def save(folder, graph, about=ABOUT):
    path = folder / "m_net.json"
    statics = graph.of_kind(TensorKind.STATIC)
    write_all({path: writer.to_chunks(graph, about), folder / "m.bin": weight_tar.to_chunks(statics)})
    return path


@pytest.mark.parametrize("make", GRAPHS)
def test_a_graph_is_read_as_it_was_written(make, tmp_path):
    same_graph(reader.read(save(tmp_path, make())), make())


@pytest.mark.parametrize("make", GRAPHS)
def test_the_same_graph_gives_the_same_bytes(make):
    first, second = (b"".join(writer.to_chunks(make(), ABOUT)) for _ in range(2))
    assert first == second


def test_a_small_convolution_is_written_as_recorded(golden):
    golden("net_json/tiny_conv_net.json", b"".join(writer.to_chunks(conv_graph(), ABOUT)))


def test_the_head_names_the_files_and_counts_parameters():
    head = json.loads(b"".join(writer.to_chunks(conv_graph(), ABOUT)))
    assert (head["model.cpp"], head["model.bin"]) == ("m.cpp", "m.bin")
    assert head["Total parameters"] == "26 (0 MB assuming single precision float)"
    assert head["op_types"] == ["Conv2d", "ElementWiseNeuron"]


def test_weights_are_views_of_the_file_and_not_copies(tmp_path):
    data = reader.read(save(tmp_path, conv_graph())).tensors["w"].data
    assert not data.flags.writeable
    assert not data.flags.owndata


def test_a_package_name_stands_in_for_every_node(tmp_path):
    graph = reader.read(save(tmp_path, conv_graph(), replace(ABOUT, package="mine")))
    assert {node.package for node in graph.nodes} == {"mine"}


def test_a_sixteen_bit_encoding_spans_what_the_genuine_converter_writes():
    document = json.loads(b"".join(writer.to_chunks(quantized_graph(), ABOUT)))
    step = document["graph"]["tensors"]["x"]["quant_params"]["scale_offset"]
    assert step["minimum"] == pytest.approx(-1.07836, abs=1e-5)
    assert step["maximum"] == pytest.approx(24.3609, abs=1e-3)


def test_a_type_that_qnn_lacks_is_refused_by_name():
    graph = conv_graph()
    graph.tensors["x"] = tensor("x", TensorKind.APP_WRITE, DType.COMPLEX_64, (1,))
    with pytest.raises(UnsupportedFeature, match="COMPLEX_64"):
        list(writer.to_chunks(graph, ABOUT))


def test_older_spellings_are_read_too(tmp_path):
    def age(document):
        document["coverter_command"] = document.pop("converter_command")
        for entry in document["graph"]["tensors"].values():
            entry["current_dims"] = entry.pop("dims")
            for key in ("permute_order_to_src", "is_quantizable", "is_updateable", "unquantized_data_type"):
                entry.pop(key)
        del document["edgewright"]

    graph = reader.read(edited(tmp_path, age))
    assert graph.name == "m"
    assert graph.tensors["x"].dims == (1, 4, 4, 3)
    assert graph.tensors["x"].axis_format == "NHWC"


def test_a_model_without_weights_needs_no_bin(tmp_path):
    graph = conv_graph()
    relu = replace(graph.nodes[1], inputs=("x",))
    graph = replace(graph, tensors={k: graph.tensors[k] for k in ("x", "_575")}, nodes=[relu])
    path = tmp_path / "r_net.json"
    path.write_bytes(b"".join(writer.to_chunks(graph, replace(ABOUT, bin_name="N/A"))))
    same_graph(reader.read(path), graph)


def test_an_input_left_out_is_named_but_not_listed_among_the_tensors():
    document = json.loads(b"".join(writer.to_chunks(every_dtype_graph(), ABOUT)))
    assert document["edgewright"]["absent_inputs"] == ["nothing"]
    assert "nothing" in document["graph"]["nodes"]["op"]["input_names"]
    assert {entry["type"] for entry in document["graph"]["tensors"].values()} == {0, 1, 4}


def test_a_null_tensor_of_another_writer_is_read(tmp_path):
    def add(document):
        document["graph"]["tensors"]["gap"] = document["graph"]["tensors"]["x"] | {"type": 5}
        document["graph"]["nodes"]["conv"]["input_names"].append("gap")

    assert reader.read(edited(tmp_path, add)).tensors["gap"].kind == TensorKind.NULL


def test_the_bin_may_be_named_by_the_caller(tmp_path):
    path = save(tmp_path, conv_graph())
    (tmp_path / "m.bin").rename(tmp_path / "elsewhere.bin")
    same_graph(reader.read(path, tmp_path / "elsewhere.bin"), conv_graph())


def test_only_the_last_part_of_the_bins_path_counts(tmp_path):
    path = edited(tmp_path, lambda document: document.update({"model.bin": "/etc/../somewhere/m.bin"}))
    same_graph(reader.read(path), conv_graph())


# --- strangers ---------------------------------------------------------------------------------------------


def edited(folder, edit, make=conv_graph):
    path = save(folder, make())
    document = json.loads(path.read_bytes())
    edit(document)
    path.write_text(json.dumps(document))
    return path


def x(**fields):
    return lambda d: d["graph"]["tensors"]["x"].update(fields)


def w(**fields):
    return lambda d: d["graph"]["tensors"]["w"].update(fields)


def conv(**fields):
    return lambda d: d["graph"]["nodes"]["conv"].update(fields)


def stride(**fields):
    return lambda d: d["graph"]["nodes"]["conv"]["tensor_params"]["stride"]["conv_stride"].update(fields)


def without(*path):
    def edit(document):
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return edit


def quant(encoding=0, **fields):
    return x(quant_params={"definition": 1, "encoding": encoding, **fields})


HOSTILE = {
    "graph-missing": (without("graph"), "no 'graph'"),
    "graph-a-list": (lambda d: d.update(graph=[]), "'graph' is a list, expected an object"),
    "tensors-null": (lambda d: d["graph"].update(tensors=None), "'tensors' is null, expected an object"),
    "tensor-a-number": (lambda d: d["graph"]["tensors"].update(x=5), "tensor 'x' is '5', expected an object"),
    "no-type": (without("graph", "tensors", "x", "type"), "no 'type'"),
    "no-data-type": (without("graph", "tensors", "x", "data_type"), "no 'data_type'"),
    "no-dims": (without("graph", "tensors", "x", "dims"), "no 'dims'"),
    "no-quant-params": (without("graph", "tensors", "x", "quant_params"), "no 'quant_params'"),
    "type-unknown": (x(type=77), "tensor type is 77, expected 0 to 5"),
    "type-true": (x(type=True), "'type' is true or false, expected a whole number"),
    "dtype-unknown": (x(data_type=563), r"data type 563 \(0x233\) is not one that QNN defines"),
    "dtype-ours": (x(data_type=0x10004), "is not one that QNN defines"),
    "dtype-text": (x(data_type="562"), "'data_type' is '562', expected a whole number"),
    "dims-negative": (x(dims=[-1]), "an item of 'dims' is -1, expected 0 to"),
    "dims-fraction": (x(dims=[1.5]), "expected a whole number"),
    "dims-overflow": (x(dims=[2**31, 2**31, 2**31]), "at most .* are possible|at most .* fit"),
    "dims-too-many": (x(dims=[1] * 1000), "1000 dims, at most 32"),
    "dims-huge-number": (x(dims=[10**4000]), "a number of 13288 bits"),
    "order-not-a-permutation": (x(permute_order_to_src=[0, 0, 1, 2]), "expected an order of the 4 axes"),
    "axis-format-null": (x(axis_format=None), "'axis_format' is null, expected a text"),
    "member-missing": (
        lambda d: d["graph"]["tensors"].update(v=d["graph"]["tensors"].pop("w")),
        "no member 'v.raw'",
    ),
    "size-mismatch": (w(dims=[2, 2, 3, 3]), r"'w.raw' has 96 bytes, FLOAT_32 \[2, 2, 3, 3\] needs 144"),
    "static-text": (w(data_type=int(DType.STRING)), "holds strings"),
    "bin-missing": (lambda d: d.update({"model.bin": "gone.bin"}), "does not exist"),
    "bin-parent": (lambda d: d.update({"model.bin": "a/.."}), "path '..'"),
    "bin-null-byte": (lambda d: d.update({"model.bin": "a\0b"}), "does not name a file"),
    "bin-a-number": (lambda d: d.update({"model.bin": 5}), "'model.bin' is '5', expected a text"),
    "bin-not-there": (
        lambda d: d.update({"model.bin": "N/A"}),
        "has static tensors, but 'model.bin' is 'N/A'",
    ),
    "encoding-unknown": (quant(9), "encoding is 9, expected 0 to 6"),
    "encoding-blocks": (quant(4), "encoding 4"),
    "encoding-empty": (quant(0), "no 'scale_offset'"),
    "scale-negative": (quant(0, scale_offset={"scale": -1.0, "offset": 0}), "'scale' is -1.0, expected"),
    "scale-nan": (quant(0, scale_offset={"scale": "nan", "offset": 0}), "'scale' is nan, expected"),
    "scale-huge": (quant(0, scale_offset={"scale": 10**400, "offset": 0}), "too large for a float"),
    "offset-huge": (quant(0, scale_offset={"scale": 1.0, "offset": 2**40}), "'offset' is 1099511627776"),
    "bitwidth-huge": (quant(0, scale_offset={"scale": 1.0, "offset": 0, "bitwidth": 99}), "'bitwidth' is 99"),
    "axis-out-of-range": (
        quant(1, axis_scale_offset={"axis": 4, "scale_offsets": []}),
        "'axis' is 4, expected 0 to 3",
    ),
    "axis-count": (
        quant(1, axis_scale_offset={"axis": 3, "scale_offsets": []}),
        "0 scales along axis 3, the tensor has 3",
    ),
    "node-a-list": (lambda d: d["graph"]["nodes"].update(conv=[]), "node 'conv' is a list"),
    "op-type-missing": (without("graph", "nodes", "conv", "type"), "no 'type'"),
    "op-type-empty": (conv(type=""), "'type' is ''"),
    "inputs-a-text": (conv(input_names="x"), "'input_names' is 'x', expected a list"),
    "input-unknown": (conv(input_names=["zz"]), "input 'zz' is not among the tensors"),
    "input-a-number": (conv(input_names=[1]), "expected a name"),
    "input-cyclic": (conv(input_names=["_575"]), "input '_575' is read before a node has written it"),
    "output-unknown": (conv(output_names=["zz"]), "output 'zz' is not among the tensors"),
    "output-static": (conv(output_names=["w"]), "output 'w' has tensor type 4, which no node may write"),
    "output-twice": (conv(output_names=["conv_out", "conv_out"]), "written by two nodes"),
    "output-never-written": (lambda d: d["graph"]["nodes"].pop("relu"), "no node writes this graph output"),
    "scalar-two-values": (conv(scalar_params={"g": {"306": 1, "50": 1}}), "'g' has 2 values, expected 1"),
    "scalar-code-a-word": (conv(scalar_params={"g": {"uint": 1}}), "data type 'uint', expected a number"),
    "scalar-code-unknown": (conv(scalar_params={"g": {"1": 1}}), "is not one that QNN defines"),
    "scalar-out-of-range": (conv(scalar_params={"g": {"306": -1}}), "'g' is -1, expected 0 to 4294967295"),
    "scalar-fixed-point-text": (conv(scalar_params={"g": {"562": "one"}}), "'g' is 'one', expected a number"),
    "param-not-static": (stride(type=3), "has tensor type 3, expected 4"),
    "param-without-data": (
        lambda d: (
            stride()(d) or d["graph"]["nodes"]["conv"]["tensor_params"]["stride"]["conv_stride"].pop("data")
        ),
        "has no 'data'",
    ),
    "param-short": (stride(data=[1]), r"'data' has 1 values, dims \[2\] need 2"),
    "param-too-deep": (stride(data=[[1], [[[1]]]]), "is a list, expected a whole number"),
    "param-a-word": (stride(data=["a", 1]), "expected a whole number"),
    "param-out-of-range": (stride(data=[1, 2**32]), "expected 0 to 4294967295"),
    "absent-inputs": (lambda d: d["edgewright"].update(absent_inputs=[5]), "is '5', expected a name"),
    "source-names": (lambda d: d["edgewright"].update(source_names={"x": 5}), "no text for 'x'"),
    "graph-name": (lambda d: d["edgewright"].update(graph_name="a\nb"), "printable"),
    "tensor-name-surrogate": (lambda d: d["graph"]["tensors"].update({"\ud800": {}}), "printable"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_damaged_field_is_one_message_with_file_and_values(case, tmp_path):
    edit, message = HOSTILE[case]
    with pytest.raises(EdgewrightError, match=message) as caught:
        reader.read(edited(tmp_path, edit))
    assert caught.value.code in {"bad-input", "limit-exceeded", "unsupported-feature"}
    assert caught.value.exit_code in {3, 4}


def test_an_error_names_file_and_tensor(tmp_path):
    path = edited(tmp_path, x(data_type=1))
    with pytest.raises(BadInput) as caught:
        reader.read(path)
    assert f"where: {path}, tensor 'x'" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00\x01", "not JSON"),
        (b"[1]", "the file is a list, expected an object"),
        (b'{"graph": {}, "graph": {}}', "key 'graph' appears twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_what_is_not_such_a_file_is_refused(content, message, tmp_path):
    path = tmp_path / "m_net.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        reader.read(path)


def test_deep_nesting_is_refused_without_exhausting_the_stack(tmp_path):
    path = tmp_path / "m_net.json"
    path.write_bytes(b'{"a": ' + b"[" * 200_000)
    with pytest.raises(LimitExceeded, match="nested too deeply"):
        reader.read(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_random_bytes_changed_is_read_or_refused(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = save(tmp_path, quantized_graph())
    raw = bytearray(path.read_bytes())
    for position in rng.integers(0, len(raw), 5):
        raw[position] = rng.integers(32, 127)
    path.write_bytes(raw)
    # Any other exception fails the test.
    with suppress(EdgewrightError):
        reader.read(path)


VALUES = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**64,
    10**30,
    0.5,
    1e308,
    "",
    "x",
    "562",
    "nan",
    [],
    [[]],
    [0],
    {},
    {"562": 1},
]


def _replace_something(document, rng):
    """Puts a value of another kind into a random place, or takes the place away."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner) or rng.random() < 0.1:
            break
        place = inner
    if rng.random() < 0.2:
        del place[key]
    else:
        place[key] = VALUES[rng.integers(len(VALUES))]


@pytest.mark.parametrize("make", [conv_graph, quantized_graph])
def test_any_value_in_any_place_is_read_or_refused(make, tmp_path):
    rng = np.random.default_rng(0)
    path = save(tmp_path, make())
    original = path.read_bytes()
    for _ in range(400):
        document = json.loads(original)
        _replace_something(document, rng)
        path.write_text(json.dumps(document))
        with suppress(EdgewrightError):
            reader.read(path)


def test_a_name_that_is_no_identifier_is_never_written():
    graph = conv_graph()
    graph.nodes[0] = replace(graph.nodes[0], name="../conv")
    with pytest.raises(BadInput, match=r"node name '\.\./conv' is not a C identifier"):
        list(writer.to_chunks(graph, ABOUT))


def test_a_scalar_of_a_type_that_qnn_lacks_is_refused():
    graph = conv_graph()
    graph.nodes[0].scalar_params["group"] = QnnScalar(DType.INT_4, 1)
    with pytest.raises(UnsupportedFeature, match="INT_4"):
        list(writer.to_chunks(graph, ABOUT))
