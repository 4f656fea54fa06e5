"""Turns an IR graph into QNN records; everything QNN cannot hold is reported at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from edgewright.config.spelling import advise_cut, spell_option
from edgewright.core.errors import (
    EdgewrightError,
    Problems,
    UnsupportedFeature,
    UnsupportedOp,
    UsageError,
    Where,
    shown,
)
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import PARTS, Param
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind
from edgewright.ops.package import PackageOp
from edgewright.ops.source import SourceOp

QNN_PACKAGE = "qti.aisw"
SOURCE_ORDERS = {"NHWC": (0, 3, 1, 2), "NDHWC": (0, 4, 1, 2, 3), "NFC": (0, 2, 1)}


@dataclass(frozen=True)
class LowerOptions:
    """How names and packages are written."""

    package: str = QNN_PACKAGE
    # Packages that implement QNN's own ops, by op name.
    packages: Mapping[str, str] = field(default_factory=dict)
    is_counted: bool = False


def lower(graph: Graph, options: LowerOptions | None = None) -> QnnGraph:
    """The records of a static graph of QNN ops."""
    problems = [
        *_find_open_dims(graph),
        *_find_foreign_ops(graph),
        *_find_unknown_types(graph),
        *_find_unproduced(graph),
    ]
    problems = problems or [*_find_large_sizes(graph), *_find_large_params(graph)]
    if problems:
        raise Problems(problems)
    return _Lowering(graph, options or LowerOptions()).run()


class _Lowering:
    def __init__(self, graph: Graph, options: LowerOptions) -> None:
        self._graph = graph
        self._options = options
        self._tensor_name = NameTable((*graph.inputs, *graph.outputs), is_counted=options.is_counted)
        self._node_name = NameTable(longest=60)  # a parameter's name is appended
        self._tensors: dict[str, QnnTensor] = {}

    def run(self) -> QnnGraph:
        for value in self._graph.inputs:
            self._lower_tensor(value, TensorKind.APP_WRITE)
        nodes = [self._lower_node(node) for node in self._graph.nodes]
        shown = {value for node in self._graph.nodes for value in (*node.inputs, *node.outputs)} | set(
            self._graph.inputs
        )
        names = {form: name for form, name in self._tensor_name.source_names().items() if name in shown}
        forms = {
            self._tensor_name(v): s for v, s in self._graph.source_names.items() if v in shown and s != v
        }
        gone = self._graph.sources.missing({*shown, *forms.values()})
        name = self._node_name(self._graph.name)
        return QnnGraph(name, self._in_source_order(), nodes, names, forms, gone)

    def _in_source_order(self) -> dict[str, QnnTensor]:
        """Tensors in order of use, but outputs in the graph's order: formats store it nowhere else."""
        met = [name for name, tensor in self._tensors.items() if tensor.kind == TensorKind.APP_READ]
        declared = dict.fromkeys(self._tensor_name(value) for value in self._graph.outputs)
        stands_for = dict(zip(met, (name for name in declared if name in met), strict=True))
        order = [stands_for.get(name, name) for name in self._tensors]
        return {name: self._tensors[name] for name in order}

    def _lower_node(self, node: Node) -> QnnNode:
        name = self._node_name(node.name)
        inputs = tuple(
            self._lower_tensor(v, TensorKind.STATIC) if v else self._absent()
            for v in _without_tail(node.inputs)
        )
        outputs = tuple(
            self._lower_tensor(value, self._choose_kind(value)) for value in node.outputs if value
        )
        params = node.op.params()
        return QnnNode(
            name,
            self._choose_package(node),
            node.op.qnn_name(),
            {p.name: _lower_scalar(p) for p in params if not p.is_tensor},
            {
                p.name: _lower_tensor_param(self._tensor_name.reserve(f"{name}_{p.name}"), p)
                for p in params
                if p.is_tensor
            },
            inputs,
            outputs,
            node.op.macs(self._graph.input_types(node), self._graph.output_types(node)),
            node.notes,
        )

    def _choose_package(self, node: Node) -> str:
        if isinstance(node.op, PackageOp):
            return node.op.package
        return self._options.packages.get(node.op.qnn_name(), self._options.package)

    def _lower_tensor(self, value: str, kind: TensorKind) -> str:
        name = self._tensor_name(value)
        if name not in self._tensors:
            self._tensors[name] = _record(
                name, kind, self._graph.types[value], self._graph.constants.get(value)
            )
        return name

    def _choose_kind(self, value: str) -> TensorKind:
        return TensorKind.APP_READ if value in self._graph.outputs else TensorKind.NATIVE

    def _absent(self) -> str:
        """An optional input left out before a given one: QNN marks it with a NULL tensor."""
        name = self._tensor_name("")
        self._tensors.setdefault(name, QnnTensor(name, TensorKind.NULL, DType.FLOAT_32, (1,)))
        return name


