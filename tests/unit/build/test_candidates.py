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
    SearchLimit,
    choose_candidate,
    describe_faster,
    find_chosen,
    find_mixed_base,
    find_time,
    list_candidates,
    list_narrower_candidates,
    list_reserves,
    list_wider_candidates,
    mark_chosen,
    search_precisions,
)
from edgewright.build.records import Candidate, LeftOut
from edgewright.data.samples import DataRequest, read_samples
from edgewright.estimate.records import TimeRange
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.evaluator import Evaluator
from edgewright.quantize.executor import OutOfTime
from edgewright.quantize.run_counter import Bounds, RunCounter
from edgewright.quantize.tensor_encodings import list_encodings

EXAMPLES = Path(__file__).parents[3] / "examples"
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"
# Points that so few samples can prove.
LIMIT = 5.0


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
    return CandidateBuilder(graph, tensors, samples, evaluator, LIMIT, architecture=75)


class Stages:
    """Keeps candidates as a build does, with their graphs; those of ``late`` are left out for time."""

    def __init__(self, builder, finished=(), late=()):
        self.builder, self.late = builder, late
        self.finished = {result.candidate.name: result for result in finished}
        self.graphs = {}

    def __call__(self, name):
        if name in self.late:
            return LeftOut(name, "the time was up", is_for_time=True)
        if name not in self.finished:
            base = find_mixed_base(self.finished.values(), SearchLimit(self.builder.limit))
            self.graphs[name], self.finished[name] = self.builder.build(name, base)
        return self.finished[name]


@pytest.fixture(scope="module")
def searched(builder):
    """A limit that 8 bits keep."""
    stages = Stages(builder)
    return search_precisions(list_candidates("auto", 75), SearchLimit(LIMIT), stages), stages


def result(name: str, cost: float, drop: float, high: float = 100.0) -> CandidateResult:
    candidate = Candidate(name, "", "htp-sim", 9, 100 - drop, drop, 30.0, 1000, cost, drop_high=high)
    return CandidateResult(candidate)


def search(drops: dict[str, float], late: tuple[str, ...] = (), highs: dict[str, float] | None = None):
    """What a search does where candidates lose so much."""
    costs = {"w8a8": 1.0, "w8a8+algorithms": 1.0, "mixed": 1.2, "w8a16": 2.0, "fp16": 4.0}
    built, highs = [], highs or {"w8a8": drops["w8a8"]}

    def build(name):
        if name in late:
            return LeftOut(name, "the time was up", is_for_time=True)
        built.append(name)
        return result(name, costs[name], drops[name], highs.get(name, 100.0))

    return search_precisions(list_candidates("auto", 75), SearchLimit(1.0), build), built


def chosen(results) -> str:
    return find_chosen(results).candidate.name


def test_prices_and_accuracy_grow_with_widths(builder) -> None:
    candidates = {name: builder.build(name)[1].candidate for name in ("w8a8", "w8a16", "fp16")}
    assert candidates["w8a8"].cost == pytest.approx(1.0)
    assert candidates["w8a16"].cost == pytest.approx(2.0)
    assert candidates["fp16"].cost == pytest.approx(4.0, rel=0.02)
    assert candidates["fp16"].weight_bytes > 1.9 * candidates["w8a8"].weight_bytes
    assert candidates["w8a8"].sqnr_db < candidates["w8a16"].sqnr_db < candidates["fp16"].sqnr_db


@pytest.mark.parametrize(
    ("drops", "built", "taken"),
    [
        ({"w8a8": 0.5, "mixed": 2.0}, ["w8a8", "mixed"], "w8a8"),
        (
            {"w8a8": 3.0, "fp16": 0.0, "w8a16": 0.1, "w8a8+algorithms": 0.9},
            ["w8a8", "fp16", "w8a16", "w8a8+algorithms"],
            "w8a8+algorithms",
        ),
        (
            {"w8a8": 3.0, "fp16": 0.0, "w8a16": 0.1, "w8a8+algorithms": 2.0, "mixed": 0.8},
            ["w8a8", "fp16", "w8a16", "w8a8+algorithms", "mixed"],
            "mixed",
        ),
        ({"w8a8": 30.0, "fp16": 5.0, "w8a16": 6.0}, ["w8a8", "fp16", "w8a16"], "fp16"),
    ],
)
def test_only_what_may_be_the_best_candidate_is_built(drops, built, taken) -> None:
    searched, names = search(drops)
    assert names == built
    assert chosen(searched.results) == taken
    assert {each.name for each in searched.left_out} == {*list_candidates("auto", 75)} - {*built}
    assert not any(each.is_for_time for each in searched.left_out)


def test_fewer_bits_are_not_tried_where_the_samples_cannot_even_prove_8() -> None:
    searched, names = search({"w8a8": 0.0}, highs={"w8a8": 3.0})
    assert names == ["w8a8"]
    assert searched.left_out[-1].name == "mixed"
    assert "too few to prove" in searched.left_out[-1].reason


