"""ONNX's own suites: how many cases pass, that none crashes, and that what does not pass is refused."""

from collections import Counter

import pytest

from tests.backend.onnx_stored import KINDS, light_cases, stored_cases
from tests.backend.onnx_suite import Outcome, cases, outcome

# Raise these as more passes; they may never fall.
PASSED_AT_LEAST = 1815
QNN_ONLY_AT_LEAST = 1775
# Results that are random: ONNX's runner compares them with one particular generator.
RANDOM = ("bernoulli", "training_dropout")
# Lower these as they are mended.
WRONG_AT_MOST = 2
STORED = {"simple": 21, "pytorch-operator": 35, "pytorch-converted": 82}


@pytest.fixture(scope="module")
def node_outcomes() -> list[Outcome]:
    return [outcome(case) for case in cases()]


def passed(outcomes: list[Outcome]) -> int:
    return sum(item.kind in {"qnn", "source"} for item in outcomes)


def test_the_node_suite_passes_as_far_as_recorded(node_outcomes):
    kinds = Counter(item.kind for item in node_outcomes)
    assert passed(node_outcomes) >= PASSED_AT_LEAST, kinds
    assert kinds["qnn"] >= QNN_ONLY_AT_LEAST, kinds


def test_no_node_case_crashes_and_every_refusal_has_its_code(node_outcomes):
    assert [item for item in node_outcomes if item.kind in {"crash", "error"}] == []


def test_no_node_case_is_silently_wrong_but_for_random_ones(node_outcomes):
    wrong = [i for i in node_outcomes if i.kind == "wrong" and not any(word in i.case for word in RANDOM)]
    assert len(wrong) <= WRONG_AT_MOST, [item.case for item in wrong]


@pytest.mark.parametrize("kind", KINDS)
def test_stored_models_pass_but_for_training_domains(kind):
    outcomes = [outcome(case) for case in stored_cases(kind)]
    failed = [item for item in outcomes if item.kind not in {"qnn", "source", "refused"}]
    refused = [item for item in outcomes if item.kind == "refused"]
    assert passed(outcomes) >= STORED[kind], failed
    assert all("ai.onnx.preview.training" in item.detail for item in refused)


def test_the_nine_light_models_pass_with_qnn_ops_only():
    outcomes = [outcome(case) for case in light_cases()]
    assert [item.kind for item in outcomes] == ["qnn"] * 9, outcomes
