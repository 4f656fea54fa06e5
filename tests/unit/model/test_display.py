"""What models and results show of themselves, and what a run takes."""

import html
from html.parser import HTMLParser

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.core.errors import UsageError
from tests.cli.models import DIGITS_MODEL, FLOAT

X = np.random.default_rng(0).random((1, 1, 28, 28), np.float32)


@pytest.fixture(scope="module")
def model():
    return ew.convert(DIGITS_MODEL)


@pytest.fixture(scope="module")
def quantized(model):
    return ew.quantize(model, [{"Input3": X}], act_quantizer="tf")


def _sums(count: int) -> ew.Model:
    """A model of many inputs, with a name that HTML must not take for its own."""
    names = [f"x{number}" for number in range(count - 1)] + ["<script>alert(1)</script>"]
    io = [helper.make_tensor_value_info(name, FLOAT, [2]) for name in names]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"])], "g", io, [helper.make_tensor_value_info("y", FLOAT, [2])]
    )
    return ew.convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def test_a_run_takes_an_array_a_list_of_them_or_names(model):
    expected = model.run({"Input3": X})["Plus214_Output_0"]
    for inputs in (X, [X], (X,), X.tolist()):
        np.testing.assert_array_equal(model.run(inputs)["Plus214_Output_0"], expected)


def test_inputs_in_their_order(model):
    total = _sums(3)
    parts = [np.full(2, number, np.float32) for number in (1, 2, 4)]
    assert total.run(parts)["y"].tolist() == [7, 7]
    with pytest.raises(UsageError, match="1 array is given for 3 inputs: 'x0', 'x1'"):
        total.run(parts[0])
    with pytest.raises(UsageError, match="2 arrays are given for 3 inputs"):
        total.run(parts[:2])


def test_a_compiled_model_takes_an_array_and_shows_its_graphs(quantized, tmp_path):
    compiled = ew.compile(quantized, tmp_path / "m.bin", backend="htp-sim")
    named = compiled.run({"Input3": X})["Plus214_Output_0"]
    np.testing.assert_array_equal(compiled.run(X)["Plus214_Output_0"], named)
    assert "for htp-sim" in repr(compiled).splitlines()[0]
    assert "Input3" in repr(compiled)


def test_what_is_shown_is_a_few_lines(model, quantized):
    lines = repr(quantized).splitlines()
    assert lines[0].startswith("QuantizedModel 'CNTKGraph' of 9 nodes, 6.1")
    assert len(lines) == 4
    comparison = ew.compare(model, quantized, [{"Input3": X}])
    assert isinstance(comparison, list)
    shown = [model, comparison, ew.profile(model, backends=["cpu"]), quantized.report, _sums(40)]
    assert all(1 <= len(repr(item).splitlines()) <= 14 for item in shown)
    assert "and 35 more" in repr(_sums(40))


def test_tab_completion_shows_public_names_only(model, quantized):
    for item in (model, quantized, ew.compare(model, quantized, [{"Input3": X}])):
        assert dir(item)
        assert not [name for name in dir(item) if name.startswith("_")]
    assert {"run", "save", "inputs", "report"} <= set(dir(quantized))


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_html_has_a_table_and_escapes_names(model, quantized):
    for item in (_sums(2), quantized, ew.compare(model, quantized, [{"Input3": X}])):
        page = _Tags()
        page.feed(item._repr_html_())
        assert "table" in page.tags
        assert "script" not in page.tags
    assert html.escape("<script>alert(1)</script>") in _sums(2)._repr_html_()


def test_the_version_is_the_one_that_is_installed():
    from importlib import metadata

    assert ew.__version__ == metadata.version("edgewright")
