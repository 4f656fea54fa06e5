"""A sequence that comes in pieces gives what it gives in one."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import Problems, UnsupportedFeature
from tests.native.recurrent_cases import Recurrent

STEPS, PIECE = 6, 2


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_pieces_with_the_states_between_them_give_what_the_whole_sequence_gives(op):
    whole = Recurrent("whole", op, layers=2, batch=2, steps=STEPS)
    x = whole.feed()["x"]
    expected = ew.convert(whole.model()).run({"x": x})["y"]
    model = ew.convert(Recurrent("piece", op, layers=2, batch=2, steps=PIECE).model(), expose_states=True)
    carried = {state.input: state.first for state in model.states}
    found = []
    for start in range(0, STEPS, PIECE):
        outputs = model.run({"x": x[start : start + PIECE], **carried})
        carried = {state.input: outputs[state.output] for state in model.states}
        found.append(outputs["y"])
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-5)
    assert len(model.states) == (4 if op == "LSTM" else 2)


def test_states_that_the_model_takes_already_stay_what_they_are():
    case = Recurrent("given", "GRU", has_states=True)
    with pytest.raises(UnsupportedFeature, match="none has states that are not given from outside"):
        ew.convert(case.model(), expose_states=True)


def test_a_layer_that_reads_from_the_end_is_refused_by_its_name():
    case = Recurrent("both", "LSTM", attributes={"direction": "bidirectional"})
    with pytest.raises(Problems, match="layer 'layer0' reads its sequence from the end"):
        ew.convert(case.model(), expose_states=True)
