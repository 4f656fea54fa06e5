"""What fuzzing found once is read, or refused with an error of ours; so are some more damaged files."""

import signal
from pathlib import Path
from random import Random

import pytest

from edgewright.core.errors import EdgewrightError
from tests.fuzz.formats import FORMATS

CORPUS = Path(__file__).parent / "corpus"
FOUND = sorted(path for path in CORPUS.rglob("*") if path.is_file())
# Enough to see that seeds, damage and reader of a format still work together.
EXECUTIONS = 25
NAMES = [pytest.param(name, marks=pytest.mark.torch if name == "torchscript" else ()) for name in FORMATS]


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


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused(name, tmp_path):
    chosen, outcomes = FORMATS[name], set()
    seeds = list(chosen.seeds().values())
    for number in range(EXECUTIONS):
        random = Random(number)
        outcomes.add(read(name, chosen.change(random, random.choice(seeds)), tmp_path))
    assert "refused" in outcomes


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_does_the_same_damage(name):
    chosen = FORMATS[name]
    seed = next(iter(chosen.seeds().values()))
    assert chosen.change(Random(7), seed) == chosen.change(Random(7), seed)