def test_what_keeps_the_limit_but_will_not_be_proven_is_not_the_last_that_is_tried() -> None:
    drops = {"w8a8": 0.7, "fp16": 0.1, "w8a16": 0.2, "w8a8+algorithms": 0.6, "mixed": 0.6}
    highs = {"w8a8": 1.4, "fp16": 0.3, "w8a16": 0.5, "w8a8+algorithms": 1.2, "mixed": 1.1}

    def build(name):
        made = result(name, {"w8a16": 2.0, "fp16": 4.0}.get(name, 1.0), drops[name], highs[name])
        return replace(made, candidate=replace(made.candidate, samples=40))

    names = list_candidates("auto", 75)
    searched = search_precisions(names, SearchLimit(1.0), build)
    assert chosen(searched.results) == "w8a16"
    assert find_mixed_base(searched.results, SearchLimit(1.0)) == "w8a8+algorithms"
    # Where samples can prove nothing, what they lose decides.
    unproven = search_precisions(names, SearchLimit(1.0, least=3.0), build)
    assert [item.candidate.name for item in unproven.results] == ["w8a8"]


def test_what_there_is_no_time_for_is_told_and_the_best_until_then_is_taken() -> None:
    drops = {"w8a8": 3.0, "fp16": 0.0}
    searched, _ = search(drops, late=("w8a16", "w8a8+algorithms", "mixed"))
    assert chosen(searched.results) == "fp16"
    assert [(each.name, each.is_for_time) for each in searched.left_out] == [
        ("w8a16", True),
        ("w8a8+algorithms", True),
        ("mixed", True),
    ]


def test_mixed_widths_keep_the_limit_at_the_lowest_cost_and_say_how_they_came_about(searched) -> None:
    results, _ = searched
    candidates = {item.candidate.name: item.candidate for item in results.results}
    assert candidates["mixed"].is_met
    assert candidates["mixed"].cost < 1
    assert not candidates["mixed"].is_stopped
    assert "weights in 4 bits" in candidates["mixed"].text
    notes = " ".join(candidates["mixed"].notes)
    assert "begins with w8a8" in notes
    assert "passes over 24 samples" in notes


def test_a_finished_candidate_is_not_made_again(builder, searched) -> None:
    results = searched[0].results
    again = Stages(builder, [item for item in results if item.candidate.name != "mixed"])
    repeated = search_precisions(list_candidates("auto", 75), SearchLimit(LIMIT), again).results
    assert [*again.graphs] == ["mixed"]
    mine = next(item.candidate for item in repeated if item.candidate.name == "mixed")
    theirs = next(item.candidate for item in results if item.candidate.name == "mixed")
    assert replace(mine, seconds=0.0) == replace(theirs, seconds=0.0)


def test_runs_are_counted_in_passes_and_a_candidate_stops_when_it_is_out_of_bounds(builder) -> None:
    total = sum(len(part) for part in (builder.samples.calibration, builder.samples.choosing.selection))
    counter = RunCounter(builder.source, total)
    evaluator = Evaluator(builder.source, builder.samples.choosing, builder.evaluator.metric, counter)
    counted = replace(builder, counter=counter, evaluator=evaluator, _uniform={})
    with counter.measure_stage("w8a8"):
        counted.build("w8a8")
    # The float model runs on all samples, 8 bits on those that choose.
    expected = (total + len(builder.samples.choosing.selection)) / total
    assert counter.passes["w8a8"] == pytest.approx(expected, rel=0.01)
    with pytest.raises(OutOfTime, match="3 passes"), counter.keep_bounds(Bounds(passes=3)):
        counted.build("w8a8+algorithms")
    with pytest.raises(OutOfTime, match="time"), counter.keep_bounds(Bounds(deadline=0)):
        counted.build("w8a16")


def test_a_search_of_widths_that_is_stopped_keeps_the_best_until_then(builder) -> None:
    counter = RunCounter(builder.source, 1)
    evaluator = Evaluator(builder.source, builder.samples.choosing, builder.evaluator.metric, counter)
    counted = replace(builder, counter=counter, evaluator=evaluator, _uniform={})
    counted.build("w8a8")
    tries = 0

    def measure_drop(made, is_quick):
        nonlocal tries
        tries += 1
        if tries > 3:
            raise OutOfTime
        return CandidateBuilder._measure_drop(counted, made, is_quick)

    counted._measure_drop = measure_drop
    _, stopped = counted.build("mixed", "w8a8")
    assert stopped.candidate.is_stopped
    assert stopped.candidate.is_met
    assert any("the time was up" in note for note in stopped.notes)


def test_the_fastest_that_keeps_the_limit_is_taken_where_that_is_preferred() -> None:
    times = {"w8a8": TimeRange(9, 5, 15), "fp16": TimeRange(7, 4, 12), "w8a16": TimeRange(8, 4, 16)}
    drops = {"w8a8": 0.1, "fp16": 0.0, "w8a16": 0.2}
    built = []

    def build(name: str) -> CandidateResult:
        built.append(name)
        return result(name, 1.0 if name == "w8a8" else 2.0, drops[name])

    searched = search_precisions(("w8a8", "fp16", "w8a16"), SearchLimit(1.0), build, times, "fastest")
    assert chosen(searched.results) == "fp16"
    # What is estimated to be slower than one that keeps the limit is not built.
    assert built == ["w8a8", "fp16"]
    assert searched.left_out[0].reason == "not needed: fp16 keeps the limit and is estimated to be no slower"
    drops["fp16"] = 5.0
    assert (
        chosen(search_precisions(("w8a8", "fp16"), SearchLimit(1.0), build, times, "fastest").results)
        == "w8a8"
    )


