"""Which candidate is built where the one that was chosen loses more on samples that judge."""

import pytest

from edgewright.analyse.records import Layer
from edgewright.build.settle import Settler
from edgewright.build.stages import CompileResult, EvaluationResult, leave_out_masked
from edgewright.core.errors import BackendCrash
from edgewright.evaluate.records import Loss
from edgewright.quantize.report import QuantizationReport


def settle(judged, limit=1.0, times=9, refused=(), highs=None, doubts=()):
    """Candidates in order, with what each loses where it is judged; all keep the limit before that."""
    looks, asked = [], []

    def compile_candidate(name):
        if name in refused:
            raise BackendCrash("refused")
        return CompileResult("htp-native", ()), Loss("y", "htp-native", 9, 0.0, 0, 9, 90)

    def judge(confirmed, look):
        looks.append((confirmed.name, look))
        high = 9 if highs is None else highs[confirmed.name]
        loss = Loss("y", "htp-native", 9 if highs is None else 40, judged[confirmed.name], 0, high, 90)
        return EvaluationResult((), loss, doubts=doubts)

    def iterate_names():
        for name in judged:
            asked.append(name)
            yield name

    settler = Settler(1.0, limit, compile_candidate, judge, lambda: len(looks) < times, highs is not None)
    return settler.settle(iterate_names()), looks, asked


@pytest.mark.parametrize(
    ("judged", "taken", "count"),
    [
        ({"w8a8": 0.5, "fp16": 0.1}, "w8a8", 1),
        ({"w8a8": 5.0, "fp16": 0.1}, "fp16", 2),
        ({"w8a8": 5.0, "fp16": 6.0}, "w8a8", 2),
        ({"w8a8": 5.0, "fp16": 4.0, "w8a16": 0.0}, "w8a16", 3),
    ],
)
def test_after_a_miss_the_next_candidate_is_judged_with_one_more_look(judged, taken, count):
    settled, looks, asked = settle(judged)
    assert settled.confirmed.name == taken
    assert [look for _, look in looks] == list(range(1, count + 1))
    # What is not needed is not built.
    assert len(asked) == count
    assert set(settled.failed) == {name for name, _ in looks} - {taken}
    assert any("by the same samples" in note for note in settled.notes) == (count > 1)


def test_without_time_the_miss_stays_and_is_told():
    settled, looks, asked = settle({"w8a8": 5.0, "fp16": 0.1}, times=1)
    assert (settled.confirmed.name, len(looks), len(asked)) == ("w8a8", 1, 1)
    assert "not judged" in settled.notes[-1]


def test_without_a_limit_nothing_else_is_judged():
    assert settle({"w8a8": 5.0, "fp16": 0.1}, limit=None)[0].confirmed.name == "w8a8"


def test_a_candidate_that_the_compiler_refuses_leaves_the_one_before():
    settled, looks, _ = settle({"w8a8": 5.0, "fp16": 0.1}, refused=("fp16",))
    assert (settled.confirmed.name, settled.failed, len(looks)) == ("w8a8", ("fp16",), 1)
    assert settled.notes[-1] == "fp16 is refused by the compiler (refused)"


@pytest.mark.parametrize(
    ("highs", "taken", "count"),
    [
        ({"w8a8": 0.9, "fp16": 0.2}, "w8a8", 1),
        ({"w8a8": 1.5, "fp16": 0.2}, "fp16", 2),
        # Where none is proven the cheaper one stays.
        ({"w8a8": 1.5, "fp16": 1.2}, "w8a8", 2),
    ],
)
def test_what_is_not_proven_gives_way_to_what_is(highs, taken, count):
    settled, looks, _ = settle({"w8a8": 0.5, "fp16": 0.1}, highs=highs)
    assert (settled.confirmed.name, len(looks)) == (taken, count)


def test_what_speaks_against_the_samples_is_no_reason_for_more_bits():
    settled, looks, _ = settle(
        {"w8a8": 0.5, "fp16": 0.1}, highs={"w8a8": 1.5, "fp16": 0.2}, doubts=("random",)
    )
    assert (settled.confirmed.name, len(looks)) == ("w8a8", 1)


def test_masked_scores_are_no_layers_that_lose_something():
    layers = [Layer(name, "Add", name, name, "u8", 8, None, 0, 10.0, None, 0.0) for name in ("a", "mask")]
    (kept,) = leave_out_masked(layers, QuantizationReport(rules={"masked-softmax": ["mask"]}))
    assert kept.tensor == "a"
