import importlib.util
import sys
import time

import numpy as np
import pytest

import edgewright as ew
from edgewright.analyse import layers as measuring
from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.layers import measure_layers
from edgewright.backends.htp import HtpFastSimBackend
from edgewright.ir.text import parse
from edgewright.model.model import Model
from tests.browser.sample_build import OUTPUT, digits, mnist

IS_NATIVE = sys.platform == "linux" and importlib.util.find_spec("onnxruntime_qnn") is not None
HELD = digits()[0][1::5][:8]


def measured(precision="w8a8", **how):
    source, quantized = mnist(precision)
    return measure_layers(source.fixed_graph(), quantized.fixed_graph(), HELD, **how)


def by_source(layers):
    return {layer.source: layer for layer in layers}


def test_layers_come_in_order_with_the_names_of_the_source_and_activations_with_their_ops():
    results = [(layer.op, layer.source, layer.bits, layer.weight_bits, layer.macs) for layer in measured()]
    assert results == [
        ("Conv2d + Relu", "ReLU32_Output_0", 8, 8, 156_800),
        ("PoolMax2d", "Pooling66_Output_0", 8, None, 0),
        ("Conv2d + Relu", "ReLU114_Output_0", 8, 8, 627_200),
        ("PoolMax2d", "Pooling160_Output_0", 8, None, 0),
        ("FullyConnected", OUTPUT, 8, 8, 2_560),
    ]


def test_the_last_layer_is_as_far_from_the_float_model_as_its_output_on_an_average_sample():
    source, quantized = mnist()
    each = [ew.compare(source, quantized, [sample], backend="htp-sim")[0].sqnr_db for sample in HELD]
    assert measured()[-1].sim_db == pytest.approx(np.mean(each), abs=0.01)


def test_one_sample_of_large_values_does_not_decide_alone():
    source, quantized = (model.fixed_graph() for model in mnist())
    loud = {"Input3": HELD[0]["Input3"] * 20}
    quiet, both = (measure_layers(source, quantized, few)[0].sim_db for few in (HELD[:7], [*HELD[:7], loud]))
    alone = measure_layers(source, quantized, [loud])[0].sim_db
    assert alone < 10 < quiet
    assert both == pytest.approx((7 * quiet + alone) / 8, abs=0.01)


def test_weights_of_four_bits_are_to_blame_for_what_a_layer_adds():
    wide, narrow = (by_source(measured(precision))["ReLU114_Output_0"] for precision in ("w8a8", "w4a8"))
    assert narrow.own_db < wide.own_db - 10
    assert narrow.weight_db - narrow.own_db < 1
    assert wide.weight_db > wide.own_db + 1


def test_an_op_that_passes_its_encoding_on_adds_nothing_of_its_own():
    assert by_source(measured())["Pooling66_Output_0"].own_db is None


def test_half_precision_is_measured_too():
    layers = measured("fp16")
    assert {layer.dtype for layer in layers} == {"float16"}
    assert min(layer.sim_db for layer in layers) > 50


def test_all_backends_are_given_the_same_samples_from_all_that_are_given():
    layers = measured(emulator=HtpFastSimBackend())
    gaps = [abs(layer.sim_db - layer.emulator_db) for layer in layers]
    assert max(gaps) < 1.5
    source, quantized = (model.fixed_graph() for model in mnist())
    chosen = [HELD[0], HELD[2], HELD[4]]
    assert [layer.sim_db for layer in layers] == [x.sim_db for x in measure_layers(source, quantized, chosen)]


def test_an_emulator_without_time_leaves_its_figures_out():
    layers = measured(emulator=HtpFastSimBackend(), seconds=-1)
    assert {layer.emulator_db for layer in layers} == {None}
    assert all(layer.sim_db is not None for layer in layers)


