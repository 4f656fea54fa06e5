"""What a user is told about a quantized model."""

import edgewright as ew
from tests.native.recurrent_cases import Recurrent


def test_a_network_that_has_only_recurrent_layers_is_told_to_use_half_precision():
    case = Recurrent("layer", "LSTM")
    model = ew.convert(case.model(), outputs=["y0"])
    notes = ew.quantize(model, [case.feed()], act_quantizer="tf").report.notes
    assert "nothing of it can be in fixed point: for the HTP quantize it with float_bw=16" in notes
    assert not any("nothing" in note for note in ew.quantize(model, float_bw=16).report.notes)
