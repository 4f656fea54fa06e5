"""Samples of a model that remembers: what one run leaves is given to the next, in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.frontends._common.imported import State
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.quantize.executor import Samples

__all__ = ["Carried", "Memory", "memories_of", "without_memories"]


@dataclass(frozen=True)
class Memory:
    """An output that becomes an input of the next run, and what it starts with."""

    input: str
    output: str
    # All elements in their order, as they are stored.
    first: tuple[float, ...]


def memories_of(states: Sequence[State]) -> tuple[Memory, ...]:
    """The states of an imported model as plain records."""
    return tuple(
        Memory(state.input, state.output, tuple(np.asarray(state.first).reshape(-1).tolist()))
        for state in states
    )


def without_memories(graph: Graph, memories: Sequence[Memory]) -> Graph:
    """A graph of the inputs that samples give."""
    carried = {memory.input for memory in memories}
    ends = Graph("inputs")
    for name in graph.inputs:
        if name not in carried:
            ends.add_input(name, graph.types[name])
    return ends


class Carried:
    """Samples with the states that the float model has when it comes to them."""

    def __init__(self, samples: Samples, graph: Graph, memories: Sequence[Memory]) -> None:
        self._samples, self._memories = samples, memories
        self._model = Model.of(graph)
        self._before: list[dict[str, Array]] = [{m.input: _first(graph, m) for m in memories}]
        self.notes = tuple(getattr(samples, "notes", ()))

    def __len__(self) -> int:
        sized: Any = self._samples
        return len(sized)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        yield from (self.at(number) for number in range(len(self)))

    def at(self, number: int) -> Mapping[str, Array]:
        """One sample; those before it are run once, for what they leave."""
        while len(self._before) <= number:
            found = self._model.run(self._with_states(len(self._before) - 1))
            self._before.append({m.input: np.asarray(found[m.output]) for m in self._memories})
        return self._with_states(number)

    def _with_states(self, number: int) -> dict[str, Array]:
        source: Any = self._samples
        return {**source.at(number), **self._before[number]}


def _first(graph: Graph, memory: Memory) -> Array:
    wanted = graph.types[memory.input]
    return np.array(memory.first).astype(wanted.dtype.numpy).reshape(wanted.static_shape())
