"""Hostile files and commands: one clean error, its exit code, 60 s, 2 GB, nothing beside or half-written."""

import re
from pathlib import Path

import pytest

from tests.hostile import (
    artifact_cases,
    config_cases,
    data_cases,
    environment_cases,
    onnx_cases,
    tensorflow_cases,
    tflite_cases,
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
}
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
# One of so many runs in `make test`, all of them in `make test-rest`.
SHARE = 8


@pytest.fixture(scope="module")
def runner():
    started = Runner()
    yield started
    started.close()


def list_cases():
    for kind, cases in CASES.items():
        for number, case in enumerate(cases):
            marks = () if number % SHARE == 0 else pytest.mark.slow
            yield pytest.param(case, id=f"{kind}: {case.name}", marks=marks)


@pytest.mark.parametrize("case", list_cases())
def test_a_hostile_file_is_one_clean_error(case, runner, tmp_path):
    check(case, runner, tmp_path)


def test_names_of_cases_are_unique():
    for cases in CASES.values():
        assert len({case.name for case in cases}) == len(cases)


def test_the_page_counts_the_cases_as_they_are():
    counts = dict(re.findall(r"^\| ([A-Za-z]+) \| ([0-9]+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert counts == {kind: str(len(cases)) for kind, cases in CASES.items()}