def test_estimates_decide_where_their_ranges_do_not_meet() -> None:
    results = [result("mixed", 1.5, 0.3), result("fp16", 4.0, 0.1)]
    times = {"w8a8": TimeRange(7, 5, 9), "w8a16": TimeRange(28, 20, 40), "w4a8": TimeRange(6, 4, 9)}
    near = {**times, "fp16": TimeRange(8, 6, 10)}
    assert chosen(choose_candidate(results, 1.0, near)) == "mixed"
    # Mixed widths whose cost lies between those of w8a8 and w8a16 take a time between theirs.
    assert find_time(near, results[0].candidate) == TimeRange(pytest.approx(7 * 4 ** np.log2(1.5)), 5, 40)
    (note,) = describe_faster(choose_candidate(results, 1.0, near), 1.0, near)
    assert "fp16 keeps the limit too and may be faster, 8 us (6 to 10.0) where mixed takes" in note
    far = {**times, "fp16": TimeRange(3, 2, 4)}
    assert chosen(choose_candidate(results, 1.0, far)) == "fp16"
    assert not describe_faster(choose_candidate(results, 1.0, far), 1.0, far)


def test_what_failed_or_has_fewer_bits_is_not_said_to_keep_the_limit_and_be_faster() -> None:
    results = [result("w8a8", 1.0, 0.0), result("fp16", 4.0, 0.0), result("w8a16", 2.0, 0.0)]
    times = {"w8a8": TimeRange(7, 5, 9), "w8a16": TimeRange(28, 20, 40), "fp16": TimeRange(8, 6, 10)}
    judged = mark_chosen(results, "w8a16")
    assert not describe_faster(judged, 1.0, times, failed=("w8a8", "fp16"))
    (note,) = describe_faster(judged, 1.0, times, failed=("w8a8",))
    assert note.startswith("fp16 keeps the limit too")


def test_what_the_compiler_refuses_may_give_way_to_fewer_bits() -> None:
    results = mark_chosen([result("w8a16", 2.0, 0.3), result("fp16", 4.0, 0.1)], "fp16")
    assert not list_wider_candidates(results, 1.0)
    assert list_narrower_candidates(results, 1.0) == ["w8a16"]
    assert not list_narrower_candidates(results, 0.2)


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


def test_what_will_be_proven_comes_before_what_may_only_seem_to_keep_the_limit() -> None:
    results = [result("a", 0.5, 0.6, high=1.4), result("b", 1.0, 0.0, high=0.9), result("c", 2.0, 0.0, 0.8)]
    assert chosen(choose_candidate(results, 1.0)) == "b"
    assert chosen(choose_candidate(results[:1], 1.0)) == "a"


def test_mixed_widths_that_cost_as_much_as_half_precision_are_not_chosen_over_it() -> None:
    results = [result("mixed", 3.9, 0.05), result("fp16", 4.0, 0.1)]
    assert chosen(choose_candidate(results, 1.0)) == "fp16"
    # They save something, or half precision does not keep the limit.
    assert chosen(choose_candidate([result("mixed", 3.0, 0.05), results[1]], 1.0)) == "mixed"
    assert chosen(choose_candidate([results[0], result("fp16", 4.0, 1.1)], 1.0)) == "mixed"


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
    search_precisions(list_candidates("auto", 75), SearchLimit(LIMIT), stages)
    graph = stages.graphs["mixed"]
    kinds = {graph.source_names.get(value, value): kind for value, kind in graph.types.items()}
    assert kinds["Input3"].encoding.bitwidth == 16
    assert kinds["Parameter5"].encoding.bitwidth == 8
    assert 4 in {kind.encoding.bitwidth for kind in kinds.values() if kind.encoding is not None}


def test_what_is_hopeless_is_built_only_where_the_compiler_takes_nothing_else() -> None:
    searched, _ = search({"w8a8": 30.0, "fp16": 5.0, "w8a16": 6.0})
    assert [each.name for each in searched.left_out] == ["w8a8+algorithms", "mixed"]
    assert list_reserves(searched.left_out, "w8a8+algorithms", has_binary=True) == []
    assert list_reserves(searched.left_out, "w8a8+algorithms", has_binary=False) == list(searched.left_out)


def test_what_was_not_needed_is_built_once_what_was_chosen_fails() -> None:
    spared, late = LeftOut("fp16", "not needed: w8a8 keeps the limit"), LeftOut("w8a16", "", is_for_time=True)
    narrower = LeftOut("mixed", "w8a8 keeps the limit, and the samples are too few to prove fewer bits")
    assert list_reserves([spared, late, narrower], "w8a8", has_binary=True) == [spared]
