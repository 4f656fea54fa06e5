"""What a user is told about a quantized model."""

import pytest

import edgewright as ew
from tests.native.recurrent_cases import Recurrent


@pytest.mark.parametrize("act_bw", [8, 16])
def test_a_network_that_has_only_recurrent_layers_is_in_half_precision(act_bw):
    case = Recurrent("layer", "LSTM")
    model = ew.convert(case.model(), outputs=["y0"])
    quantized = ew.quantize(model, [case.feed()], act_bw=act_bw, act_quantizer="tf")
    assert quantized.report.notes == ["nothing of it can be in fixed point: it is in half precision"]
    assert not any("nothing" in note for note in ew.quantize(model, float_bw=16).report.notes)
    expected, found = model.run(case.feed()), quantized.run(case.feed(), backend="htp-sim")
    assert abs(found["y0"] - expected["y0"]).max() < 0.002
