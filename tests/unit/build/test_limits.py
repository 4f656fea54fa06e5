"""Decisions at a limit: what loses exactly as much as may be lost keeps the limit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgewright as ew
from edgewright.build.candidates import (
    CandidateResult,
    choose_candidate,
    find_chosen,
    list_wider_candidates,
    mark_chosen,
)
from edgewright.build.confirm import confirm_candidate
from edgewright.build.records import Candidate
from edgewright.build.stages import CompileResult
from edgewright.evaluate.records import Loss

EXAMPLES = Path(__file__).parents[3] / "examples"
LIMIT = 1.0
# Few different numbers, so that drops meet the limit and each other.
DROPS = st.sampled_from([-0.5, 0.0, 0.9, LIMIT, 1.1, 3.0])
CANDIDATES = st.lists(st.tuples(DROPS, st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=5)


def results_of(candidates: list[tuple[float, float]]) -> list[CandidateResult]:
    """Candidates by drop and cost; the place of each is its name."""
    return [
        CandidateResult(Candidate(str(place), "", "htp-sim", 9, 100 - drop, drop, 30.0, 1000, cost))
        for place, (drop, cost) in enumerate(candidates)
    ]


@given(candidates=CANDIDATES)
def test_no_candidate_that_keeps_the_limit_is_cheaper_than_the_chosen_one(
    candidates: list[tuple[float, float]],
) -> None:
    chosen = find_chosen(choose_candidate(results_of(candidates), LIMIT)).candidate
    keeping = sorted((cost, drop) for drop, cost in candidates if not drop > LIMIT)
    if keeping:
        assert (chosen.cost, chosen.drop) == keeping[0]
    else:
        assert (chosen.drop, chosen.cost) == min(candidates)


@given(candidates=CANDIDATES, data=st.data())
def test_wider_candidates_are_all_others_that_keep_the_limit_at_no_lower_cost(
    candidates: list[tuple[float, float]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(candidates) - 1))
    results = mark_chosen(results_of(candidates), str(place))
    wider = [int(name) for name in list_wider_candidates(results, LIMIT)]
    others = {index for index in range(len(candidates)) if index != place}
    assert set(wider) == {
        index
        for index in others
        if not candidates[index][0] > LIMIT and not candidates[index][1] < candidates[place][1]
    }
    assert [candidates[index][1] for index in wider] == sorted(candidates[index][1] for index in wider)


@given(drops=st.lists(DROPS, min_size=1, max_size=4))
def test_the_first_that_keeps_the_limit_on_the_emulator_is_built(drops: list[float]) -> None:
    losses = [Loss("y", "htp-native", 9, drop, drop - 1, drop + 1, 90) for drop in drops]
    compiled = [(CompileResult("htp-native", ()), loss) for loss in losses]
    names = [str(place) for place in range(len(drops))]
    confirmed = confirm_candidate(names, LIMIT, lambda name: compiled[int(name)])
    keeping = [name for name, drop in zip(names, drops, strict=True) if not drop > LIMIT]
    assert confirmed.name == (keeping[0] if keeping else names[drops.index(min(drops))])


def test_a_build_that_loses_exactly_the_limit_does_not_miss_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = ew.build(
        EXAMPLES / "models" / "mnist_cntk.onnx",
        EXAMPLES / "data" / "digits.npz",
        target="SM8650",
        precision="fp16",
        max_drop=0.0,
        calibration_samples=4,
        evaluation_samples=20,
    )
    # Where no folder is named it is MODEL_CHIP in the current one, as on the command line.
    assert (tmp_path / "mnist_cntk_SM8650" / "report.json").is_file()
    assert f"output='{tmp_path / 'mnist_cntk_SM8650'}'" in record.rebuild
    assert [candidate.drop for candidate in record.candidates] == [0.0]
    assert [candidate.is_met for candidate in record.candidates] == [True]
    # Few samples show that nothing is lost on them, and prove nothing.
    assert (record.verdict.word, record.verdict.loss.points, record.is_met) == ("not proven", 0.0, False)
