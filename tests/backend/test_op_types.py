"""Every op in every datatype of QNN's lists does what the page says."""

import json

import pytest

from edgewright.abi.libraries import find_libraries
from tests.backend.op_types import RECORD, check_op, list_names

RECORDED = json.loads(RECORD.read_text())


def compare(backend: str) -> None:
    """All ops that do something else than was recorded, at once."""
    found = {name: json.loads(json.dumps(check_op(name, backend))) for name in list_names()}
    changed = {n: [RECORDED[n][backend], found[n]] for n in found if RECORDED[n][backend] != found[n]}
    assert not changed, f"look at it, then record it: python -m tests.backend.op_types {backend}"


def test_cpu_backend_computes_every_op_in_every_datatype_as_defined() -> None:
    compare("cpu")
    words = {word for own in RECORDED.values() for rows in own["cpu"].values() for word, _, _ in rows}
    assert words == {"equal"}
    assert len(RECORDED) == 157


def test_simulation_does_what_the_page_says() -> None:
    compare("htp-sim")


@pytest.mark.slow
@pytest.mark.skipif(find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed")
def test_emulator_does_what_the_page_says() -> None:
    compare("htp-native")
