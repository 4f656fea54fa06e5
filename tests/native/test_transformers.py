"""Transformers on the genuine libraries: mixed widths and masks give what the simulation says."""

import numpy as np
import pytest

from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, samples
from tests.unit.quantize.test_masks import FORMS, Attention, make_feeds
from tests.unit.quantize.test_wide_values import SEARCHED, make_encoder, quantize_encoder

pytest.importorskip("onnxruntime_qnn")


def measure_db(graph: Graph, quantized: Graph, feeds: list[dict[str, np.ndarray]], backend: str) -> float:
    model, session = Model.of(quantized), Engine().prepare(graph, graph.outputs)
    signal = noise = 0.0
    for feed in feeds:
        expected, results = session.run(feed), model.run(feed, backend=backend)
        for name in graph.outputs:
            signal += float(np.square(expected[name], dtype=np.float64).sum())
            noise += float(np.square(expected[name].astype(np.float64) - results[name]).sum())
    return 10 * np.log10(signal / max(noise, 1e-30))


def test_wide_values_gain_on_the_libraries_what_they_gain_in_the_simulation() -> None:
    graph, feeds = make_encoder(), samples(make_encoder(), 3, seed=9)
    quantized = quantize_encoder(SEARCHED).graph
    simulated, native = (measure_db(graph, quantized, feeds, name) for name in ("htp-sim", "htp-native"))
    assert native > 38
    assert native == pytest.approx(simulated, abs=1.0)


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_of_any_form_holds_on_the_libraries(form: str) -> None:
    net = Attention()
    graph = net.done(net.dense_rows(net.layer(net.x, FORMS[form]), 8))
    feeds = make_feeds(graph)
    quantized = quantize_graph(graph, QuantizationRequest(), feeds, Engine()).graph
    assert measure_db(graph, quantized, feeds[:3], "htp-native") > 25
