"""Arithmetic that few bits destroy: roots, reciprocals and logarithms, with the sums around them.

A norm that is spelled out subtracts two large numbers, takes a root and divides by it. Of 256 steps nothing
is left on the way, although its result needs no more than that.
"""

from edgewright.ir.graph import Graph, Node


def find_fragile_nodes(graph: Graph) -> set[str]:
    """Names of nodes that must not be in 8 bits: seeds, what applies them, what is made for them alone."""
    fragile = {node.name: node for node in graph.nodes if node.op.specific().is_fragile}
    for node in list(fragile.values()):
        for reader in _find_appliers(graph, node):
            fragile[reader.name] = reader
    pending = list(fragile.values())
    while pending:
        for value in pending.pop().inputs:
            maker = graph.producer(value)
            if maker is None or maker.name in fragile or not maker.op.specific().is_arithmetic:
                continue
            outputs = [name for name in maker.outputs if name]
            readers = [reader for name in outputs for reader in graph.consumers(name)]
            is_only_theirs = not any(name in graph.outputs for name in outputs)
            if is_only_theirs and all(reader.name in fragile for reader in readers):
                fragile[maker.name] = maker
                pending.append(maker)
    return set(fragile)


def _find_appliers(graph: Graph, seed: Node) -> list[Node]:
    """The arithmetic that applies a statistic to the data, up to and with the op that reads the data.

    None where the seed is no statistic: what it makes is as large as what is made of it.
    """
    appliers: list[Node] = []
    pending = [seed]
    while pending:
        node = pending.pop()
        for reader in graph.consumers(node.outputs[0]):
            if reader in appliers or not reader.op.specific().is_arithmetic:
                continue
            appliers.append(reader)
            if all(value == node.outputs[0] or value in graph.constants for value in reader.inputs if value):
                pending.append(reader)
    size = graph.types[seed.outputs[0]].count
    return appliers if any(graph.types[reader.outputs[0]].count != size for reader in appliers) else []
