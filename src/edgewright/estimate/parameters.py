"""The fitted parameters: what an amount of work takes on a chip, and how far that may be off."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from edgewright.estimate.work import AMOUNTS, Vector

# Precisions without public times, and the one whose constants they take.
STAND_INS = {"w4a16": "w8a16", "w4a8": "w8a8"}
# How much further (both ways) intervals of those reach.
STAND_IN_MARGIN = 1.3


@cache
def load_parameters() -> dict[str, Any]:
    """What `make fit-latency` wrote."""
    path = files("edgewright.estimate") / "_data" / "parameters.json"
    parameters: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return parameters


def find_fitted(precision: str) -> str:
    """The precision whose constants are used."""
    return STAND_INS.get(precision, precision)


def is_fitted(chip: str, precision: str) -> bool:
    """Whether a chip has factors in a precision."""
    return chip in load_parameters()["factors"][find_fitted(precision)]


def list_fitted_chips(precision: str) -> list[str]:
    """The chips with factors in a precision."""
    return list(load_parameters()["factors"][find_fitted(precision)])


def find_constants(chip: str, precision: str) -> Vector:
    """Microseconds for each amount of work."""
    return _combine(load_parameters(), chip, find_fitted(precision))


def list_refits(chip: str, precision: str) -> list[Vector]:
    """The same by fits that each left a family of networks out."""
    return [_combine(fit, chip, find_fitted(precision)) for fit in load_parameters()["refits"]]


def _combine(fit: dict[str, Any], chip: str, precision: str) -> Vector:
    factors, kinds = fit["factors"][precision][chip], fit["microseconds"][precision]
    return np.array([kinds[name] * factors[group] for name, group in AMOUNTS.items()])


def find_change_interval(source: str, target: str) -> tuple[float, float]:
    """The factors from an estimated change of precision to the ends of its interval."""
    source, target = find_fitted(source), find_fitted(target)
    low, high = load_parameters()["changes"].get(f"{source} {target}", (1.0, 1.0))
    return low, high


def find_interval(precision: str, kind: str) -> tuple[float, float]:
    """The factors from an estimate to the ends of its interval."""
    low, high = load_parameters()["bounds"][find_fitted(precision)][kind]
    margin = STAND_IN_MARGIN if precision in STAND_INS else 1.0
    return low / margin, high * margin
