"""ONNX's own suites: exactly how many cases pass, and that what does not pass is refused."""

from collections import Counter

import pytest

from tests.backend.onnx_stored import KINDS, light_cases, stored_cases
from tests.backend.onnx_suite import Outcome, node_outcomes, outcome

# How the 1884 cases of the node suite go; 'make docs' writes the same figures. A better one is recorded here
# together with the change that brings it, a worse one is a bug.
NODE_SUITE = {"qnn": 1778, "source": 41, "refused": 57, "wrong": 8}
# Random results: ONNX's runner compares them with one particular generator.
RANDOM = {f"test_bernoulli{kind}{form}" for kind in ("", "_double", "_seed") for form in ("", "_expanded")}
# Their stored results are 2e-7 where they should be 0, which is more than their own tolerance.
INEXACT = {"test_dft_inverse", "test_dft_inverse_opset19"}
STORED = {
    "simple": {"qnn": 15, "source": 6, "refused": 2},
    "pytorch-operator": {"qnn": 35},
    "pytorch-converted": {"qnn": 82},
}


def count_kinds(outcomes: list[Outcome]) -> dict[str, int]:
    return dict(Counter(item.kind for item in outcomes))


def test_the_node_suite_goes_exactly_as_recorded():
    assert count_kinds(node_outcomes()) == NODE_SUITE


def test_only_random_and_inexact_cases_are_wrong():
    assert {item.case for item in node_outcomes() if item.kind == "wrong"} == RANDOM | INEXACT


@pytest.mark.parametrize("kind", KINDS)
def test_stored_models_pass_but_for_training_domains(kind):
    outcomes = [outcome(case) for case in stored_cases(kind)]
    assert count_kinds(outcomes) == STORED[kind], outcomes
    assert all("ai.onnx.preview.training" in item.detail for item in outcomes if item.kind == "refused")


def test_the_nine_light_models_pass_with_qnn_ops_only():
    outcomes = [outcome(case) for case in light_cases()]
    assert [item.kind for item in outcomes] == ["qnn"] * 9, outcomes
