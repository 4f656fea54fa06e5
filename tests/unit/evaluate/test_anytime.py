"""Evaluations whose time is up: fewer samples, spread over all, and always the same ones."""

import math
import time

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.build.plan import SampleCounts
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.samples import BuildSamples, LabelledSamples, SampleSelection
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.evaluator import FEWEST_IN_TIME, Evaluator
from edgewright.ir.text import parse
from edgewright.quantize.run_counter import Bounds, RunCounter

GRAPH = parse("graph g {\n  input x: float_32[1,6]\n  y = Relu(x)\n  output y\n}\n")
COUNT = 40
# Long enough for a few samples of ``run_slowly``, and never for all.
SLOW, SHORT = 0.01, 0.1


class Rows(IndexedSamples):
    """Numbers by the row."""

    def __init__(self):
        self._rows = np.random.default_rng(0).random((COUNT, 1, 6)).astype(np.float32)

    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        return {"x": self._rows[number]}


def make_evaluator(counter=None):
    held = LabelledSamples(SampleSelection(Rows(), range(COUNT)))
    return Evaluator(GRAPH, held, choose_metric(GRAPH, None, "closeness"), counter)


def run_slowly(sample):
    time.sleep(SLOW)
    return {"y": np.maximum(sample["x"], 0)}


@pytest.mark.parametrize("runners", [1, 2])
def test_what_is_run_in_time_is_in_order_and_spread(runners):
    evaluator = make_evaluator()
    measured = evaluator.measure_runners([run_slowly] * runners, "slow", seconds=SHORT)
    assert 1 <= measured.samples < COUNT
    assert list(measured.numbers) == sorted(measured.numbers)
    expected = SampleSelection(Rows(), range(COUNT)).spread(measured.samples)
    assert measured.numbers == expected.numbers
    exact = evaluator.measure_runner(run_slowly, "slow", evaluator.select_samples(measured.numbers))
    assert measured.outputs == exact.outputs


def test_a_float_model_without_time_leaves_samples_out_of_all_that_follows():
    evaluator = make_evaluator()
    assert evaluator.run_float_model(0).samples == FEWEST_IN_TIME
    assert evaluator.measure_runner(run_slowly, "slow").samples == FEWEST_IN_TIME
    assert evaluator.planned == COUNT


def test_an_evaluation_without_time_does_with_few_samples_in_place_of_ending_the_build():
    counter = RunCounter(GRAPH, COUNT)
    evaluator = make_evaluator(counter)
    evaluator.run_float_model(math.inf)
    with counter.keep_bounds(Bounds(evaluation_end=0)):
        assert evaluator.evaluate(GRAPH, "cpu", limit=1.0).samples == FEWEST_IN_TIME
    assert evaluator.evaluate(GRAPH, "cpu", limit=1.0).samples == COUNT


def test_a_build_keeps_the_samples_that_were_run_in_time():
    held = LabelledSamples(SampleSelection(Rows(), range(COUNT)))
    evaluator = Evaluator(GRAPH, held, choose_metric(GRAPH, None, "closeness"))
    known = evaluator.measure_runner(run_slowly, "slow", seconds=SHORT)
    samples = BuildSamples(held.selection, held, held, ())
    fewer = SampleCounts(8, known.samples, 10).select(samples)
    assert fewer.choosing.selection.numbers == known.numbers
    assert (len(fewer.calibration), len(fewer.judging.selection)) == (8, 10)
