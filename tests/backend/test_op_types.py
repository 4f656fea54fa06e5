"""Every op in every datatype of QNN's lists does what the page says."""

import json

import pytest

from docs.op_datatypes import REASONS, list_differing
from edgewright.abi.libraries import find_libraries
from tests.backend.op_types import RECORD, check_op, list_names

RECORDED = json.loads(RECORD.read_text())
RECORD_AGAIN = "if that is right, record it: python -m tests.backend.op_types BACKEND OP ..."


def list_losses(backend: str) -> dict[str, tuple[int, int]]:
    """Ops that are equal in fewer sets of datatypes than was recorded: how many were, how many are."""
    losses = {}
    for name in list_names():
        found = check_op(name, backend)
        for dtype, rows in RECORDED[name][backend].items():
            before, now = (sum(n for word, _, n in own if word == "equal") for own in (rows, found[dtype]))
            if now < before:
                losses[f"{name} {dtype}"] = before, now
    return losses


def test_cpu_backend_computes_every_op_in_every_datatype_as_defined() -> None:
    assert not list_losses("cpu")
    words = {word for own in RECORDED.values() for rows in own["cpu"].values() for word, _, _ in rows}
    assert words == {"equal"}
    assert len(RECORDED) == 157


def test_simulation_is_no_worse_than_the_page_says() -> None:
    assert not list_losses("htp-sim"), RECORD_AGAIN


@pytest.mark.exhaustive
@pytest.mark.skipif(find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed")
def test_emulator_is_no_worse_than_the_page_says() -> None:
    assert not list_losses("htp-native"), RECORD_AGAIN


def test_whatever_differs_has_a_reason_on_the_page() -> None:
    assert list_differing(RECORDED) == set(REASONS)
