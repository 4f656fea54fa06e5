"""PyTorch's own operator samples: exactly which ops match, and that what does not match is refused."""

import json
from collections import Counter

import pytest

from tests.optional import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

from tests.backend.torch_suite import RECORD, list_ops, try_op

pytestmark = [pytest.mark.torch, pytest.mark.slow]
# At least so many; better figures come with a new record.
FEWEST_MATCHES = 540


@pytest.fixture(scope="module")
def outcomes():
    return {item.op: item for item in map(try_op, list_ops())}


def test_nothing_is_wrong_and_nothing_crashes(outcomes):
    bad = {op: item.details for op, item in outcomes.items() if item.kind in {"wrong", "crash"}}
    assert bad == {}


def test_what_is_refused_says_why(outcomes):
    assert [op for op, item in outcomes.items() if item.kind == "refused" and not all(item.details)] == []


def test_every_op_goes_as_recorded(outcomes):
    recorded = {op: item["kind"] for op, item in json.loads(RECORD.read_text())["ops"].items()}
    kinds = {op: item.kind for op, item in outcomes.items()}
    assert {op: (recorded.get(op), kind) for op, kind in kinds.items() if recorded.get(op) != kind} == {}
    assert Counter(kinds.values())["match"] >= FEWEST_MATCHES
