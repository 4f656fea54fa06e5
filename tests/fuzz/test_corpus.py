"""What fuzzing found once is read, or refused with an error of ours; so are some more damaged files."""

import signal
from pathlib import Path
from random import Random

import pytest

from edgewright.core.errors import EdgewrightError
from edgewright.core.memory_limit import enable_memory_limit
from tests.fuzz import record
from tests.fuzz.formats import FORMATS

CORPUS = Path(__file__).parent / "corpus"
FOUND = sorted(path for path in CORPUS.rglob("*") if path.is_file())
# Enough to see that seeds, damage and reader of a format still work together.
EXECUTIONS = 25
ASKED = 20_000
# Whose seeds take seconds to make.
SLOW = {"build_record", "onnx", "onnx_to_dlc", "tensorflow_to_dlc", "tflite_to_dlc"}


def list_formats():
    for name, chosen in FORMATS.items():
        marks = pytest.mark.torch if chosen.needs_torch else pytest.mark.slow if name in SLOW else ()
        yield pytest.param(name, marks=marks)


@pytest.fixture(autouse=True)
def limited():
    """As tools are: a few bytes must not fill the memory."""
    enable_memory_limit()


def read(name, content, folder):
    path = folder / FORMATS[name].file
    path.write_bytes(content)
    signal.alarm(60)
    try:
        FORMATS[name].read(path)
    except EdgewrightError:
        return "refused"
    finally:
        signal.alarm(0)
    return "read"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_once_is_an_error_of_ours(path, tmp_path):
    read(path.parent.name, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", list_formats())
def test_damaged_files_are_read_or_refused(name, tmp_path):
    chosen, outcomes = FORMATS[name], set()
    seeds = list(chosen.seeds().values())
    assert any(read(name, seed, tmp_path) == "read" for seed in reversed(seeds))
    for number in range(EXECUTIONS):
        seed = Random(number).choice(seeds)
        damaged = chosen.change(Random(number), seed)
        assert damaged == chosen.change(Random(number), seed)
        outcomes.add(read(name, damaged, tmp_path))
    assert "refused" in outcomes


def test_the_page_shows_the_record_and_every_format_in_it_was_fuzzed_as_often_as_asked():
    assert record.make_table() in record.PAGE.read_text("utf-8")
    kept = record.read()
    assert kept.keys() <= FORMATS.keys()
    assert [name for name, row in kept.items() if row["executions"] < ASKED] == []
