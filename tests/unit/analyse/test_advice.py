import json

import numpy as np
import pytest

import edgewright as ew
from edgewright.analyse.advice import list_findings
from edgewright.analyse.layers import measure_layers
from edgewright.analyse.tensors import view_worst_tensors
from tests.browser.sample_build import digits, mnist

CALIBRATION, HELD = digits()[0][::5], digits()[0][1::5][:8]
CUT = "ReLU32_Output_0"
# A range that cuts most of what the first convolution makes.
NARROW = {"activation_encodings": {CUT: [{"bitwidth": 8, "min": 0.0, "max": 60.0}]}, "param_encodings": {}}


def analysed(**how):
    source = mnist()[0]
    quantized = ew.quantize(source, CALIBRATION, act_quantizer="tf", **how)
    before, after = source.fixed_graph(), quantized.fixed_graph()
    layers = measure_layers(before, after, HELD)
    tensors = view_worst_tensors(before, after, HELD, layers)
    return layers, tensors, list_findings(before, after, layers, tensors, quantized.report)


def overrides_in(findings):
    return [(finding, json.loads(finding.do)) for finding in findings if finding.do.startswith("{")]


def test_the_cut_share_of_a_tensor_is_what_lies_beyond_its_range():
    source = mnist()[0].fixed_graph()
    _, tensors, _ = analysed(overrides=NARROW)
    view = next(view for view in tensors if view.source == CUT)
    values = np.concatenate([_values(source, view.tensor, sample) for sample in HELD])
    assert view.clipped == pytest.approx(np.mean(values > 60.0 + view.scale / 2), abs=1e-9)
    assert (view.low, view.high) == (0.0, pytest.approx(60.0))
    assert view.edges[-1] == pytest.approx(values.max(), rel=1e-5)
    assert sum(view.counts) == values.size


def test_a_cut_tensor_is_the_first_finding_with_an_override_that_holds_all_its_values():
    layers, _, findings = analysed(overrides=NARROW)
    (finding, override), *_ = [pair for pair in overrides_in(findings) if pair[0].where == CUT]
    assert "% of its values of 0 to" in finding.what
    assert "are cut" in finding.what
    after = {layer.source: layer for layer in analysed(overrides=override)[0]}
    before = {layer.source: layer for layer in layers}
    assert after[CUT].bits == 16
    assert after[CUT].own_db > before[CUT].own_db + 10
    assert after["Plus214_Output_0"].sim_db > before["Plus214_Output_0"].sim_db + 5


def test_each_override_for_weak_weights_does_what_it_says():
    layers, _, findings = analysed(weight_bw=4)
    before = {layer.node: layer for layer in layers}
    named = [pair for pair in overrides_in(findings) if pair[0].kind == "weights"]
    assert len(named) == 3
    for finding, override in named:
        assert "have 4 bits" in finding.what
        after = [layer for layer in analysed(weight_bw=4, overrides=override)[0] if layer.weight_bits == 8]
        assert len(after) == 1
        assert after[0].own_db > before[after[0].node].own_db + 10


def test_one_override_widens_all_that_is_weak():
    layers, _, findings = analysed(weight_bw=4)
    (together,) = [override for finding, override in overrides_in(findings) if finding.kind == "override"]
    after = analysed(weight_bw=4, overrides=together)[0]
    assert after[-1].sim_db > layers[-1].sim_db + 10


def test_what_is_good_enough_is_left_alone():
    assert not overrides_in(analysed(act_bw=16)[2])


def test_applied_rules_and_what_was_not_compared_are_notes():
    notes = [finding for finding in analysed()[2] if finding.grade == "note"]
    assert {finding.kind for finding in notes} == {"rule", "layers"}
    assert not any(finding.do for finding in notes)


def test_the_worst_tensors_come_first_and_no_more_than_asked_for():
    source, quantized = mnist()
    before, after = source.fixed_graph(), quantized.fixed_graph()
    layers = measure_layers(before, after, HELD)
    views = view_worst_tensors(before, after, HELD, layers, count=2)
    assert len(views) == 2
    assert views[0].own_db <= views[1].own_db


def _values(graph, name, sample):
    asked = graph.copy()
    asked.outputs = [name]
    return ew.Model.of(asked).run(sample)[name].reshape(-1)
