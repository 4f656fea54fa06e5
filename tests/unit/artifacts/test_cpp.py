"""model.cpp: the text is stable, and no text of a model or a user can become code."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edgewright.artifacts.cpp import writer
from edgewright.artifacts.cpp.literals import write_comment, write_real, write_text
from edgewright.artifacts.description import Description
from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnScalar
from tests.unit.artifacts.graphs import conv_graph, quantized_graph

ABOUT = Description("m.cpp", "m.bin", "qnn-onnx-converter; act_bitwidth=8", "(c) me")


def source(graph, about=ABOUT):
    return b"".join(writer.to_chunks(graph, about)).decode()


def test_a_small_convolution_is_written_as_recorded(golden):
    golden("cpp/tiny_conv.cpp", source(conv_graph()))


def test_all_encodings_are_written_as_recorded(golden):
    golden("cpp/quantized.cpp", source(quantized_graph()))


def test_the_prefix_names_both_exported_functions():
    written = source(conv_graph(), replace(ABOUT, prefix="My_net"))
    assert re.findall(r"ModelError_t (\w+Graphs\w*)\(", written) == [
        "My_net_composeGraphs",
        "My_net_freeGraphsInfo",
    ]


@pytest.mark.parametrize("prefix", ["", "1a", "a b", "a(){}; int b", "é", "a\n"])
def test_a_prefix_that_is_no_identifier_is_a_usage_error(prefix):
    with pytest.raises(UsageError, match="is not a C identifier"):
        replace(ABOUT, prefix=prefix)


def test_a_package_name_stands_in_for_every_node():
    written = source(conv_graph(), replace(ABOUT, package='my"pack'))
    assert "qti.aisw" not in written
    assert written.count('"my\\042pack"') == 2


@pytest.mark.parametrize("name", ["", "a b", "a;b", "1a", 'a"', "é", "a\n", "x" * 97])
def test_a_name_that_is_no_identifier_never_reaches_the_source(name):
    graph = conv_graph()
    graph.nodes[0] = replace(graph.nodes[0], name=name)
    with pytest.raises(BadInput, match="is not a C identifier"):
        source(graph)


def test_two_nodes_of_one_name_are_refused():
    graph = conv_graph()
    graph.nodes[1] = replace(graph.nodes[1], name="conv")
    with pytest.raises(BadInput, match="2 nodes are named 'conv'"):
        source(graph)


def test_a_parameter_that_is_named_like_a_tensor_is_refused():
    graph = conv_graph()
    graph.tensors["conv_stride"] = replace(graph.tensors["x"], name="conv_stride")
    with pytest.raises(BadInput, match="2 tensors are named 'conv_stride'"):
        source(graph)


@pytest.mark.parametrize(
    "hostile",
    [
        "*/ int evil; /*",
        "a *\\\n/ int evil;",
        "ends with \\",
        "\u2028*/",
        "*/*/",
        "/\\\n*",
        "**//",
        "\x00\x1b[31m",
    ],
)
def test_no_text_closes_its_comment(hostile):
    written = write_comment(hostile)
    # What a compiler does first: a backslash at the end of a line glues the next one to it.
    glued = re.sub(r"\\[ \t]*\n", "", written)
    assert glued.index("*/") == len(glued) - 3
    assert "/*" not in glued[2:]
    assert all(c.isprintable() or c == "\n" for c in written)


@pytest.mark.parametrize("value", ['"', "\\", "??/", "a\nb", "é", "\0", '"); evil("', "\x7f", "1\x001"])
def test_a_string_literal_holds_any_text(value):
    literal = write_text(value)
    assert re.fullmatch(r'"(?:[^"\\?\x00-\x1f\x7f-\U0010ffff]|\\[0-7]{3})*"', literal)
    raw = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), literal[1:-1])
    assert raw.encode("latin-1").decode() == value


@pytest.mark.parametrize("value", [0.1, 1.0, 1e-45, 3.4028235e38, 1e-5, -0.0, 169 / 127, 16777216.0])
def test_a_float_literal_is_the_float(value):
    literal = write_real(value)
    assert literal.endswith("f")
    assert re.search(r"[.e]", literal)
    assert np.float32(literal[:-1]) == np.float32(value)


def test_numbers_that_have_no_literal_use_the_names_of_cmath():
    assert [write_real(v) for v in (np.inf, -np.inf, np.nan, 1e300)] == [
        "INFINITY",
        "-INFINITY",
        "NAN",
        "INFINITY",
    ]


def test_a_scalar_type_without_a_field_in_the_struct_is_refused():
    graph = conv_graph()
    graph.nodes[0].scalar_params["group"] = QnnScalar(DType.FLOAT_16, 1.0)
    with pytest.raises(UnsupportedFeature, match="a QNN scalar cannot be FLOAT_16"):
        source(graph)
