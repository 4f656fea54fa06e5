"""The files of Google's Model Explorer: its graph collection, and node data by the numbers of nodes."""

import json

import numpy as np

import edgewright as ew
from tests.unit.view.sample_models import save_chain, save_convolution


def read_files(folder):
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.iterdir())}


def test_a_graph_has_nodes_edges_and_tensors_by_number(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    data = np.random.default_rng(0).standard_normal((4, 1, 3, 8, 8)).astype(np.float32)
    ew.quantize(tmp_path / "small.onnx", data).save(tmp_path / "small.dlc")
    written = ew.view(tmp_path / "small.dlc", export=tmp_path / "model-explorer")
    files = read_files(written)
    (graph,) = files["0_small.dlc.json"]["graphs"]
    by_label = {node["label"]: node for node in graph["nodes"]}
    edge = by_label["Relu"]["incomingEdges"][0]
    assert edge["sourceNodeId"] == by_label["Conv2d"]["id"]
    attrs = {item["key"]: item["value"] for item in by_label["Conv2d"]["outputsMetadata"][0]["attrs"]}
    assert attrs["tensor_shape"] == "ufixed_point_8[1,8,8,8]"
    assert attrs["bits"] == "8"
    macs = files["0_small.dlc.macs.node_data.json"][graph["id"]]
    assert macs["results"][by_label["Conv2d"]["id"]] == {"value": 8 * 8 * 8 * 27}
    assert [item["stop"] for item in macs["gradient"]] == [0, 1]


def test_groups_become_namespaces(tmp_path):
    save_chain(tmp_path / "net.onnx", [f"stage/layer_{n // 5}/op_{n}" for n in range(10)])
    files = read_files(ew.view(tmp_path / "net.onnx", export=tmp_path / "model-explorer"))
    spaces = {node["namespace"] for node in files["0_net.onnx.json"]["graphs"][0]["nodes"]}
    assert spaces == {"", "stage/layer_0", "stage/layer_1"}
