"""The user's own metric: a Python function of one output, from a file that the user names."""

import inspect
import math
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.build import split_metric
from edgewright.core.errors import EdgewrightError, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import ANY, Answer, MeanMeasure
from edgewright.evaluate.records import shorten_metric_name

OwnFunction = Callable[..., float]
FORM = "a function of (output, reference, label) that returns a number, 1 for a perfect output"
# A first argument of this name gets all outputs at once, by their names.
ALL_OUTPUTS = "outputs"
# What rounding adds to a perfect figure at most.
ROUNDING = 1e-3


class OwnMeasure(MeanMeasure):
    """The mean over samples of what a function returns."""

    label_kind = ANY
    is_unknown = True

    def __init__(self, name: str, function: OwnFunction) -> None:
        self._name, self._function = name, function
        self._count = _count_arguments(name, function)
        self.name, self.text = name, f"mean over samples of {shorten_metric_name(name)}"
        self.is_joint = next(iter(inspect.signature(function).parameters)) == ALL_OUTPUTS

    def is_of(self, function: OwnFunction) -> bool:
        """Whether it is made of this very function."""
        return self._function is function

    def describe_code(self) -> str:
        """The compiled function; a callable object has none."""
        code = getattr(self._function, "__code__", None)
        return "" if code is None else f"{code.co_code.hex()} {code.co_consts} {code.co_names}"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """One number for each sample."""
        # Copies, for a function may compute in place.
        given: tuple[Any, ...] = (
            answer.result.reshape(answer.reference.shape).copy(),
            answer.reference.copy(),
            answer.label,
        )
        if self.is_joint:
            given = (_copy_all(answer.results), _copy_all(answer.references), answer.label)
        value: Any = _call(self._name, lambda: self._function(*given[: self._count]))
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(
                f"the metric '{shown(self._name)}' returned {shown(repr(value))}, expected a number",
                do=f"write {FORM}",
            )
        if number > 1 + ROUNDING:
            raise UsageError(
                f"the metric '{shown(self._name)}' returned {number:g}, expected 1 at most",
                do=f"write {FORM}",
            )
        return number, 1.0


def _copy_all(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.array(array) for name, array in arrays.items()}


# Functions that were handed over in Python, and those of files that were run, by name.
_FUNCTIONS: dict[str, OwnMeasure] = {}


def keep_own_function(function: OwnFunction) -> str:
    """The name under which a metric finds a function that was handed over in Python."""
    plain = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', 'metric')}"
    # Two lambdas of one place have the same name.
    taken = (f"{plain}#{number}" for number in range(2, len(_FUNCTIONS) + 3))
    name = plain
    while name in _FUNCTIONS and not _FUNCTIONS[name].is_of(function):
        name = next(taken)
    _FUNCTIONS[name] = OwnMeasure(name, function)
    return name


def open_own_function(name: str) -> OwnMeasure:
    """Runs the file, as the user asks by naming it, and takes the function from it."""
    if name not in _FUNCTIONS:
        _FUNCTIONS[name] = _read_function(name)
    return _FUNCTIONS[name]


def _read_function(name: str) -> OwnMeasure:
    path, _, function = name.rpartition(":")
    if not path.endswith(".py") or not Path(path).is_file():
        raise UsageError(
            f"there is no metric '{shown(name)}'",
            Where(file=path) if path else None,
            do="edgewright build --help lists the metrics; one of your own is FILE.py:FUNCTION",
        )
    made = _call(name, lambda: runpy.run_path(path)).get(function)
    if not callable(made):
        raise UsageError(
            f"'{shown(path)}' has no function '{shown(function)}'", Where(file=path), do=f"write {FORM}"
        )
    return OwnMeasure(name, made)


def _call(name: str, act: Callable[[], Any]) -> Any:
    """What the user's own code gives; where it fails, that is said in its words."""
    try:
        return act()
    except EdgewrightError:
        raise
    except Exception as problem:
        what = f"{type(problem).__name__}: {problem}"
        raise UsageError(
            f"the metric '{shown(name)}' failed with {shown(what)}", do=f"write {FORM}"
        ) from problem


def read_own_source(name: str) -> str:
    """What a metric of one's own is made of, so that a changed one is told from it; empty for others.

    Of metrics with a file, such as an alphabet, that file.
    """
    return "".join(_read_one_source(each) for each in split_metric(name).values())


def _read_one_source(name: str) -> str:
    path = Path(name.rpartition(":")[0])
    if path.suffix == ".py" and path.is_file():
        return path.read_text("utf-8", errors="replace")
    if name in _FUNCTIONS:
        return _FUNCTIONS[name].describe_code()
    alphabet = Path(name.split(":")[1]) if name.count(":") else Path()
    return alphabet.read_text("utf-8", errors="replace") if alphabet.is_file() else ""


def _count_arguments(name: str, function: OwnFunction) -> int:
    """How many of output, reference and label it takes."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    count = sum(
        kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD} for kind in kinds
    )
    if not 1 <= count <= 3:
        raise UsageError(f"the metric '{shown(name)}' takes {count} arguments", do=f"write {FORM}")
    return count
