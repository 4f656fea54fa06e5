"""Netron, an independent reader, opens the DLC files: with ops, shapes, attributes and weights."""

import importlib.util
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader as dlc_reader
from edgewright.artifacts.dlc import writer
from edgewright.artifacts.dlc.writer import DlcVersion
from edgewright.core.files import write_whole
from edgewright.model.saving import SaveOptions
from tests.cli.models import DIGITS_MODEL
from tests.unit.artifacts.graphs import conv_graph, quantized_graph

# Gives netron's own modules the file, as its user interface does, and prints what they made of it.
SCRIPT = """
import fs from 'fs';
const [folder, file] = process.argv.slice(2);
const load = (name) => import(`${folder}/${name}`);
const [base, zip, dlc] = await Promise.all(['base.js', 'zip.js', 'dlc.js'].map(load));
const stream = new base.BinaryStream(new Uint8Array(fs.readFileSync(file)));
const context = {
    stream,
    async peek(kind) { return kind === 'zip' ? zip.Archive.open(stream).entries : null; },
    set(type, value) { this.value = value; return type; },
    async require(name) { return load(`${name.replace('./', '')}.js`); },
    async metadata() { return { type: (name) => ({ name }), attribute: () => null }; },
    async fetch() { throw new Error('no other file'); }
};
const factory = new dlc.ModelFactory();
const type = await factory.match(context);
const model = await factory.open(context);
const value = (item) => ({
    name: item.name,
    type: item.type ? item.type.toString() : '',
    bytes: item.initializer && item.initializer.values ? item.initializer.values.length : 0
});
const nodes = model.modules[0].nodes.map((node) => ({
    name: node.name,
    type: node.type.name,
    inputs: node.inputs.flatMap((argument) => argument.value.map(value)),
    outputs: node.outputs.flatMap((argument) => argument.value.map(value)),
    attributes: node.attributes.map((attribute) => attribute.name)
}));
console.log(JSON.stringify({ type, source: model.source, version: model.version, nodes }));
"""


@pytest.fixture(scope="module")
def netron():
    """The folder with netron's modules: NETRON names it, or the package is installed."""
    found = importlib.util.find_spec("netron")
    folder = os.environ.get("NETRON") or (found and found.submodule_search_locations[0])
    if not folder or not Path(folder, "dlc.js").exists():
        pytest.skip("netron is not installed (pip install netron, or NETRON=<its folder>)")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    return Path(folder).resolve()


def opened(netron, folder, graphs, version):
    about = Description(command="qairt-converter a=b", model_version="7")
    write_whole(folder / "m.dlc", writer.to_chunks(graphs, about, version))
    script = folder / "open.mjs"
    script.write_text(SCRIPT)
    command = ["node", str(script), str(netron), str(folder / "m.dlc")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


def test_netron_shows_a_convolution_with_its_weights(netron, tmp_path):
    model = opened(netron, tmp_path, conv_graph(), DlcVersion.V4_0)
    conv, relu = model["nodes"]
    assert model["source"].startswith("qairt-converter v")
    assert model["version"] == "7"
    assert (conv["type"], relu["type"]) == ("Conv2d", "ElementWiseNeuron")
    assert conv["inputs"] == [
        {"name": "x", "type": "float32[1,4,4,3]", "bytes": 0},
        {"name": "w", "type": "float32[2,2,3,2]", "bytes": 96},
        {"name": "b", "type": "float32[2]", "bytes": 8},
    ]
    assert set(conv["attributes"]) == {"group", "stride", "pad_amount", "packageName"}


def test_netron_opens_version_4_1_too(netron, tmp_path):
    nodes = opened(netron, tmp_path, conv_graph(), DlcVersion.V4_1)["nodes"]
    assert [node["name"] for node in nodes] == ["conv", "relu"]


def test_netron_opens_what_the_tools_write(netron, tmp_path):
    samples = np.random.default_rng(0).random((4, 1, 1, 28, 28), np.float32)
    quantized = ew.quantize(DIGITS_MODEL, samples, act_quantizer="tf", weight_bw=4)
    for options in (SaveOptions(), SaveOptions(pack_4_bit_weights=True)):
        read = dlc_reader.read(quantized.save(tmp_path / "q.dlc", options).dlc)
        nodes = opened(netron, tmp_path, read.graphs, DlcVersion.V4_0)["nodes"]
        assert [node["type"] for node in nodes].count("Conv2d") == 2
        weights = next(node for node in nodes if node["type"] == "Conv2d")["inputs"][1]
        assert weights["type"].endswith("[5,5,1,8]")
        assert weights["bytes"] == (100 if options.pack_4_bit_weights else 200)


def test_netron_opens_quantized_graphs_and_several_of_them(netron, tmp_path):
    graphs = [replace(conv_graph(), name="first"), quantized_graph()]
    first, second = opened(netron, tmp_path, graphs, DlcVersion.V4_0)["nodes"]
    assert first["inputs"][1] == {"name": "w", "type": "qint8[3,2]", "bytes": 6}
    assert second["outputs"][0] == {"name": "y", "type": "quint8[1,2]", "bytes": 0}
