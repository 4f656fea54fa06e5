"""Simulation against emulator, every op sample in every form; the guide lists what is beyond the limits."""

import re
from pathlib import Path

import pytest

from edgewright.core.errors import BackendCrash
from tests.native.op_cases import Case, Outcome, cases, outcome

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "native.md"
# What every network is made of: a refusal of these would be a mistake of ours.
CORE = (
    "Conv2d-plain",
    "Conv2d-bias",
    "DepthWiseConv2d-plain",
    "FullyConnected-plain",
    "MatMul-plain",
    "Relu-plain",
)
CORE += (
    "ElementWiseAdd-plain",
    "ElementWiseMultiply-plain",
    "Softmax-last",
    "PoolMax2d-plain",
    "PoolAvg2d-plain",
)
CORE += ("Concat-", "Reshape-", "Transpose-", "LayerNorm-last", "Conv1d-plain", "Sigmoid-plain", "Gather-")


def listed() -> dict[str, str]:
    """Case -> the figure that the guide gives for it."""
    found = {}
    for row in re.findall(r"^\| (\w+-\w+) \| ([^|]+) \| ([^|]+) \|", GUIDE.read_text(), re.MULTILINE):
        forms, figures = row[1].split(", "), row[2].split(", ")
        found.update({f"{row[0]}-{form}": figure for form, figure in zip(forms, figures, strict=True)})
    return found


EXCEPTIONS = listed()
# The library itself ends while it compiles these, unless it has compiled other graphs before.
MAY_CRASH = ("BoxWithNmsLimit-counted",)


def is_as_listed(found: Outcome, figure: str) -> bool:
    """Whether a difference is the one in the guide, or smaller."""
    if figure == "any":
        return True
    number, unit = figure.split()
    return found.steps <= float(number) if unit == "steps" else found.share * 100 <= float(number)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.id)
def test_simulation_and_emulator_agree(case: Case) -> None:
    try:
        found = outcome(case)
    except BackendCrash:
        assert case.id.startswith(MAY_CRASH)
        return
    assert not (case.id.startswith(CORE) and found.refused.startswith("error")), found.refused
    if case.id in EXCEPTIONS:
        assert is_as_listed(found, EXCEPTIONS[case.id]), found
        assert not found.is_within or EXCEPTIONS[case.id] == "any", "take it off the list in the guide"
    else:
        assert found.is_within, found


def test_most_samples_reach_the_emulator_and_the_list_names_real_ones() -> None:
    ids = {case.id for case in cases()}
    assert set(EXCEPTIONS) <= ids
    assert len(ids) > 1000
    assert len(EXCEPTIONS) <= 51
