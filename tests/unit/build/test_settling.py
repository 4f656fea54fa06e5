"""Which rungs come next where the emulator does not keep what the simulation promised."""

from pathlib import Path

import pytest

from edgewright.build.build import _Build, _wider
from edgewright.build.order import BuildOrder
from edgewright.build.records import Rung
from edgewright.build.rungs import Tried
from edgewright.build.stages import Compiled, Evaluated
from edgewright.core.errors import BackendCrash
from edgewright.data.samples import DataWishes


def _ladder(chosen, *rungs):
    return [
        Tried(Rung(name, "", "htp-sim", 10, 100 - drop, drop, 30, 1, cost, is_chosen=name == chosen))
        for name, drop, cost in rungs
    ]


@pytest.mark.parametrize(
    ("chosen", "later"),
    [("mixed", ["w8a8+", "w8a16", "fp16"]), ("w8a16", ["fp16"]), ("fp16", [])],
)
def test_the_next_rung_is_the_cheapest_that_keeps_the_limit_and_costs_more(chosen, later):
    rungs = [("w8a8", 3, 1), ("w8a8+", 0.5, 1), ("mixed", 0.9, 0.6), ("w8a16", 0, 2), ("fp16", 0, 4)]
    assert _wider(_ladder(chosen, *rungs), 1) == later


class Told(_Build):
    """A build whose compiler and emulator answer as they are told: a number of points, or a refusal."""

    def __init__(self, answers):
        self._order = BuildOrder(Path("m.onnx"), "SM8650", Path("out"), DataWishes(None), max_drop=1.0)
        self._notes, self._refusal, self._answers, self.compiled = [], None, answers, ""

    def _judged(self, name):
        self.compiled = name
        if self._answers[name] is None:
            raise BackendCrash("refused")
        return Compiled("htp-native", ()), Evaluated((), self._answers[name], 0, ())

    def _simulated(self, name):
        return Compiled("htp-sim", ()), Evaluated((), 0.0, 0, ())

    def _compile(self, graph):
        self.compiled = graph

    def _path(self, name):
        return Path(name)


@pytest.mark.parametrize(
    ("mixed", "wide", "half", "taken", "is_refused"),
    [
        (0.5, None, None, "mixed", False),
        (1.2, 0.2, None, "w8a16", False),
        (1.2, None, 0.1, "fp16", False),
        (1.2, None, None, "mixed", False),
        (1.2, 1.1, 1.5, "w8a16", False),
        (None, None, None, "fp16", True),
    ],
)
def test_what_the_compiler_takes_and_loses_least_is_built(monkeypatch, mixed, wide, half, taken, is_refused):
    monkeypatch.setattr("edgewright.build.build.load_stored", lambda path: path.name)
    build = Told({"mixed": mixed, "w8a16": wide, "fp16": half})
    ladder, compiled, _ = build._settled(
        _ladder("mixed", ("mixed", 0.9, 0.6), ("w8a16", 0, 2), ("fp16", 0, 4))
    )
    assert [each.rung.name for each in ladder if each.rung.is_chosen] == [taken]
    assert build.compiled == taken
    assert (build._refusal is not None) == is_refused == (compiled.backend == "htp-sim")
