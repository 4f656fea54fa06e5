"""Advice is given where it was tried and helped; otherwise nothing is said."""

import pytest

from edgewright.analyse.records import Finding, Layer
from edgewright.build.measured_advice import advise_on_miss, keep_what_helps
from edgewright.build.records import Candidate
from edgewright.evaluate.records import Loss

FINDINGS = (
    Finding("warning", "override", "2 tensors have too few steps", do="{}"),
    Finding("warning", "range", "the result of Conv2d 'a' keeps 20 dB", "a", "{}"),
    Finding("note", "rule", "a rule"),
)
LAYERS = (
    Layer("n1", "Conv2d", "a", "first/conv", "ufixed_point_8", 8, 8, 10, 30.0, None, own_db=21.0),
    Layer("n2", "Softmax", "b", "probs", "ufixed_point_8", 8, None, 0, 25.0, None, own_db=50.0),
)


def candidate(name, drop, *, is_chosen=False, samples=100):
    return Candidate(name, "", "htp-sim", samples, 100 - drop, drop, 30.0, 10, 1.0, is_chosen=is_chosen)


def loss(points):
    return Loss("scores", "htp-native", 50, points, points - 1, points + 1, 90.0)


def test_an_override_that_gains_says_how_much():
    chosen, wider = candidate("w4a8", 3.0), candidate("w4a8", 0.5)
    first, *others = keep_what_helps(FINDINGS, chosen, lambda _: wider)
    assert (first.kind, first.do) == ("override", "{}")
    assert "0.50 points are lost with it in place of 3.00, on the 100 samples that choose" in first.what
    assert not any(finding.do for finding in others)


@pytest.mark.parametrize("trial", [None, lambda _: candidate("w4a8", 3.0), lambda _: candidate("w4a8", 4.0)])
def test_what_gains_nothing_or_undoes_a_choice_is_not_suggested(trial):
    kept = keep_what_helps(FINDINGS, candidate("w4a8", 3.0), trial)
    assert [finding.grade for finding in kept] == ["note", "note"]
    assert not any(finding.do for finding in kept)


def test_what_there_was_no_time_to_try_is_said():
    first, *others = keep_what_helps(FINDINGS, candidate("w8a8", 3.0), lambda _: None)
    assert first == Finding(
        "note",
        "override",
        "2 tensors have too few steps: what may help was not tried, for the time was up",
    )
    assert not any(finding.do for finding in others)
    (finding,) = advise_on_miss(
        [candidate("w8a8", 5.0, is_chosen=True)], 1.0, loss(5.2), LAYERS, [("w8a16", lambda: None)]
    )
    assert finding == Finding("note", "precision", "w8a16 was not tried, for the time was up")


def test_a_wider_precision_is_named_with_what_it_loses():
    trials = [("w8a16", lambda: candidate("w8a16", 0.25)), ("fp16", pytest.fail)]
    (finding,) = advise_on_miss([candidate("w8a8", 5.0, is_chosen=True)], 1.0, loss(5.2), LAYERS, trials)
    assert finding.do == "--precision w8a16"
    assert "w8a16 loses 0.25 points on the 100 samples that choose, w8a8 5.00" in finding.what


def test_where_no_precision_meets_the_limit_the_cause_is_named():
    tried = [candidate("w8a8", 9.0), candidate("fp16", 2.5, is_chosen=True)]
    (finding,) = advise_on_miss(tried, 1.0, loss(2.7), LAYERS)
    assert "no precision meets the limit of 1 on these samples: even fp16 loses 2.50 points" in finding.what
    assert "output 'scores'" in finding.what
    assert "Conv2d 'first/conv' (21.0 dB)" in finding.what
    assert not finding.do


def test_a_choice_on_too_few_samples_is_said_to_be_one():
    tried = [candidate("mixed", 0.0, is_chosen=True, samples=67), candidate("fp16", 0.0, samples=67)]
    (finding,) = advise_on_miss(tried, 1.0, loss(2.3), LAYERS)
    assert "mixed lost 0.00 points on the 67 samples that chose it: one of them is 1.5 points" in finding.what
