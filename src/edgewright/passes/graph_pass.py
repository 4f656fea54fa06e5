"""What a pass is: a function that rewrites a graph in place, counts its changes and says why it refused."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from edgewright.core.registry import Registry
from edgewright.ir.graph import Graph, Node

log = logging.getLogger(__name__)

Rewrite = Callable[[Graph, Node], bool]

# A pass settles within a few rounds; one that does not must not keep a conversion from ending.
MOST_ROUNDS = 100


class Refused(Exception):
    """A rewrite that fits, but must not be made here; the text says why."""


@dataclass(frozen=True)
class GraphPass:
    """A registered pass. ``rtol`` is how far results may move (0: not at all)."""

    name: str
    function: Callable[[Graph], int]
    after: tuple[str, ...]
    rtol: float

    def __call__(self, graph: Graph) -> int:
        """Runs it until it finds nothing more; returns the number of changes."""
        total = 0
        for _ in range(MOST_ROUNDS):
            changes = self.function(graph)
            if not changes:
                break
            total += changes
            graph.sort()
        else:
            log.warning("%s: stopped after %d rounds that each found something", self.name, MOST_ROUNDS)
        if total:
            log.debug("%s: %d changes", self.name, total)
        return total


PASSES: Registry[str, GraphPass] = Registry("pass")


def register_pass(
    after: tuple[str, ...] = (), rtol: float = 0.0
) -> Callable[[Callable[[Graph], int]], Callable[[Graph], int]]:
    """Registers a pass under its function's name; ``after`` names passes that must have run before it."""

    def register(function: Callable[[Graph], int]) -> Callable[[Graph], int]:
        PASSES.add(function.__name__, GraphPass(function.__name__, function, after, rtol))
        return function

    return register


def rewrite_each(graph: Graph, rewrite: Rewrite) -> int:
    """Offers every node to a rewrite; returns how many it changed."""
    changes = 0
    for node in graph.nodes:
        if node not in graph:
            continue
        try:
            changes += rewrite(graph, node)
        except Refused as reason:
            log.debug("node '%s' is kept: %s", node.name, reason)
    return changes
