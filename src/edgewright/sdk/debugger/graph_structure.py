"""What a converted model knows of its tensors: which op makes each, its shape, its name in the source."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.analyse.comparison_points import is_fused_away
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.lower.lower import lower
from edgewright.sdk.debugger.tensor_folder import read_json_object

STRUCTURE_FILE = "model_graph_struct.json"
MAPPING_FILE = "tensor_mapping.json"


@dataclass(frozen=True)
class TensorFacts:
    """One tensor that an op makes; ``order`` brings its axes into the source's."""

    type: str
    dims: tuple[int, ...]
    source: str
    axis_format: str = "ANY"
    order: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    # Only an activation reads it, which the NPU computes with it: its range may end where that one's does.
    is_fused: bool = False

    def to_source(self, array: Array) -> Array:
        """An array of this tensor in the axes of the source model."""
        if len(self.order) != len(self.dims) or array.size != int(np.prod(self.dims)):
            return array
        return array.reshape(self.dims).transpose(self.order)

    @property
    def source_dims(self) -> tuple[int, ...]:
        """Its shape in the source model."""
        return tuple(self.dims[axis] for axis in self.order) if self.order else self.dims


Structure = dict[str, TensorFacts]


def describe_values(graph: Graph) -> dict[str, tuple[str, TensorFacts]]:
    """What a graph's ops make, by the graph's own names: the name in files, and the facts."""
    record = lower(graph)
    pairs = [
        (value, name, stored)
        for node, stored in zip(graph.nodes, record.nodes, strict=True)
        for value, name in zip(filter(None, node.outputs), stored.outputs, strict=True)
    ]
    return {
        value: (
            name,
            TensorFacts(
                type=stored.type,
                dims=record.tensors[name].dims,
                source=graph.source_names.get(value, value),
                axis_format=record.tensors[name].axis_format,
                order=record.tensors[name].permute_order_to_src,
                inputs=stored.inputs,
                is_fused=graph.types[value].encoding is not None and is_fused_away(graph, value),
            ),
        )
        for value, name, stored in pairs
    }


def describe_graph(graph: Graph) -> Structure:
    """The same by the names that files have."""
    return dict(describe_values(graph).values())


def resolve_orders(structure: Structure, source_dims: Mapping[str, Sequence[int]]) -> Structure:
    """The structure with the order of axes of each tensor, from the shapes that the source has for them.

    A shape such as [1, 8, 8, 8] is the same in both layouts: there a tensor is as what it is made from.
    """
    resolved: Structure = {}
    for name, facts in structure.items():
        moved = not facts.order and _is_moved(facts, source_dims.get(name), resolved)
        resolved[name] = replace(facts, order=_move_first(len(facts.dims))) if moved else facts
    return resolved


def _is_moved(facts: TensorFacts, dims: Sequence[int] | None, resolved: Structure) -> bool:
    """Whether channels are last here and second in the source."""
    rank = len(facts.dims)
    if rank < 3:
        return False
    turned = tuple(facts.dims[axis] for axis in _move_first(rank))
    if dims is not None and len(dims) == rank and tuple(dims) != turned:
        return False
    if dims is not None and tuple(dims) != facts.dims:
        return tuple(dims) == turned
    makers = [resolved[name] for name in facts.inputs if name in resolved]
    like = next((maker for maker in makers if len(maker.dims) == rank), None)
    if facts.type == "Transpose":
        return like is None or not like.order
    return like is not None and bool(like.order)


def _move_first(rank: int) -> tuple[int, ...]:
    return (0, rank - 1, *range(1, rank - 1))


def read_net_json(file: str | Path) -> Structure:
    """The tensors that the ops of a converter's JSON make, in the order of the ops."""
    content = read_json_object(file, "model's JSON")
    try:
        graph = content["graph"]
        names = content.get("edgewright", {}).get("source_names", {})
        return {
            str(tensor): _read_tensor(graph["tensors"][tensor], node, str(names.get(tensor, tensor)))
            for node in graph["nodes"].values()
            for tensor in node["output_names"]
        }
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise BadInput(
            f"the model's JSON is not as converters write it: {shown(repr(problem))}",
            Where(file=str(file)),
            do="name the _net.json that a converter wrote beside model.cpp",
        ) from None


def read_structure(file: str | Path) -> Structure:
    """The structure that the inference engine wrote; a converter's JSON will do as well."""
    content = read_json_object(file, "graph structure")
    if "graph" in content:
        return read_net_json(file)
    try:
        return {
            str(name): TensorFacts(
                type=str(entry["type"]),
                dims=tuple(map(int, entry["dims"])),
                source=str(entry["source"]),
                axis_format=str(entry["axis_format"]),
                order=tuple(map(int, entry["order"])),
                inputs=tuple(map(str, entry["inputs"])),
                is_fused=bool(entry.get("is_fused", False)),
            )
            for name, entry in content["tensors"].items()
        }
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise BadInput(
            f"the graph structure is damaged: {shown(repr(problem))}",
            Where(file=str(file)),
            do="run the inference engine again, or name the model's _net.json",
        ) from None


def describe_structure(structure: Structure) -> bytes:
    """The text of model_graph_struct.json."""
    tensors = {name: asdict(facts) for name, facts in structure.items()}
    return f"{json.dumps({'tensors': tensors}, indent=1)}\n".encode()


def read_mapping(file: str | Path) -> dict[str, str]:
    """A tensor mapping; which side the inference's names are on is found when tensors are matched."""
    content = read_json_object(file, "tensor mapping")
    wrong = [key for key, value in content.items() if not isinstance(value, str)]
    if wrong:
        raise BadInput(
            f"the tensor mapping has no name for '{shown(wrong[0])}', expected names on both sides",
            Where(file=str(file)),
        )
    return content


def _read_tensor(entry: Mapping[str, Any], node: Mapping[str, Any], source: str) -> TensorFacts:
    dims = tuple(map(int, entry["dims"]))
    order = tuple(map(int, entry.get("permute_order_to_src", ())))
    if order and sorted(order) != list(range(len(dims))):
        raise ValueError(f"permute_order_to_src is {list(order)} for {len(dims)} axes")
    return TensorFacts(
        str(node["type"]),
        dims,
        source,
        str(entry.get("axis_format", "ANY")),
        order,
        tuple(map(str, node["input_names"])),
    )
