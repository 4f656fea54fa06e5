"""Checks that a graph is valid: values defined once, before their use, with the types their ops infer."""

from collections.abc import Iterator, Mapping, Sequence

from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Port
from edgewright.ir.types import TensorType

Findings = Iterator[tuple[str, Where]]
Types = Mapping[str, TensorType]


def verify(graph: Graph, after: str = "") -> None:
    """Raises all problems of a graph at once; ``after`` names the pass that ran before."""
    found = problems_of(graph, after)
    if found:
        raise Problems(found)


def problems_of(graph: Graph, after: str = "", outer: Types | None = None) -> list[EdgewrightError]:
    """What is wrong with a graph; ``outer`` are values of the graphs around it, which it may read."""
    blame = f"report this: pass '{after}' broke the graph" if after else "fix the code that builds the graph"
    around = outer or {}
    findings = [*_definitions(graph), *_uses(graph, around), *_constants(graph), *_index(graph)]
    types = {**around, **graph.types}
    if not findings:  # types mean nothing while definitions are wrong
        for node in graph.nodes:
            findings += [*_ports(types, node)] or [*_results(types, node)]
    problems: list[EdgewrightError] = [BadInput(what, where, blame) for what, where in findings]
    for node in graph.nodes:
        for subgraph in node.subgraphs:
            problems += problems_of(subgraph, after, types)
    return problems


def _definitions(graph: Graph) -> Findings:
    """Every value is defined once and has a type; nothing else has one."""
    defined: dict[str, str] = {}
    made = ((value, f"node '{node.name}'") for node in graph.nodes for value in node.outputs if value)
    declared = [*((v, "the inputs") for v in graph.inputs), *((v, "the constants") for v in graph.constants)]
    for value, by in (*declared, *made):
        if value in defined:
            yield f"value is defined by {by} and by {defined[value]}, expected once", Where(tensor=value)
        elif value not in graph.types:
            yield f"value of {by} has no type", Where(tensor=value)
        defined[value] = by
    for value in graph.types.keys() - defined.keys():
        yield "value has a type, but nothing defines it", Where(tensor=value)


def _uses(graph: Graph, outer: Types) -> Findings:
    """Every value is defined before it is read."""
    known = {*graph.inputs, *graph.constants, *outer}
    later = {value: node.name for node in graph.nodes for value in node.outputs}
    for node in graph.nodes:
        for value in node.inputs:
            if value and value not in known:
                why = (
                    f"only node '{later[value]}' after it computes it"
                    if value in later
                    else "nothing computes it"
                )
                yield f"value '{value}' is read, but {why}", Where(node=node.name, tensor=value)
        known.update(node.outputs)
    for value in graph.outputs:
        if value not in known:
            yield "nothing computes the graph output", Where(tensor=value)


def _constants(graph: Graph) -> Findings:
    """Constants match their types."""
    for value, array in graph.constants.items():
        wanted = graph.types.get(value)
        if wanted is not None and (array.shape != wanted.shape or array.dtype != wanted.dtype.numpy):
            yield f"constant is {array.dtype}{list(array.shape)}, its type says {wanted}", Where(tensor=value)


def _index(graph: Graph) -> Findings:
    """The graph's indexes agree with its nodes."""
    names: set[str] = set()
    for node in graph.nodes:
        if node.name in names or node not in graph:
            yield (
                "two nodes have this name, or the node was renamed without the graph",
                Where(node=node.name),
            )
        names.add(node.name)
        for value in node.outputs:
            if value and graph.producer(value) is not node:
                yield (
                    "the graph does not know which node computes this value",
                    Where(node=node.name, tensor=value),
                )
        for value in node.inputs:
            if value and node not in graph.consumers(value):
                yield (
                    "the graph does not know that this node reads the value",
                    Where(node=node.name, tensor=value),
                )


def _ports(types: Types, node: Node) -> Findings:
    """Inputs and outputs fit the op's ports."""
    yield from _side(types, node, node.inputs, node.op.inputs, "input")
    yield from _side(types, node, node.outputs, node.op.outputs, "output")


def _side(types: Types, node: Node, values: Sequence[str], ports: Sequence[Port], side: str) -> Findings:
    where = Where(op=node.op.qnn_name(), node=node.name)
    is_open = bool(ports) and ports[-1].is_repeated
    if len(values) > len(ports) and not is_open:
        yield f"{len(values)} {side}s are given, the op has {len(ports)}", where
    # Behind one that may be repeated, the others have no fixed places.
    fixed = next((index for index, port in enumerate(ports) if port.is_repeated), len(ports))
    for index, port in enumerate(ports[: fixed + 1]):
        if port.is_required and side == "input" and not any(values[index : index + 1]):
            yield f"required {side} {port.name} is left out", where
    for index, value in enumerate(values):
        if value and (index < len(ports) or is_open):
            yield from _place(types[value], ports[min(index, len(ports) - 1)], value, where)


def _place(found: TensorType, port: Port, value: str, where: Where) -> Findings:
    place = Where(op=where.op, node=where.node, tensor=value)
    if port.rank is not None and found.rank != port.rank:
        yield f"{port.name} is {found}, expected rank {port.rank}", place
    # Where a float is allowed, fixed point is too: its integers stand for floats.
    is_meant = found.dtype.is_fixed_point and DType.FLOAT_32 in port.dtypes
    if found.dtype not in port.dtypes and not is_meant:
        yield f"{port.name} is {found}, expected one of {sorted(d.name for d in port.dtypes)}", place


def _results(types: Types, node: Node) -> Findings:
    """Outputs have the types that the shape rule infers."""
    where = Where(op=node.op.qnn_name(), node=node.name)
    try:
        inferred = node.op.types_for([types[value] if value else None for value in node.inputs])
    except EdgewrightError as problem:
        yield f"the op does not accept its inputs: {problem.what}", where
        return
    if len(node.outputs) > len(inferred):
        yield f"{len(node.outputs)} outputs are named, the op has {len(inferred)}", where
    for value, wanted in zip(node.outputs, inferred, strict=False):
        if value and not _agree(types[value], wanted):
            place = Where(op=where.op, node=where.node, tensor=value)
            yield f"value is {types[value]}, the op computes {wanted}", place


def _agree(stored: TensorType, inferred: TensorType) -> bool:
    # Artifacts have no rank 0: [1] stands for it. Fixed-point types come from a quantizer, not a shape rule.
    is_same_shape = stored.shape == inferred.shape or (stored.shape, inferred.shape) == ((1,), ())
    is_fixed_point = stored.dtype.is_fixed_point or inferred.dtype.is_fixed_point
    return is_same_shape and (stored.dtype == inferred.dtype or is_fixed_point)
