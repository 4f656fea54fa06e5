"""What a throughput test measured: totals, each thread, errors and files."""

from edgewright.core.page import Block, Table
from edgewright.sdk.throughput.records import GraphResult, ThreadResult, ThroughputResult

_HEADERS = (
    *("thread", "backend", "model", "graph", "runs", "avg us", "min us", "p50 us", "p90 us", "p95 us"),
    *("p99 us", "max us", "inf/sec"),
)


def make_page(result: ThroughputResult, file: str | None = None) -> list[Block]:
    """The report; the last lines have the form that scripts look for."""
    rows = tuple(_make_row(thread, graph) for thread in result.threads for graph in thread.graphs)
    blocks: list[Block] = [Table("Threads", _HEADERS, rows, frozenset(range(4, len(_HEADERS))))]
    errors = tuple(
        (thread.name, graph.graph, error.name, f"{error.mean:.6g}", f"{error.worst:.6g}")
        for thread in result.threads
        for graph in thread.graphs
        for error in graph.errors
    )
    if errors:
        headers = ("thread", "graph", "output", "mean", "worst")
        blocks.append(Table("Mean squared errors", headers, errors, frozenset({3, 4})))
    blocks += _list_totals(result)
    blocks += [f"note: {note}" for note in result.notes]
    blocks += [f"TotalTime: {result.seconds * 1e6:.0f} us"]
    blocks += [_count_executions(thread) for thread in result.threads]
    return blocks + _list_files(result, file)


def _list_totals(result: ThroughputResult) -> list[str]:
    how = "" if result.is_complete else ", stopped before the end"
    counted = f"{result.iterations} iterations{how}: {result.executions} executions in {result.seconds:.2f} s"
    memory = f"memory {result.memory.ready:.0f} MB at the start, {result.memory.end:.0f} MB at the end"
    return [
        f"{counted}, {result.throughput:.2f} inf/sec over all threads",
        f"{memory}; processor time {result.processor:.2f} s",
    ]


def _make_row(thread: ThreadResult, graph: GraphResult) -> tuple[str, ...]:
    latency = graph.latency
    times = (latency.mean, latency.least, latency.p50, latency.p90, latency.p95, latency.p99, latency.most)
    rate = graph.executions / thread.seconds if thread.seconds else 0.0
    names = (thread.name, thread.backend, thread.model, graph.graph, str(graph.executions))
    return (*names, *(f"{time:.0f}" for time in times), f"{rate:.2f}")


def _count_executions(thread: ThreadResult) -> str:
    total = sum(graph.latency.mean * graph.executions for graph in thread.graphs)
    average = total / thread.executions if thread.executions else 0.0
    return (
        f"{thread.name}:graphExecute: {thread.executions} runs, {total:.0f} us, {average:.0f} us on average"
    )


def _list_files(result: ThroughputResult, file: str | None) -> list[str]:
    graphs = [graph for thread in result.threads for graph in thread.graphs]
    lines = [f"wrote outputs of {graph.saved} runs to {graph.folder}" for graph in graphs if graph.saved]
    lines += [f"wrote {graph.profile}" for graph in graphs if graph.profile]
    return lines + ([f"wrote {file}"] if file else [])
