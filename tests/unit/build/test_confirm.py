"""Which candidate is built where the emulator does not keep what the simulation promised."""

import pytest

from edgewright.build.candidates import CandidateResult, list_wider_candidates
from edgewright.build.confirm import confirm_candidate
from edgewright.build.records import Candidate
from edgewright.build.stages import CompileResult
from edgewright.core.errors import BackendCrash
from edgewright.evaluate.records import Loss
from edgewright.quantize.executor import OutOfTime


def _results(chosen, *candidates):
    return [
        CandidateResult(
            Candidate(name, "", "htp-sim", 10, 100 - drop, drop, 30, 1, cost, is_chosen=name == chosen)
        )
        for name, drop, cost in candidates
    ]


@pytest.mark.parametrize(
    ("chosen", "later"),
    [("mixed", ["w8a8+", "w8a16", "fp16"]), ("w8a16", ["fp16"]), ("fp16", [])],
)
def test_the_next_candidate_is_the_cheapest_that_keeps_the_limit_and_costs_more(chosen, later):
    candidates = [("w8a8", 3, 1), ("w8a8+", 0.5, 1), ("mixed", 0.9, 0.6), ("w8a16", 0, 2), ("fp16", 0, 4)]
    assert list_wider_candidates(_results(chosen, *candidates), 1) == later


@pytest.mark.parametrize(
    ("mixed", "wide", "half", "taken", "is_refused"),
    [
        (0.5, None, None, "mixed", False),
        (1.2, 0.2, None, "w8a16", False),
        (1.2, None, 0.1, "fp16", False),
        (1.2, None, None, "mixed", False),
        (1.2, 1.1, 1.5, "w8a16", False),
        (None, None, None, "fp16", True),
        (1.0, 0.0, 0.0, "mixed", False),
    ],
)
def test_what_the_compiler_takes_and_loses_least_is_built(mixed, wide, half, taken, is_refused):
    drops = {"mixed": mixed, "w8a16": wide, "fp16": half}

    def compile_candidate(name):
        if drops[name] is None:
            raise BackendCrash("refused")
        return CompileResult("htp-native", ()), Loss("y", "htp-native", 9, drops[name], 0, 9, 90)

    confirmed = confirm_candidate(["mixed", "w8a16", "fp16"], 1.0, compile_candidate)
    assert confirmed.name == taken
    assert (confirmed.refusal is not None) == is_refused == (confirmed.compiled is None)


def test_an_error_that_is_no_refusal_ends_the_build():
    def compile_candidate(name):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        confirm_candidate(["mixed", "fp16"], 1.0, compile_candidate)


@pytest.mark.parametrize(
    ("late", "taken", "notes"),
    [
        (
            "fp16",
            "mixed",
            ["mixed loses 5.00 points on the emulator: fp16 is taken", "fp16 was not compiled"],
        ),
        ("mixed", "mixed", ["mixed was not compiled: the time was up"]),
    ],
)
def test_what_is_not_compiled_in_time_leaves_what_was_before(late, taken, notes):
    def compile_candidate(name):
        if name == late:
            raise OutOfTime("the time was up")
        return CompileResult("htp-native", ()), Loss("y", "htp-native", 9, 5.0, 0, 9, 90)

    confirmed = confirm_candidate(["mixed", "fp16"], 1.0, compile_candidate)
    assert confirmed.name == taken
    assert (confirmed.compiled is None) == (late == taken)
    assert [note[: len(text)] for note, text in zip(confirmed.notes, notes, strict=True)] == notes
