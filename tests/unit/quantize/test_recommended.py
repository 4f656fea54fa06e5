"""Which algorithms suit which network."""

from edgewright.ops.activation import Relu
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import LayerNorm
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.recommended import recommend_algorithms
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net, samples


def _convolutions(*, has_depthwise: bool):
    net = Net()
    x = net.unary(Relu(), net.conv(net.x, 8))
    return net.done(net.conv(net.depthwise(x) if has_depthwise else x, 4))


def _transformer():
    net = Net(1, 6, 8)
    x = net.emit(LayerNorm(axes=(2,)), net.x)
    scores = net.unary(Softmax(axis=2), net.emit(MatMul(transpose_in1=True), net.dense_rows(x, 8), x))
    return net.done(net.dense_rows(net.emit(MatMul(), scores, net.dense_rows(x, 8)), 8))


def test_depthwise_convolutions_with_one_encoding_a_weight_are_equalized():
    graph = _convolutions(has_depthwise=True)
    assert "cle" in recommend_algorithms(graph, QuantizationRequest(per_channel=False)).algorithms
    assert "cle" not in recommend_algorithms(graph, QuantizationRequest()).algorithms
    assert (
        "cle"
        not in recommend_algorithms(_convolutions(has_depthwise=False), QuantizationRequest()).algorithms
    )


def test_transformers_in_8_bits_are_balanced():
    assert recommend_algorithms(_transformer(), QuantizationRequest()).algorithms == ("smooth", "adaround")
    assert recommend_algorithms(_transformer(), QuantizationRequest(act_bw=16)).algorithms == ("adaround",)
    assert recommend_algorithms(_transformer(), QuantizationRequest(weight_bw=16)).algorithms == (
        *("smooth", "bc"),
    )


def test_weights_of_4_bits_get_ranges_and_rounding_by_layer():
    found = recommend_algorithms(_convolutions(has_depthwise=False), QuantizationRequest(weight_bw=4))
    assert found.algorithms == ("seq_mse", "adaround")


def test_every_algorithm_has_a_reason_that_begins_with_its_name():
    for graph in (_convolutions(has_depthwise=True), _transformer()):
        for request in (
            QuantizationRequest(),
            QuantizationRequest(weight_bw=4),
            QuantizationRequest(per_channel=False),
        ):
            found = recommend_algorithms(graph, request)
            assert [reason.split(":")[0] for reason in found.reasons] == list(found.algorithms)


def test_a_graph_without_weights_needs_nothing():
    net = Net()
    assert recommend_algorithms(net.done(net.unary(Relu(), net.x)), QuantizationRequest()).algorithms == ()


def test_auto_stands_for_what_is_recommended_and_says_why():
    graph = _convolutions(has_depthwise=False)
    request = QuantizationRequest(weight_bw=4, algorithms=("auto",))
    notes = quantize_graph(graph, request, samples(graph, 12), Engine()).report.notes
    assert [note.split(":")[0] for note in notes[:2]] == ["seq_mse", "adaround"]
    assert any(note.startswith("algorithms: ") for note in notes)
