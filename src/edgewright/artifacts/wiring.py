"""Whether the nodes and tensors of records that were read fit together."""

from dataclasses import replace

from edgewright.core.errors import BadInput, Where, shown
from edgewright.lower.qnn_graph import QnnNode, QnnTensor, TensorKind

_WRITTEN_BY_NODES = frozenset({TensorKind.NATIVE, TensorKind.APP_READ, TensorKind.APP_READWRITE})


def check_order(tensors: dict[str, QnnTensor], nodes: list[QnnNode], file: Where) -> None:
    """Every tensor is written once, by a node that comes before those that read it."""
    made_here = {TensorKind.NATIVE, TensorKind.APP_READ}
    ready = {name for name, tensor in tensors.items() if tensor.kind not in made_here}
    written: set[str] = set()
    for node in nodes:
        where = replace(file, node=node.name)
        for name in node.inputs:
            if name not in tensors:
                raise BadInput(f"input '{shown(name)}' is not among the tensors", where)
            if name not in ready:
                raise BadInput(f"input '{shown(name)}' is read before a node has written it", where)
        for name in node.outputs:
            _check_output(tensors, name, written, where)
            written.add(name)
            ready.add(name)
    _check_graph_outputs(tensors, written, file)


def _check_output(tensors: dict[str, QnnTensor], name: str, written: set[str], where: Where) -> None:
    if name not in tensors:
        raise BadInput(f"output '{shown(name)}' is not among the tensors", where)
    kind = tensors[name].kind
    if kind not in _WRITTEN_BY_NODES:
        raise BadInput(f"output '{shown(name)}' has tensor type {int(kind)}, which no node may write", where)
    if name in written:
        raise BadInput(f"output '{shown(name)}' is written by two nodes", where)


def _check_graph_outputs(tensors: dict[str, QnnTensor], written: set[str], file: Where) -> None:
    for name, tensor in tensors.items():
        if tensor.kind == TensorKind.APP_READ and name not in written:
            raise BadInput("no node writes this graph output", replace(file, tensor=name))
