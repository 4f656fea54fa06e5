"""A few hundred damaged models, the same ones each time: each converts or is refused, never anything else.

Longer: python -m tests.backend.fuzz --seed 2 --count 5000
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.backend.fuzz import models, one
from tests.backend.fuzz_children import Found, in_children

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "models"


def found_by(*words):
    """Outcomes of the fuzzer, in a process of its own: it forks, which one with threads should not."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.backend.fuzz", "--all", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Found(**json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "1", "--count", "300"),
        ("--seed", "2", "--count", "25", "--tools"),
        ("--seed", "3", "--count", "60", "--corpus", str(EXAMPLES)),
    ],
    ids=["node cases", "tools", "a real model"],
)
def test_damaged_models_convert_or_are_refused(words):
    found = found_by(*words)
    assert [item for item in found if not item.is_clean] == []
    assert len(found) == int(words[3])
    if "--tools" not in words:
        # Damage that nobody survives, or that does no damage, would show nothing.
        assert min(Counter(item.kind for item in found).values()) > len(found) / 10


def test_the_same_seed_damages_in_the_same_way():
    sources = models(EXAMPLES)
    assert one(1, 5, sources) == one(1, 5, sources) != one(1, 6, sources)


def test_what_must_not_be_is_found():
    def misbehave(index):
        if index == 0:
            os.abort()
        if index == 1:
            time.sleep(60)
        return Found(index, "raised" if index == 2 else "ok")

    assert [item.kind for item in in_children(misbehave, range(4), 1.0)] == ["crash", "hang", "raised", "ok"]
