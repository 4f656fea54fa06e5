"""What a quantization costs: all that it computes, in passes of the float graph over the samples."""

from collections.abc import Container, Mapping, Sequence

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.cost import work_of
from edgewright.quantize.executor import Executor, Session

# Small networks are never too much work, however many passes it is (multiply-accumulates: a few seconds).
CHEAP = 60_000_000_000


class Meter:
    """An executor that counts the work of every run; other work is added to it.

    Args:
        executor: runs the graphs.
        graph: the float graph: one run of it for each sample is a pass.
        samples: how many samples there are.
    """

    def __init__(self, executor: Executor, graph: Graph, samples: int) -> None:
        self._executor = executor
        self.work_of_pass = max(1, samples * count_work(graph, graph.outputs))
        self.work = 0

    @property
    def passes(self) -> float:
        """What was computed so far, in passes."""
        return self.work / self.work_of_pass

    def add_work(self, macs: int) -> None:
        """Counts multiply-accumulates that no session computes."""
        self.work += macs

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> Session:
        """A session whose runs are counted."""
        return _MeteredSession(self, self._executor.prepare(graph, outputs), count_work(graph, outputs))


class _MeteredSession:
    def __init__(self, meter: Meter, session: Session, work: int) -> None:
        self._meter, self._session, self._work_of_run = meter, session, work

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        self._meter.add_work(self._work_of_run)
        return self._session.run(inputs)


def count_work(graph: Graph, outputs: Sequence[str]) -> int:
    """The work of what some values are computed from."""
    return sum(work_of(graph, node) for node in list_makers(graph, outputs, ()))


def list_makers(graph: Graph, values: Sequence[str], known: Container[str]) -> list[Node]:
    """The nodes that values are computed from, in order; those of known values are not needed."""
    needed, makers = set(values), list[Node]()
    for node in reversed(graph.nodes):
        is_needed = any(value in needed and value not in known for value in node.outputs)
        if is_needed:
            makers.append(node)
            needed.update(list_read_values(node))
    return makers[::-1]


def list_read_values(node: Node) -> list[str]:
    """What a node reads, in its subgraphs as well."""
    inner = [value for graph in node.subgraphs for each in graph.nodes for value in list_read_values(each)]
    return [value for value in (*node.inputs, *inner) if value]
