"""Candidates of precision: what is tried, what is chosen, and what the choice gives to other tools."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.encodings import write_encodings
from edgewright.build.candidate_builder import CandidateBuilder
from edgewright.build.candidates import (
    CandidateResult,
    choose_candidate,
    find_chosen,
    list_candidates,
    search_precisions,
)
from edgewright.build.records import Candidate
from edgewright.data.samples import DataRequest, read_samples
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.evaluator import Evaluator
from edgewright.quantize.tensor_encodings import list_encodings

EXAMPLES = Path(__file__).parents[3] / "examples"
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"


@pytest.fixture(scope="module")
def builder() -> CandidateBuilder:
    digits = np.load(EXAMPLES / "data" / "digits.npz")
    images = digits["images"].reshape(-1, 1, 1, 28, 28).astype(np.float32)
    model = ew.convert(MODEL)
    graph = model.fixed_graph()
    request = DataRequest(
        data={"Input3": images},
        labels=digits["labels"].tolist(),
        calibration_samples=24,
        evaluation_samples=100,
    )
    samples = read_samples(graph, request)
    metric = choose_metric(graph, samples.labels)
    tensors = frozenset(model.source_tensors)
    evaluator = Evaluator(graph, samples.choosing, metric)
    return CandidateBuilder(graph, tensors, samples, evaluator, 1.0, architecture=75)


class Stages:
    """Keeps candidates as a build does, with their graphs."""

    def __init__(self, builder, finished=()):
        self.builder = builder
        self.finished = {result.candidate.name: result for result in finished}
        self.graphs = {}

    def __call__(self, name):
        if name not in self.finished:
            self.graphs[name], self.finished[name] = self.builder.build(name)
        return self.finished[name]


@pytest.fixture(scope="module")
def searched(builder):
    stages = Stages(builder)
    return search_precisions(list_candidates("auto", 75), 1.0, stages), stages


def result(name: str, cost: float, drop: float) -> CandidateResult:
    return CandidateResult(Candidate(name, "", "htp-sim", 9, 100 - drop, drop, 30.0, 1000, cost))


def chosen(results) -> str:
    return find_chosen(results).candidate.name


def test_auto_tries_all_candidates_and_prices_grow_with_widths(searched) -> None:
    results, stages = searched
    candidates = {item.candidate.name: item.candidate for item in results}
    assert [*candidates] == [*stages.graphs] == ["w8a8", "w8a8+algorithms", "mixed", "w8a16", "fp16"]
    assert candidates["w8a8"].cost == pytest.approx(1.0)
    assert candidates["w8a16"].cost == pytest.approx(2.0)
    assert candidates["fp16"].cost == pytest.approx(4.0, rel=0.02)
    assert candidates["fp16"].weight_bytes > 1.9 * candidates["w8a8"].weight_bytes
    assert candidates["w8a8"].sqnr_db < candidates["w8a16"].sqnr_db < candidates["fp16"].sqnr_db


def test_mixed_widths_keep_the_limit_at_the_lowest_cost_and_say_how_they_came_about(searched) -> None:
    results, _ = searched
    candidates = {item.candidate.name: item.candidate for item in results}
    assert chosen(results) == "mixed"
    assert candidates["mixed"].is_met
    assert candidates["mixed"].cost < 1
    assert "weights in 4 bits" in candidates["mixed"].text
    notes = " ".join(candidates["mixed"].notes)
    assert "begins with w8a8" in notes
    assert "passes over 24 samples" in notes


def test_a_finished_candidate_is_not_made_again(builder, searched) -> None:
    results, _ = searched
    again = Stages(builder, [item for item in results if item.candidate.name != "mixed"])
    repeated = search_precisions(list_candidates("auto", 75), 1.0, again)
    assert [*again.graphs] == ["mixed"]
    mine = next(item.candidate for item in repeated if item.candidate.name == "mixed")
    theirs = next(item.candidate for item in results if item.candidate.name == "mixed")
    assert replace(mine, seconds=0.0) == replace(theirs, seconds=0.0)


def test_one_precision_is_tried_plain_and_with_algorithms() -> None:
    assert list_candidates("w4a16") == ("w4a16", "w4a16+algorithms")
    assert list_candidates("fp16") == ("fp16",)


def test_a_chip_without_half_precision_is_not_offered_it() -> None:
    assert "fp16" in list_candidates("auto", 73)
    assert "fp16" not in list_candidates("auto", 69)


def test_the_cheapest_candidate_that_keeps_the_limit_is_chosen() -> None:
    results = [result("a", 1.0, 3.0), result("b", 1.2, 0.9), result("c", 2.0, 0.1)]
    assert chosen(choose_candidate(results, 1.0)) == "b"
    assert chosen(choose_candidate(results, 5.0)) == "a"


def test_where_none_keeps_it_the_one_that_loses_least_is_chosen() -> None:
    results = [result("a", 1.0, 3.0), result("b", 1.2, 2.0), result("c", 2.0, 2.0)]
    assert chosen(choose_candidate(results, 1.0)) == "b"


def test_the_encodings_of_mixed_widths_are_taken_back_as_overrides(searched, tmp_path) -> None:
    graph = searched[1].graphs["mixed"]
    path = tmp_path / "mixed.encodings"
    path.write_text(write_encodings(list_encodings(graph)))
    again = ew.quantize(MODEL, overrides=path).fixed_graph()
    # Weights that were fitted differ, how they are stored does not.
    assert again.types == graph.types


def test_what_the_user_settles_is_not_chosen_anew(builder) -> None:
    entry = [{"bitwidth": 16, "min": 0.0, "max": 510.0, "is_symmetric": "False"}]
    file = {"activation_encodings": {"Input3": entry}, "param_encodings": {"Parameter5": [{"bitwidth": 8}]}}
    stages = Stages(replace(builder, overrides=file, _uniform={}))
    search_precisions(list_candidates("auto", 75), 1.0, stages)
    graph = stages.graphs["mixed"]
    kinds = {graph.source_names.get(value, value): kind for value, kind in graph.types.items()}
    assert kinds["Input3"].encoding.bitwidth == 16
    assert kinds["Parameter5"].encoding.bitwidth == 8
    assert 4 in {kind.encoding.bitwidth for kind in kinds.values() if kind.encoding is not None}
