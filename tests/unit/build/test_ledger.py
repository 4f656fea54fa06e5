"""The state of an interrupted build, which anyone may have changed since."""

import json

import pytest

from edgewright.build.ledger import FORM, STATE, Ledger, _read_state
from edgewright.build.records import Stage
from edgewright.core.errors import BadInput

ENTRY = {
    "seconds": 1.5,
    "peak_mb": 10.0,
    "passes": 2.0,
    "result": {"name": "a", "seconds": 1.0, "peak_mb": 2.0},
}
STATE_TREE = {"form": FORM, "print": {"model": "x"}, "stages": {"convert": ENTRY}}


def resume(folder, tree):
    (folder / STATE).write_text(json.dumps(tree))
    return _read_state(folder)


def test_a_stage_that_was_finished_is_taken_over(tmp_path):
    ledger = Ledger(tmp_path, {}, resume(tmp_path, STATE_TREE)["stages"])
    assert ledger.run_stage("convert", Stage, lambda: pytest.fail("it is computed again")).peak_mb == 2.0


@pytest.mark.parametrize(
    "result", [None, 7, [], {"name": 7, "seconds": 1.0, "peak_mb": 2.0}, {"evil": 1}, {}]
)
def test_a_result_that_was_changed_is_an_error(result, tmp_path):
    ledger = Ledger(tmp_path, {}, {"convert": {**ENTRY, "result": result}})
    with pytest.raises(BadInput, match="the result of stage 'convert' is damaged"):
        ledger.run_stage("convert", Stage, lambda: pytest.fail("it is computed again"))


@pytest.mark.parametrize(
    "changed",
    [
        {"stages": None},
        {"stages": []},
        {"stages": {"convert": 7}},
        {"stages": {"convert": {**ENTRY, "seconds": "x"}}},
        {"stages": {"convert": {"seconds": 1.0}}},
        {"print": 7},
        {"print": {"model": 7}},
        {"form": 99},
    ],
)
def test_a_state_of_another_form_is_none(changed, tmp_path):
    assert resume(tmp_path, {**STATE_TREE, **changed}) == {}
