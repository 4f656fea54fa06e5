"""Computes only the branch that is taken: a choice between two values by one truth becomes an If of ONNX."""

from collections.abc import Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

import onnx

from edgewright.backends.cpu.engine_model import WrittenModel
from edgewright.ir.dims import Dim

# A branch without any of these costs less than an If.
COSTLY = frozenset(
    {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "ConvInteger", "MatMulInteger"}
)
Nodes = list[onnx.NodeProto]
UNKNOWN = "?"


def with_branches(model: WrittenModel) -> WrittenModel:
    """The model, or one that runs what only one side of a choice needs in that case alone."""
    if not any(node.op_type == "Where" for node in model.proto.graph.node):
        return model
    chooser = _Chooser(model)
    nodes = chooser.write_branches()
    if nodes is None:
        return model
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    return replace(model, proto=proto)


class _Chooser:
    def __init__(self, model: WrittenModel) -> None:
        proto = model.proto
        self._nodes: Nodes = list(proto.graph.node)
        inferred = onnx.shape_inference.infer_shapes(proto).graph
        known = (*inferred.input, *inferred.value_info, *inferred.output)
        self._types = {item.name: item.type.tensor_type for item in known}
        self._outputs = {item.name for item in proto.graph.output}
        # The graph knows which open sizes are one and the same.
        self._shapes = model.shapes

    def write_branches(self) -> Nodes | None:
        """The nodes in an order that can run; None where no branch is worth it."""
        has_changed = False
        for condition in dict.fromkeys(node.input[0] for node in self._nodes if self._is_choice(node)):
            nodes = self._write_choice(condition)
            if nodes is not None:
                self._nodes, has_changed = nodes, True
        return self._nodes if has_changed else None

    def _is_choice(self, node: onnx.NodeProto) -> bool:
        """Whether one truth chooses between values of one shape."""
        if node.op_type != "Where" or not all(map(self._has_shape, node.input)):
            return False
        truth, left, right = (self._list_dims(name) for name in node.input)
        is_one = all(dim == 1 for dim in truth) and len(truth) <= len(left)
        return is_one and left == right and UNKNOWN not in left

    def _has_shape(self, name: str) -> bool:
        """Whether a shape was inferred: an unknown one has no dimensions either, like that of one number."""
        return name in self._types and self._types[name].HasField("shape")

    def _list_dims(self, name: str) -> list[Dim | str]:
        known = self._shapes.get(name)
        inferred = [dim.dim_value or UNKNOWN for dim in self._types[name].shape.dim]
        return inferred if known is None else list(known)

    def _list_sizes(self, name: str) -> list[int | None]:
        return [dim if isinstance(dim, int) else None for dim in self._list_dims(name)]

    def _write_choice(self, condition: str) -> Nodes | None:
        choices = [node for node in self._nodes if self._is_choice(node) and node.input[0] == condition]
        sides = [self._find_exclusive(choices, place) for place in (1, 2)]
        if not any(node.op_type in COSTLY for side in sides for node in side):
            return None
        taken = {id(node) for nodes in (*sides, choices) for node in nodes}
        graphs = [self._write_side(choices, side, place) for side, place in zip(sides, (1, 2), strict=True)]
        names = [node.output[0] for node in choices]
        choice = onnx.helper.make_node(
            "If", [condition], names, name=choices[-1].name, then_branch=graphs[0], else_branch=graphs[1]
        )
        return _sort_nodes([*(node for node in self._nodes if id(node) not in taken), choice])

    def _find_exclusive(self, choices: Nodes, place: int) -> Nodes:
        """Nodes that nothing reads but one side of the choices, in their order."""
        chosen = {id(node) for node in choices}
        readers: dict[str, list[onnx.NodeProto | None]] = {name: [None] for name in self._outputs}
        for node in self._nodes:
            inner = sorted(_list_reads(node) - set(node.input))
            for index, name in enumerate((*node.input, *inner)):
                is_other = id(node) in chosen and index != place
                readers.setdefault(name, []).append(None if is_other else node)
        inside: set[int] = set(chosen)
        exclusive: Nodes = []
        for node in reversed(self._nodes):
            used = [reader for name in node.output for reader in readers.get(name, [])]
            if id(node) not in chosen and used and all(r is not None and id(r) in inside for r in used):
                inside.add(id(node))
                exclusive.append(node)
        return exclusive[::-1]

    def _write_side(self, choices: Nodes, side: Nodes, place: int) -> onnx.GraphProto:
        names = [f"{node.output[0]}/{place}" for node in choices]
        copies = [
            onnx.helper.make_node("Identity", [node.input[place]], [name], name=f"{node.name}/{place}")
            for node, name in zip(choices, names, strict=True)
        ]
        results = [
            onnx.helper.make_tensor_value_info(
                name, self._types[node.input[place]].elem_type, self._list_sizes(node.input[place])
            )
            for node, name in zip(choices, names, strict=True)
        ]
        return onnx.helper.make_graph([*side, *copies], f"branch{place}", [], results)


def _sort_nodes(nodes: Sequence[onnx.NodeProto]) -> Nodes | None:
    """The nodes behind what they read; None where choices depend on each other."""
    makers = {name: index for index, node in enumerate(nodes) for name in node.output}
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for index, node in enumerate(nodes):
        sorter.add(index, *sorted({makers[name] for name in _list_reads(node) if name in makers}))
    try:
        return [nodes[index] for index in sorter.static_order()]
    except CycleError:
        return None


def _list_reads(node: onnx.NodeProto) -> set[str]:
    inner = [item for attribute in node.attribute for item in attribute.g.node if attribute.HasField("g")]
    return {*node.input, *(name for item in inner for name in _list_reads(item))}
