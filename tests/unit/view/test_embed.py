"""A drawing inside another page."""

import base64
import gzip
import json
import re
from dataclasses import replace

import edgewright as ew
from edgewright.analyse.records import Layer
from edgewright.view.embed import write_embedded_graph
from edgewright.view.layer_overlays import view_measured
from edgewright.view.records import ViewGraph, ViewModel, ViewNode, ViewTensor
from tests.unit.view.sample_models import HOSTILE, save_convolution


def unpack(markup):
    packed = re.search(r'<script type="text/plain">([^<]*)</script>', markup)[1]
    page = gzip.decompress(base64.b64decode(packed)).decode()
    return json.loads(re.search(r'id="embedded">(.*?)</script>', page)[1])["documents"][0]


def make_model(name):
    tensors = {key: ViewTensor(key, "float32", (1, 4)) for key in ("x", "y")}
    graph = ViewGraph(name, tensors, (ViewNode(name, "Relu", ("x",), ("y",)),), ("x",), ("y",))
    return ViewModel(name, "test", (graph,))


def test_equal_models_are_embedded_in_equal_bytes_and_no_name_is_markup():
    for name in HOSTILE:
        markup = write_embedded_graph(make_model(name), label=name)
        assert markup == write_embedded_graph(make_model(name), label=name)
        assert re.findall(r"<(/?\w+)", markup) == ["div", "/div", "script", "/script", "script", "/script"]


def test_layers_colour_the_nodes_that_make_their_tensors(tmp_path):
    save_convolution(tmp_path / "small.onnx", ("block/conv:0", "block/relu:0"))
    graph = ew.convert(tmp_path / "small.onnx").fixed_graph()
    value = graph.nodes[-1].outputs[0]
    layer = Layer("n", "Relu", value, value, "ufixed_point_8", 8, None, 0, 31.5, None, own_db=float("inf"))
    document = unpack(
        write_embedded_graph(view_measured(graph, [layer, replace(layer, tensor="?", source="?")], "m"))
    )
    (drawn,) = document["graphs"]
    (overlay,) = [each for each in drawn["overlays"] if each["unit"] == "dB"]
    assert (overlay["key"], drawn["overlayAtFirst"]) == ("sqnr", 0)
    coloured = [number for number, score in enumerate(overlay["values"]) if score is not None]
    assert [drawn["nodes"][number]["outputs"] for number in coloured] == [
        [number for number, tensor in enumerate(drawn["tensors"]) if tensor["name"] == value]
    ]
