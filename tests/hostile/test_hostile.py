"""Hostile files and commands: one clean error, its exit code, 60 s, 2 GB, nothing beside or half-written."""

import re
from pathlib import Path

import pytest

from tests.hostile import (
    artifact_cases,
    bomb_cases,
    config_cases,
    data_cases,
    environment_cases,
    file_cases,
    folder_cases,
    llm_cases,
    onnx_cases,
    onnx_op_cases,
    onnx_parts_cases,
    place_cases,
    pytorch_cases,
    tensorflow_cases,
    tflite_cases,
    tool_cases,
)
from tests.hostile.case import Runner, check

CASES = {
    "ONNX": onnx_cases.CASES,
    "TFLite": tflite_cases.CASES,
    "TensorFlow": tensorflow_cases.CASES,
    "samples": data_cases.CASES,
    "configurations": config_cases.CASES,
    "artifacts": artifact_cases.CASES,
    "surroundings": environment_cases.CASES,
    "growth": bomb_cases.CASES,
    "folders": folder_cases.CASES,
    "PyTorch": pytorch_cases.CASES,
    "checkpoints": llm_cases.CASES,
    "tools": tool_cases.CASES,
    "parts": onnx_parts_cases.CASES,
    "files": file_cases.CASES,
    "places": place_cases.CASES,
    "ops": onnx_op_cases.CASES,
}
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
# One of so many runs in `make test`; in `make test-rest` all of the first kinds, one of so many of the rest.
SHARE, REST = 16, 6
WHOLE = list(CASES)[:7]
# These import torch, or take seconds each.
HEAVY = {"PyTorch": pytest.mark.torch, "growth": pytest.mark.slow}


@pytest.fixture(scope="module")
def runner():
    started = Runner()
    yield started
    started.close()


def list_cases():
    for kind, cases in CASES.items():
        for number, case in enumerate(cases):
            yield pytest.param(case, id=f"{kind}: {case.name}", marks=choose_marks(kind, number))


def choose_marks(kind, number):
    marks = [HEAVY[kind]] if kind in HEAVY else []
    if number % SHARE == 0:
        return marks
    is_rare = kind not in WHOLE and number % REST
    return [*marks, pytest.mark.exhaustive if is_rare else pytest.mark.slow]


@pytest.mark.parametrize("case", list_cases())
def test_a_hostile_file_is_one_clean_error(case, runner, tmp_path):
    check(case, runner, tmp_path)


def test_names_of_cases_are_unique():
    for cases in CASES.values():
        assert len({case.name for case in cases}) == len(cases)


def test_the_page_counts_the_cases_as_they_are():
    counts = dict(re.findall(r"^\| ([A-Za-z]+) \| ([0-9]+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert counts == {kind: str(len(cases)) for kind, cases in CASES.items()}
