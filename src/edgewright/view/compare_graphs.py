"""Two models side by side: which nodes belong together, and in what they differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgewright.ir.encodings import Encoding
from edgewright.lower.names import sanitize_name
from edgewright.view.document import list_drawn_nodes
from edgewright.view.qnn_graphs import spell_value
from edgewright.view.records import OP, Overlay, ViewGraph, ViewModel, ViewNode, ViewTensor

# A node that the other model does not have differs in itself; that is one difference.
_ABSENT = 1
_SCALE_DIGITS = 5
_FRAMEWORKS = ("ONNX", "TFLite", "TensorFlow", "PyTorch")


@dataclass(frozen=True)
class Difference:
    """One thing in which two nodes differ, as each of them has it."""

    what: str
    left: str
    right: str


@dataclass(frozen=True)
class Comparison:
    """The first graphs of two models: pairs of nodes by number, and their differences."""

    pairs: tuple[tuple[int, int], ...]
    # By the number of the left node.
    differences: dict[int, tuple[Difference, ...]]

    def to_document(self) -> dict[str, Any]:
        """As the page reads it."""
        rows = {
            str(number): [[item.what, item.left, item.right] for item in items]
            for number, items in self.differences.items()
        }
        return {"pairs": [list(pair) for pair in self.pairs], "differences": rows}


def compare_views(left: ViewModel, right: ViewModel) -> tuple[list[ViewModel], Comparison]:
    """Both models, coloured by how much they differ, and what the differences are."""
    graphs = (left.graphs[0], right.graphs[0])
    nodes = [[node for _, node in list_drawn_nodes(graph)] for graph in graphs]
    pairs = _match_nodes(graphs, nodes)
    is_same_language = _name_language(left) == _name_language(right)
    differences = {
        first: tuple(_list_differences(graphs, nodes[0][first], nodes[1][second], is_same_language))
        for first, second in pairs
    }
    counts = (
        _count(graphs[0], {first: len(differences[first]) for first, _ in pairs}),
        _count(graphs[1], {second: len(differences[first]) for first, second in pairs}),
    )
    models = [
        replace(model, overlays={**model.overlays, graph.name: (_make_overlay(count),)})
        for model, graph, count in zip((left, right), graphs, counts, strict=True)
    ]
    return models, Comparison(tuple(pairs), {number: items for number, items in differences.items() if items})


def _match_nodes(
    graphs: tuple[ViewGraph, ViewGraph], nodes: Sequence[Sequence[ViewNode]]
) -> list[tuple[int, int]]:
    """Pairs by what nodes make, in the terms of the source; else by their own names."""
    kinds = [[kind for kind, _ in list_drawn_nodes(graph)] for graph in graphs]
    pairs: dict[int, int] = {}
    for spell in (_spell_results, _spell_names):
        places: dict[str, int] = {}
        for number, node in enumerate(nodes[1]):
            for key in spell(graphs[1], node):
                places.setdefault(f"{kinds[1][number]} {key}", number)
        for number, node in enumerate(nodes[0]):
            keys = [f"{kinds[0][number]} {key}" for key in spell(graphs[0], node)]
            match = next((places[key] for key in keys if key in places), None)
            if number not in pairs and match is not None and match not in pairs.values():
                pairs[number] = match
    return sorted(pairs.items())


def _spell_results(graph: ViewGraph, node: ViewNode) -> Iterator[str]:
    for name in node.outputs or node.inputs:
        tensor = graph.tensors.get(name)
        if tensor is not None and tensor.source:
            yield sanitize_name(tensor.source)
        yield sanitize_name(name)


def _spell_names(_: ViewGraph, node: ViewNode) -> Iterator[str]:
    yield sanitize_name(node.name)


def _name_language(model: ViewModel) -> str:
    """Whose words for ops a model has: those of its framework, or QNN's."""
    return next((name for name in _FRAMEWORKS if model.format.startswith(name)), "QNN")


def _list_differences(
    graphs: tuple[ViewGraph, ViewGraph], left: ViewNode, right: ViewNode, is_same_language: bool
) -> Iterator[Difference]:
    if is_same_language and left.type != right.type:
        yield Difference("type", left.type, right.type)
    if left.type == right.type:
        here, there = dict(left.params), dict(right.params)
        for name in dict.fromkeys((*here, *there)):
            if here.get(name) != there.get(name):
                yield Difference(name, here.get(name, "not given"), there.get(name, "not given"))
    tensors = [
        [graph.tensors[name] for name in node.outputs if name in graph.tensors]
        for graph, node in zip(graphs, (left, right), strict=True)
    ]
    for number, (first, second) in enumerate(zip(*tensors, strict=False)):
        yield from _compare_tensors(f"output {number}", first, second, is_turned=not is_same_language)
    yield from _compare_weights(graphs, left, right)


def _compare_tensors(
    title: str, left: ViewTensor, right: ViewTensor, *, is_turned: bool = False
) -> Iterator[Difference]:
    """Where one side may have its axes in another order, the same sizes in any order are the same shape."""
    shapes = [
        tensor.shape and (sorted(map(str, tensor.shape)) if is_turned else list(tensor.shape))
        for tensor in (left, right)
    ]
    if left.shape is not None and right.shape is not None and shapes[0] != shapes[1]:
        yield Difference(f"{title}, shape", spell_value(left.shape), spell_value(right.shape))
    if left.dtype and right.dtype and left.dtype != right.dtype:
        yield Difference(f"{title}, datatype", left.dtype, right.dtype)
    texts = [_spell_encoding(tensor.encoding) for tensor in (left, right)]
    if texts[0] != texts[1] and all(texts):
        yield Difference(f"{title}, encoding", *texts)


def _compare_weights(
    graphs: tuple[ViewGraph, ViewGraph], left: ViewNode, right: ViewNode
) -> Iterator[Difference]:
    stored = [
        [tensor for name in node.inputs if (tensor := graph.tensors.get(name)) and tensor.load is not None]
        for graph, node in zip(graphs, (left, right), strict=True)
    ]
    if left.type == right.type and len(stored[0]) == len(stored[1]):
        for number, (first, second) in enumerate(zip(*stored, strict=True)):
            yield from _compare_tensors(f"constant {number}", first, second)


def _spell_encoding(encoding: Encoding | None) -> str:
    if encoding is None:
        return ""
    if len(encoding.scales) > 1:
        low, high = (f"{value:.{_SCALE_DIGITS}g}" for value in (min(encoding.scales), max(encoding.scales)))
        return f"{encoding.bitwidth} bits, {len(encoding.scales)} scales from {low} to {high}"
    scale = f"{encoding.scales[0]:.{_SCALE_DIGITS}g}"
    return f"{encoding.bitwidth} bits, scale {scale}, offset {encoding.offsets[0]}"


def _count(graph: ViewGraph, counts: dict[int, int]) -> dict[str, float]:
    """How many differences each op has; an op that only one model has counts as one."""
    drawn = list_drawn_nodes(graph)
    return {
        node.name: counts.get(number, _ABSENT)
        for number, (kind, node) in enumerate(drawn)
        if kind == OP and counts.get(number, _ABSENT)
    }


def _make_overlay(values: dict[str, float]) -> Overlay:
    return Overlay("differences", "Differences", values, threshold=1.0)
