"""Variables of a TFLite model: what a run leaves behind becomes inputs and outputs of the graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edgewright.core.errors import UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array
from edgewright.frontends._common.imported import State
from edgewright.ir.types import TensorType

if TYPE_CHECKING:
    from edgewright.frontends._common.builder import Builder


@dataclass
class _Variable:
    """What is known of one variable while the graph is built."""

    name: str
    input: str = ""
    now: str = ""
    first: str = ""
    is_written: bool = field(default=False)


class Variables:
    """The variables by the handles that flow through the graph as names."""

    def __init__(self, builder: "Builder") -> None:
        self._builder = builder
        self._by_handle: dict[str, _Variable] = {}
        self._is_starting = False

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Inside, what is assigned is the value that a variable starts with."""
        before, self._is_starting = self._is_starting, True
        try:
            yield
        finally:
            self._is_starting = before

    def handle(self, container: str, name: str) -> str:
        """The handle of a variable: a name that the graph does not know."""
        handle = f"variable {container}/{name}"
        self._by_handle.setdefault(handle, _Variable(name or "variable"))
        return handle

    def read(self, handle: str, declared: TensorType) -> str:
        """The value that a variable has now; before the first assignment it is an input."""
        found = self._find(handle)
        if not found.now:
            taken = found.name in self._builder.graph.types
            name = self._builder.graph.fresh_name(found.name) if taken else found.name
            found.input = found.now = self._builder.graph.add_input(name, declared)
        return found.now

    def assign(self, handle: str, value: str) -> None:
        """Gives a variable a value."""
        found = self._find(handle)
        if self._is_starting:
            found.first = value
        else:
            found.now, found.is_written = value, True

    def states(self) -> list[tuple[State, str]]:
        """Each variable that carries something from run to run, and its last value."""
        return [(self._state(item), item.now) for item in self._by_handle.values() if item.input]

    def _state(self, item: _Variable) -> State:
        declared = self._builder.type(item.input)
        shape = tuple(int(dim) for dim in declared.shape)
        first = self._first(item)
        if first is None:
            # Nothing says otherwise: real zeros.
            zero = 0 if declared.encoding is None else -declared.encoding.offsets[0]
            first = np.full(shape, zero, declared.dtype.numpy)
        return State(item.input, f"{item.input}_out", first, declared)

    def _first(self, item: _Variable) -> Array | None:
        return self._builder.find_array(item.first) if item.first else None

    def _find(self, handle: str) -> _Variable:
        if handle not in self._by_handle:
            raise UnsupportedFeature(
                f"'{shown(handle)}' is used as a variable, expected a handle of one",
                Where(tensor=handle),
                do="export a model without tables",
            )
        return self._by_handle[handle]
