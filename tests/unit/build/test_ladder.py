"""The ladder of precisions: what is tried, what is chosen, and what the choice gives to other tools."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.analyse.evaluate import Evaluator
from edgewright.analyse.metric import choose_metric
from edgewright.artifacts.encodings import encodings_text
from edgewright.build.ladder import climb, rungs_for, with_choice
from edgewright.build.records import Rung
from edgewright.build.rungs import Tried, Workbench
from edgewright.data.samples import DataWishes, build_samples
from edgewright.quantize.tensor_encodings import encodings_of

EXAMPLES = Path(__file__).parents[3] / "examples"
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"


@pytest.fixture(scope="module")
def bench() -> Workbench:
    digits = np.load(EXAMPLES / "data" / "digits.npz")
    images = digits["images"].reshape(-1, 1, 1, 28, 28).astype(np.float32)
    model = ew.convert(MODEL)
    graph = model.fixed_graph()
    wishes = DataWishes(
        data={"Input3": images},
        labels=digits["labels"].tolist(),
        calibration_samples=24,
        evaluation_samples=100,
    )
    samples = build_samples(graph, wishes)
    metric = choose_metric(graph, samples.labels)
    tensors = frozenset(model.source_tensors)
    return Workbench(graph, tensors, samples, Evaluator(graph, samples, metric), 1.0)


class Steps:
    """Makes rungs as a build does, and remembers their graphs."""

    def __init__(self, finished=()):
        self.finished = {tried.rung.name: tried for tried in finished}
        self.graphs = {}

    def __call__(self, name, work):
        if name in self.finished:
            return self.finished[name]
        self.graphs[name], tried = work()
        return tried


@pytest.fixture(scope="module")
def climbed(bench):
    steps = Steps()
    return climb(bench, "auto", 1.0, steps, architecture=75), steps


def tried(name: str, cost: float, drop: float) -> Tried:
    return Tried(Rung(name, "", "htp-sim", 9, 100 - drop, drop, 30.0, 1000, cost))


def chosen(ladder) -> str:
    return next(item.rung.name for item in ladder if item.rung.is_chosen)


def test_auto_tries_the_whole_ladder_and_prices_grow_with_widths(climbed) -> None:
    ladder, steps = climbed
    rungs = {item.rung.name: item.rung for item in ladder}
    assert [*rungs] == [*steps.graphs] == ["w8a8", "w8a8+algorithms", "mixed", "w8a16", "fp16"]
    assert rungs["w8a8"].cost == pytest.approx(1.0)
    assert rungs["w8a16"].cost == pytest.approx(2.0)
    assert rungs["fp16"].cost == pytest.approx(4.0, rel=0.02)
    assert rungs["fp16"].weight_bytes > 1.9 * rungs["w8a8"].weight_bytes
    assert rungs["w8a8"].sqnr_db < rungs["w8a16"].sqnr_db < rungs["fp16"].sqnr_db


def test_mixed_widths_keep_the_limit_at_the_lowest_cost_and_say_how_they_came_about(climbed) -> None:
    ladder, _ = climbed
    rungs = {item.rung.name: item.rung for item in ladder}
    assert chosen(ladder) == "mixed"
    assert rungs["mixed"].is_met
    assert rungs["mixed"].cost < 1
    assert "weights in 4 bits" in rungs["mixed"].text
    said = " ".join(rungs["mixed"].notes)
    assert "begins with w8a8" in said
    assert "passes over 24 samples" in said


def test_a_finished_rung_is_not_made_again(bench, climbed) -> None:
    ladder, _ = climbed
    again = Steps(item for item in ladder if item.rung.name != "mixed")
    found = climb(bench, "auto", 1.0, again, architecture=75)
    assert [*again.graphs] == ["mixed"]
    mine = next(item.rung for item in found if item.rung.name == "mixed")
    theirs = next(item.rung for item in ladder if item.rung.name == "mixed")
    assert replace(mine, seconds=0.0) == replace(theirs, seconds=0.0)


def test_one_precision_is_tried_plain_and_with_algorithms() -> None:
    assert rungs_for("w4a16") == ("w4a16", "w4a16+algorithms")
    assert rungs_for("fp16") == ("fp16",)


def test_a_chip_without_half_precision_is_not_offered_it() -> None:
    assert "fp16" in rungs_for("auto", 73)
    assert "fp16" not in rungs_for("auto", 69)


def test_the_cheapest_rung_that_keeps_the_limit_is_chosen() -> None:
    ladder = [tried("a", 1.0, 3.0), tried("b", 1.2, 0.9), tried("c", 2.0, 0.1)]
    assert chosen(with_choice(ladder, 1.0)) == "b"
    assert chosen(with_choice(ladder, 5.0)) == "a"


def test_where_none_keeps_it_the_one_that_loses_least_is_chosen() -> None:
    ladder = [tried("a", 1.0, 3.0), tried("b", 1.2, 2.0), tried("c", 2.0, 2.0)]
    assert chosen(with_choice(ladder, 1.0)) == "b"


def test_the_encodings_of_mixed_widths_are_taken_back_as_overrides(climbed, tmp_path) -> None:
    graph = climbed[1].graphs["mixed"]
    path = tmp_path / "mixed.encodings"
    path.write_text(encodings_text(encodings_of(graph)))
    again = ew.quantize(MODEL, overrides=path).fixed_graph()
    # Weights that were fitted differ, how they are stored does not.
    assert again.types == graph.types


def test_what_the_user_settles_is_not_chosen_anew(bench) -> None:
    entry = [{"bitwidth": 16, "min": 0.0, "max": 510.0, "is_symmetric": "False"}]
    file = {"activation_encodings": {"Input3": entry}, "param_encodings": {"Parameter5": [{"bitwidth": 8}]}}
    steps = Steps()
    climb(replace(bench, overrides=file), "auto", 1.0, steps, architecture=75)
    graph = steps.graphs["mixed"]
    kinds = {graph.source_names.get(value, value): kind for value, kind in graph.types.items()}
    assert kinds["Input3"].encoding.bitwidth == 16
    assert kinds["Parameter5"].encoding.bitwidth == 8
    assert 4 in {kind.encoding.bitwidth for kind in kinds.values() if kind.encoding is not None}