def _record(name: str, kind: TensorKind, tensor_type: TensorType, data: Array | None) -> QnnTensor:
    dims = tensor_type.static_shape() or (1,)
    layout = tensor_type.layout
    return QnnTensor(
        name,
        kind,
        tensor_type.dtype,
        dims,
        tensor_type.encoding,
        None if data is None else data.reshape(dims),
        layout or "ANY",
        SOURCE_ORDERS.get(layout or "", ()),
    )


def _lower_scalar(param: Param) -> QnnScalar:
    value = param.value
    if param.dtype.is_float:
        return QnnScalar(param.dtype, float(value))
    if param.dtype == DType.STRING:
        return QnnScalar(param.dtype, str(value))
    return QnnScalar(param.dtype, bool(value) if param.dtype == DType.BOOL_8 else int(value))


def _lower_tensor_param(name: str, param: Param) -> QnnTensor:
    data: Array = np.asarray(param.value, param.dtype.numpy)
    if data.ndim == 0:
        data = data.reshape(1)
    return QnnTensor(name, TensorKind.STATIC, param.dtype, data.shape, data=data)


def _without_tail(inputs: list[str]) -> list[str]:
    """The inputs without those left out at the end."""
    end = len(inputs)
    while end and not inputs[end - 1]:
        end -= 1
    return inputs[:end]


def _find_open_dims(graph: Graph) -> list[EdgewrightError]:
    open_inputs = [name for name in graph.inputs if not graph.types[name].is_static]
    if open_inputs:
        text = "; ".join(f"{name} {graph.types[name]}" for name in open_inputs)
        shapes = spell_option("input_shapes", dict.fromkeys(open_inputs, ("N", "N", "...")))
        return [
            UsageError(
                f"inputs have symbolic dimensions: {text}",
                do=f"fix them with {shapes} or {spell_option('symbols')}",
            )
        ]
    loose = [(node, v) for node in graph.nodes for v in node.outputs if v and not graph.types[v].is_static]
    return [
        UnsupportedOp(
            f"the shape {graph.types[value]} is only known at run time",
            Where(op=node.op.qnn_name(), node=node.name, tensor=value),
            do=f"cut the graph before it with {spell_option('outputs')}",
        )
        for node, value in loose[:1]
    ]


def _find_foreign_ops(graph: Graph) -> list[EdgewrightError]:
    return [
        UnsupportedOp(
            f"op '{node.op.display_name()}' has no QNN equivalent",
            Where(op=node.op.display_name(), node=node.source or node.name),
            do=advise_cut(),
        )
        for node in graph.nodes
        # An op that QNN knows only as an operation of another could not be read back.
        if isinstance(node.op, SourceOp) or node.op.qnn_name() in PARTS
    ]


def _find_unproduced(graph: Graph) -> list[EdgewrightError]:
    return [
        UnsupportedFeature(
            f"output '{shown(name)}' is not computed by an op, expected one: a QNN graph writes its outputs",
            Where(tensor=name),
            do=f"leave it out with {spell_option('outputs')}, or output an Identity of it in the source "
            "model",
        )
        for name in graph.outputs
        if graph.producer(name) is None
    ]


def _find_unknown_types(graph: Graph) -> list[EdgewrightError]:
    unfit = {dtype for dtype in DType if not dtype.is_qnn or dtype == DType.STRING}
    found = [
        (n, v) for n in graph.nodes for v in (*n.inputs, *n.outputs) if v and graph.types[v].dtype in unfit
    ]
    return [
        UnsupportedFeature(
            f"datatype {graph.types[value].dtype.name} does not exist in QNN",
            Where(op=node.op.qnn_name(), node=node.name, tensor=value),
            do="convert the tensor to float32, float16 or an integer type in the source model",
        )
        for node, value in {value: (node, value) for node, value in found}.values()
    ]


def _find_large_sizes(graph: Graph) -> list[EdgewrightError]:
    """QNN stores dimensions in 32 bits."""
    most = np.iinfo(np.uint32).max
    return [
        UnsupportedFeature(
            f"shape {graph.types[value]} has a dimension above {most}, the largest in QNN",
            Where(tensor=value),
            do="lower it in the source model",
        )
        for value in graph.types
        if any(isinstance(dim, int) and dim > most for dim in graph.types[value].shape)
    ]


def _find_large_params(graph: Graph) -> list[EdgewrightError]:
    """Numbers that the source holds in 64 bits and QNN in fewer."""
    return [
        UnsupportedFeature(
            f"parameter '{param.name}' is {shown(param.value)}, which {param.dtype.name} cannot hold",
            Where(op=node.op.qnn_name(), node=node.source or node.name),
            do="change it in the source model",
        )
        for node in graph.nodes
        for param in node.op.params()
        if param.dtype.is_integer and not _is_storable(param)
    ]


def _is_storable(param: Param) -> bool:
    given: Array = np.asarray(param.value, object).reshape(-1)
    limits = np.iinfo(param.dtype.numpy)
    return all(limits.min <= int(number) <= limits.max for number in given)
