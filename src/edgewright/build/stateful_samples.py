"""Samples of a model with recurrent state: the state that one run leaves is given to the next, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.samples import BuildSamples, SampleSelection
from edgewright.frontends._common.imported import State
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.quantize.executor import Samples


@dataclass(frozen=True)
class RecurrentState:
    """An output that becomes an input of the next run, and its initial value."""

    input: str
    output: str
    # All elements in their order, as they are stored.
    initial: tuple[float, ...]


def record_states(states: Sequence[State]) -> tuple[RecurrentState, ...]:
    """The states of an imported model as plain records."""
    return tuple(
        RecurrentState(state.input, state.output, tuple(np.asarray(state.first).reshape(-1).tolist()))
        for state in states
    )


def drop_state_inputs(graph: Graph, states: Sequence[RecurrentState]) -> Graph:
    """A graph of the inputs that samples give."""
    carried = {state.input for state in states}
    inputs = Graph("inputs")
    for name in graph.inputs:
        if name not in carried:
            inputs.add_input(name, graph.types[name])
    return inputs


def add_states(samples: BuildSamples, graph: Graph, states: Sequence[RecurrentState]) -> BuildSamples:
    """The samples with the states that the float model has when it reaches them."""
    if not states:
        return samples
    sources = {id(part.samples): part.samples for part in _list_selections(samples)}
    stateful = {key: StatefulSamples(source, graph, states) for key, source in sources.items()}

    def select(part: SampleSelection) -> SampleSelection:
        return SampleSelection(stateful[id(part.samples)], part.numbers)

    return replace(
        samples,
        calibration=select(samples.calibration),
        choosing=replace(samples.choosing, selection=select(samples.choosing.selection)),
        judging=replace(samples.judging, selection=select(samples.judging.selection)),
    )


def _list_selections(samples: BuildSamples) -> list[SampleSelection]:
    return [samples.calibration, samples.choosing.selection, samples.judging.selection]


class StatefulSamples(IndexedSamples):
    """Samples with the states that the float model has when it reaches them."""

    def __init__(self, samples: Samples, graph: Graph, states: Sequence[RecurrentState]) -> None:
        self._samples, self._states = samples, states
        self._model = Model.of(graph)
        # The states before each sample that was reached so far.
        self._before: list[dict[str, Array]] = [{s.input: _make_initial_value(graph, s) for s in states}]

    def __len__(self) -> int:
        sized: Any = self._samples
        return len(sized)

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One sample; those before it are run once, for the states they leave."""
        while len(self._before) <= number:
            outputs = self._model.run(self._with_states(len(self._before) - 1))
            self._before.append({s.input: np.asarray(outputs[s.output]) for s in self._states})
        return self._with_states(number)

    def _with_states(self, number: int) -> dict[str, Array]:
        source: Any = self._samples
        return {**source[number], **self._before[number]}


def _make_initial_value(graph: Graph, state: RecurrentState) -> Array:
    expected = graph.types[state.input]
    return np.array(state.initial).astype(expected.dtype.numpy).reshape(expected.static_shape())