def test_layers_of_a_float_model_are_simulated_in_half_precision():
    source = mnist()[0].fixed_graph()
    layers = measure_layers(source, source, HELD)
    assert len(layers) == 5
    assert all(60 < layer.sim_db < 90 for layer in layers)


def test_values_held_in_small_batches_give_the_same_figures(monkeypatch):
    whole = measured()
    monkeypatch.setattr(measuring, "MOST_ELEMENTS", 1)
    assert measured() == whole


def test_scales_that_channels_were_given_are_no_noise():
    source = mnist()[0].fixed_graph()
    scaled = source.copy()
    first, second = (node for node in scaled.nodes if node.op.qnn_name() == "Conv2d")
    factors = np.array([0.5, 2, 1, 1.5, 0.7, 2, 1, 1.2], np.float32)
    for name in first.inputs[1:]:
        scaled.constants[name] = scaled.constants[name] * factors
    scaled.constants[second.inputs[1]] = scaled.constants[second.inputs[1]] / factors[:, None]
    model = ew.quantize(ew.Model.of(scaled), digits()[0][::25], act_bw=16, act_quantizer="tf")
    quantized = model.fixed_graph()
    layers = measure_layers(source, quantized, HELD)
    gains = find_channel_gains(source, quantized)
    np.testing.assert_allclose(1 / gains.known[layers[0].tensor], factors, rtol=0.01)
    assert gains.unknown == set()
    assert min(layer.sim_db for layer in layers) > 35
    assert min(layer.own_db for layer in layers if layer.own_db is not None) > 35


def test_a_model_as_it_is_has_no_scales_to_undo():
    source, quantized = mnist()
    gains = find_channel_gains(source.fixed_graph(), quantized.fixed_graph())
    assert (gains.known, gains.unknown) == ({}, set())


@pytest.mark.skipif(not IS_NATIVE, reason="the genuine emulator is not installed")
def test_the_genuine_emulator_gives_the_figures_of_the_simulation():
    from edgewright.backends.qnn.backend import HtpNativeBackend

    layers = measured(emulator=HtpNativeBackend())
    assert [layer.emulator_db for layer in layers] == [layer.sim_db for layer in layers]


def test_an_emulator_that_is_slow_is_compared_on_fewer_samples():
    class Slow(HtpFastSimBackend):
        """Takes its time for each sample."""

        def prepare(self, graph, options):
            session = super().prepare(graph, options)
            run = session.run
            session.run = lambda inputs: time.sleep(0.6) or run(inputs)
            return session

    began = time.monotonic()
    slow = measured(emulator=Slow(), seconds=0.5)
    assert time.monotonic() - began < 5
    source, quantized = (model.fixed_graph() for model in mnist())
    assert [layer.sim_db for layer in slow] == [x.sim_db for x in measure_layers(source, quantized, HELD[:1])]
    assert all(layer.emulator_db is not None for layer in slow)


def test_names_that_count_up_as_exporters_write_them_are_measured():
    text = "graph g {\n  input x: float_32[1,4]\n"
    # A name and numbers: fresh names would be just these.
    for number, (result, read) in enumerate((("d", "x"), ("d_1", "d"), ("d_2", "d_1"), ("d_3", "d_2"))):
        numbers = ",".join(f"{0.1 * ((place + number) % 5) - 0.2:.1f}" for place in range(16))
        text += f"  const w{number}: float_32[4,4] = [{numbers}]\n"
        text += f"  {result} = FullyConnected({read}, w{number}, _)\n"
    model = Model.of(parse(text + "  output d_3\n}\n"))
    samples = [{"x": np.random.default_rng(seed).normal(size=(1, 4)).astype(np.float32)} for seed in range(4)]
    quantized = ew.quantize(model, samples).fixed_graph()
    results = measure_layers(model.fixed_graph(), quantized, samples)
    assert [layer.tensor for layer in results] == ["d", "d_1", "d_2", "d_3"]
    assert all(layer.own_db > 20 for layer in results)
