"""A source model as its own framework wrote it: its ops, names and weights, with shapes where they follow."""

from collections import Counter
from collections.abc import Sequence

import onnx

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.imported import Imported, NodeNames
from edgewright.frontends._common.source_model import SourceModel
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType, type_of
from edgewright.ops.cost import known_macs
from edgewright.view.qnn_graphs import spell_array, spell_value
from edgewright.view.records import ViewGraph, ViewNode, ViewTensor

# Nodes that only hold a tensor: their value is shown where it is read.
_HOLDERS = frozenset({"Constant", "Const"})


def view_source(source: SourceModel) -> tuple[ViewGraph, tuple[str, ...]]:
    """The graph of an opened source, and what could not be found out about it."""
    imported, notes = _import(source)
    nodes = [
        (node, params)
        for node, params in zip(source.nodes(), source.list_parameters(), strict=False)
        if not _is_drawn_elsewhere(source, node)
    ]
    macs, problems = _count_macs(source, imported), _list_problems(imported)
    names = _name_apart([node.label for node, _ in nodes])
    viewed = tuple(
        ViewNode(
            name,
            node.op,
            (*node.inputs, *(name for name in node.captured if name)),
            node.outputs,
            tuple((key, _spell(value)) for key, value in params.items()),
            node.label,
            node.domain,
            macs.get(_identify(node)),
            problems.get(_identify(node), ""),
        )
        for name, (node, params) in zip(names, nodes, strict=True)
    )
    tensors = _Tensors(source, imported)
    tensor_names = dict.fromkeys(
        [*source.inputs, *source.outputs, *(n for item in viewed for n in (*item.inputs, *item.outputs))]
    )
    made = {name for item in viewed for name in item.outputs}
    return (
        ViewGraph(
            source.framework,
            {name: tensors.describe(name, is_made=name in made) for name in tensor_names if name},
            viewed,
            tuple(source.inputs),
            tuple(source.outputs),
        ),
        notes,
    )


class _Tensors:
    """What is known of tensors: by the file, by the import, by the stored elements."""

    def __init__(self, source: SourceModel, imported: Imported) -> None:
        self._source = source
        self._types = imported.graph.types
        self._constants = imported.graph.constants

    def describe(self, name: str, *, is_made: bool) -> ViewTensor:
        known = self._find_type(name)
        stored = None if is_made or name in self._source.inputs else self._find_stored(name)
        if stored is not None and known is None:
            known = type_of(stored)
        load = None if stored is None else _Loader(self, name)
        if known is None:
            return ViewTensor(name, load=load, channel_axis=0)
        axis = -1 if self._source.is_channel_last else 0
        return ViewTensor(
            name, dtype_word(known.dtype), shape_of(known), known.encoding, load=load, channel_axis=axis
        )

    def read(self, name: str) -> Array | None:
        return self._find_stored(name)

    def _find_type(self, name: str) -> TensorType | None:
        try:
            declared = self._source.find_declared_type(name)
        except EdgewrightError:
            declared = None
        imported = self._source.inputs.get(name) or self._types.get(name)
        is_encoded = declared is not None and declared.encoding is not None
        return declared if imported is None or is_encoded else imported

    def _find_stored(self, name: str) -> Array | None:
        try:
            stored = self._source.read_stored(name)
        except EdgewrightError:
            return None
        return self._constants.get(name) if stored is None else stored


class _Loader:
    def __init__(self, tensors: _Tensors, name: str) -> None:
        self._tensors = tensors
        self._name = name

    def __call__(self) -> Array:
        stored = self._tensors.read(self._name)
        assert stored is not None
        return stored


def _import(source: SourceModel) -> tuple[Imported, tuple[str, ...]]:
    from edgewright.ir.graph import Graph

    try:
        imported = source.build({})
    except EdgewrightError as problem:
        return Imported(Graph()), (f"shapes are not known: {problem.what}",)
    notes = list(source.notes)
    if imported.shapes_for:
        notes.append(f"shapes are known up to '{imported.shapes_for}', which needs the inputs' sizes")
    notes += [
        f"shapes are known up to '{node}', which needs the value of '{name}'"
        for name, node in imported.bound.items()
    ]
    return imported, tuple(notes)


def _count_macs(source: SourceModel, imported: Imported) -> dict[str, int]:
    batch = dict.fromkeys(batch_symbols(source.inputs), 1)
    counts: dict[str, int] = {}
    for step in imported.steps:
        emitted = imported.emitted[step.first : step.last]
        counts[_identify(step.node)] = sum(known_macs(imported.graph, node, batch) or 0 for node in emitted)
    return {label: count for label, count in counts.items() if count}


def _list_problems(imported: Imported) -> dict[str, str]:
    failed: list[tuple[NodeNames, EdgewrightError]] = [
        (step.node, step.problem) for step in imported.steps if step.problem is not None
    ]
    return {_identify(node): f"does not convert: {problem.what}" for node, problem in failed}


def _is_drawn_elsewhere(source: SourceModel, node: NodeNames) -> bool:
    """Whether a node only holds a constant, which its readers show, or stands for an input."""
    is_input = bool(node.outputs) and all(name in source.inputs for name in node.outputs)
    return not node.inputs and (node.op in _HOLDERS or is_input)


def _identify(node: NodeNames) -> str:
    """What tells a node from others: names may be equal, results are not."""
    return next((name for name in node.outputs if name), node.label)


def _name_apart(labels: Sequence[str]) -> list[str]:
    """The labels, with numbers where one comes again: overlays know nodes by name."""
    counts: Counter[str] = Counter()
    names = []
    for label in labels:
        counts[label] += 1
        names.append(label if counts[label] == 1 else f"{label} ({counts[label]})")
    return names


def _spell(value: object) -> str:
    if isinstance(value, onnx.TensorProto):
        dims = list(value.dims)
        try:
            return spell_array(onnx.numpy_helper.to_array(value))
        except (TypeError, ValueError):
            return f"{dims}"
    if isinstance(value, onnx.GraphProto):
        return f"a graph of {len(value.node)} nodes"
    return dtype_word(value) if isinstance(value, DType) else spell_value(value)
