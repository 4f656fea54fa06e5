"""A model that remembers gets, for each sample, what the samples before it have left."""

import numpy as np

from edgewright.build.stateful_samples import RecurrentState, add_states, drop_state_inputs
from edgewright.data.samples import DataRequest, read_samples
from edgewright.ir.text import parse

# Adds its input to what it remembers.
GRAPH = parse(
    """
graph sum {
  input x: float_32[1,2]
  input memory: float_32[1,2]
  y = ElementWiseAdd(x, memory)
  output y
}
"""
)
STATES = (RecurrentState("memory", "y", (10.0, 20.0)),)


def _samples(count):
    data = np.ones((count, 2), np.float32)
    samples = read_samples(drop_state_inputs(GRAPH, STATES), DataRequest(data))
    return add_states(samples, GRAPH, STATES)


def test_samples_give_only_the_inputs_that_nobody_remembers():
    assert drop_state_inputs(GRAPH, STATES).inputs == ["x"]


def test_what_is_remembered_grows_from_sample_to_sample_in_their_order():
    result = _samples(6)
    for part in (result.calibration, result.choosing.selection, result.judging.selection):
        remembered = [sample["memory"][0].tolist() for sample in part]
        assert remembered == [[10.0 + number, 20.0 + number] for number in part.numbers]


def test_samples_may_be_taken_in_any_order():
    result = _samples(5)
    parts = (result.judging.selection, result.choosing.selection, result.calibration)
    last, middle, first = ([sample["memory"][0, 0] for sample in part] for part in parts)
    assert [first, middle, last] == [[10 + number for number in part.numbers] for part in parts[::-1]]
