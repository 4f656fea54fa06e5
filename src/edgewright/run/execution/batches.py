"""Larger batches at execution: a graph runs several times over parts of its inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewright.backends.base import NodeTime, Session, TimesNodes
from edgewright.core.errors import UsageError, Where
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph


def multiply_batch(graph: Graph, factor: int, tensors: Sequence[str]) -> Graph:
    """The graph as it looks from outside with a batch that is ``factor`` times as large."""
    scalars = [name for name in graph.inputs if not graph.types[name].static_shape()]
    if scalars:
        raise UsageError(
            f"--batch_multiplier is {factor}, but input '{scalars[0]}' is a scalar, expected a batch",
            Where(tensor=scalars[0]),
            do="leave --batch_multiplier out",
        )
    outside = graph.copy()
    for name in (*graph.inputs, *tensors):
        tensor_type = graph.types[name]
        first, *rest = tensor_type.static_shape() or (1,)
        outside.types[name] = replace(tensor_type, shape=(first * factor, *rest))
    return outside


@dataclass(frozen=True)
class BatchSession:
    """A session whose inputs hold several batches; outputs are joined along their first axis."""

    session: Session
    factor: int

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Values of the outputs, by name."""
        cut = {name: np.split(array, self.factor) for name, array in inputs.items()}
        runs = [self.session.run({name: parts[i] for name, parts in cut.items()}) for i in range(self.factor)]
        return {name: np.concatenate([np.atleast_1d(run[name]) for run in runs]) for name in runs[0]}

    def placement(self) -> Mapping[str, str]:
        """Node name -> how it runs."""
        return self.session.placement()

    def node_times(self) -> list[NodeTime]:
        """Times of the nodes; all parts of a batch are one run."""
        if not isinstance(self.session, TimesNodes):
            return []
        return [replace(time, run=time.run // self.factor) for time in self.session.node_times()]

    def profile(self) -> list[Any]:
        """What the backend measured since the last call."""
        events: list[Any] = getattr(self.session, "profile", list)()
        return events
