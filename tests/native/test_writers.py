"""The genuine IR and Saver libraries write what our own readers and files say too."""

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.backend import HtpNativeBackend, live_records
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.backends.qnn.writers import genuine_dlc, record_calls
from edgewright.model.saving import load_graph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.native.nets import conv_net, values
from tests.unit.quantize.nets import Engine, Net, samples


def test_a_dlc_of_the_genuine_writer_is_read_here_and_means_the_same(tmp_path):
    graph = conv_net()
    path = tmp_path / "genuine.dlc"
    path.write_bytes(genuine_dlc(live_records(graph, graph.outputs)))
    read = load_graph(path)
    assert [type(node.op).__name__ for node in read.nodes] == ["Conv2d", "Relu"]
    np.testing.assert_array_equal(read.constants["w"], graph.constants["w"])
    sessions = [HtpNativeBackend().prepare(item, RunOptions()) for item in (graph, read)]
    first, second = (session.run({"x": values()})["y"] for session in sessions)
    np.testing.assert_array_equal(first, second)
    with QnnRuntime() as runtime:
        runtime.open_dlc(path)


def test_blocks_of_weights_are_read_from_a_genuine_dlc_as_they_were(tmp_path):
    net = Net(1, 6, 6, 8)
    graph = net.done(net.conv(net.x, 16, size=1))
    request = QuantizationRequest(weight_bw=4, act_bw=16, block_size=4)
    quantized = quantize_graph(graph, request, samples(graph), Engine()).graph
    path = tmp_path / "genuine.dlc"
    path.write_bytes(genuine_dlc(live_records(quantized, quantized.outputs)))
    read = load_graph(path)
    (weights,) = [
        name for name, kind in quantized.types.items() if kind.encoding and kind.encoding.block_size
    ]
    assert read.types[weights].encoding == quantized.types[weights].encoding
    np.testing.assert_array_equal(read.constants[weights], quantized.constants[weights])


def test_the_genuine_saver_writes_the_calls_and_the_weights(tmp_path):
    graph = conv_net()
    files = record_calls(live_records(graph, graph.outputs), [{"x": values()}], tmp_path / "saved")
    assert [file.name for file in files] == ["params.bin", "saver_output.c"]
    program, data = files[1].read_text(), files[0].read_bytes()
    assert program.count("graphAddNode") >= 2
    assert "graphExecute" in program
    assert graph.constants["w"].tobytes() in data
    assert values().tobytes() in data
