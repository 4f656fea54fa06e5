"""Turns QNN records back into an IR graph: the one way in for every stored format."""

import dataclasses
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from edgewright.core.errors import (
    BadInput,
    EdgewrightError,
    Problems,
    UnsupportedOp,
    Where,
    locate_problem,
    shown,
)
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.limits import check_size
from edgewright.ir.op import FAULTS, REGISTRY, Op, Param
from edgewright.ir.sources import SourceFlow
from edgewright.ir.types import TensorType
from edgewright.lower.lower import QNN_PACKAGE
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind
from edgewright.ops.package import has_meaning, package_op
from edgewright.ops.rearrange import Reshape

# Written by converters for their own use; they do not change an op's meaning.
BOOKKEEPING = frozenset(
    {"packageName", "reuse_sparse_indices", "reuse_sparse_indicies", "bias_op_name", "padding_size_strategy"}
)


def lift(stored: QnnGraph) -> Graph:
    """The graph that the records describe, in the source's names where they are recorded."""
    problems: list[EdgewrightError] = [
        UnsupportedOp(
            f"op '{node.type}' of package '{node.package}' is not in the catalogue",
            Where(op=node.type, node=node.name),
            do="use an op of the QNN catalogue",
        )
        for node in stored.nodes
        if node.type not in REGISTRY and not _is_of_package(node)
    ]
    if problems:
        raise Problems(problems)
    return _Lifting(stored).run()


class _Lifting:
    def __init__(self, stored: QnnGraph) -> None:
        self._stored = stored
        self._graph = Graph(stored.name)
        self._names = {name: self._name(tensor) for name, tensor in stored.tensors.items()}

    def run(self) -> Graph:
        for tensor in self._stored.of_kind(TensorKind.APP_WRITE):
            check_size(_type(tensor), Where(tensor=tensor.name))
            self._graph.add_input(self._names[tensor.name], _type(tensor))
        for tensor in self._stored.of_kind(TensorKind.STATIC):
            self._graph.add_constant(self._names[tensor.name], _require_data(tensor), _type(tensor))
        for node in self._stored.nodes:
            self._add(node)
        self._graph.outputs = [self._names[t.name] for t in self._stored.of_kind(TensorKind.APP_READ)]
        forms = self._stored.forms.items()
        self._graph.source_names = {self._names[name]: of for name, of in forms if name in self._names}
        self._graph.sources = SourceFlow(gone=self._stored.gone)
        return self._graph

    def _add(self, stored: QnnNode) -> None:
        unknown = [name for name in (*stored.inputs, *stored.outputs) if name not in self._names]
        if unknown:
            raise BadInput(
                f"tensor '{shown(unknown[0])}' is not among the tensors",
                Where(op=stored.type, node=stored.name),
                do="check that the file was not edited",
            )
        inputs = [self._names[name] for name in stored.inputs]
        unmade = [value for value in inputs if value and value not in self._graph.types]
        if unmade:
            raise BadInput(
                "the tensor is read, but it is not an input and no node before computes it",
                Where(op=stored.type, node=stored.name, tensor=unmade[0]),
                do="check that the file was not edited",
            )
        records = [self._stored.tensors[name] for name in stored.outputs]
        given = [self._graph.types[value] if value else None for value in inputs]
        op = _lift_op(stored, given, [_type(tensor) for tensor in records]).canonical()
        node = Node(
            stored.name, op, inputs, [self._names[tensor.name] for tensor in records], source=stored.name
        )
        node.notes = dict(stored.notes)
        self._connect(node, self._infer_types(node, given), [_type(tensor) for tensor in records])

    def _connect(self, node: Node, inferred: Sequence[TensorType], stored: Sequence[TensorType]) -> None:
        """Adds a node; where QNN has rank 1 for a scalar, a reshape is put in between."""
        wanted = list(node.outputs)
        turned = [i for i, (a, b) in enumerate(zip(inferred, stored, strict=False)) if a.shape != b.shape]
        for index in turned:
            found, made = list(stored[index].shape), list(inferred[index].shape)
            if inferred[index].count != stored[index].count:
                raise BadInput(
                    f"tensor is stored as {found}, but the op computes {made}",
                    Where(op=node.op.qnn_name(), node=node.name, tensor=wanted[index]),
                    do="check that the file belongs to its weights and was not edited",
                )
            node.outputs[index] = self._graph.fresh_name(wanted[index])
        self._graph.add(
            node, [dataclasses.replace(s, shape=i.shape) for i, s in zip(inferred, stored, strict=False)]
        )
        for index in turned:
            reshape = Node(
                self._graph.fresh_name(node.name),
                Reshape(shape=stored[index].shape),
                [node.outputs[index]],
                [wanted[index]],
            )
            self._graph.add(reshape, [stored[index]])

    def _infer_types(self, node: Node, given: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
        """The types of its outputs; what no run could compute is refused."""
        where = Where(op=node.op.qnn_name(), node=node.name)
        try:
            types = node.op.types_for(given)
            node.op.check_constants(given, [self._graph.constants.get(value) for value in node.inputs])
        except EdgewrightError as problem:
            raise locate_problem(problem, where) from problem.__cause__
        except FAULTS as found:
            raise BadInput(
                f"inputs and parameters do not fit the op ({type(found).__name__}: {shown(found)})",
                where,
                do="check that the file was not edited",
            ) from found
        for tensor_type in types:
            check_size(tensor_type, where)
        return types

    def _name(self, tensor: QnnTensor) -> str:
        return (
            "" if tensor.kind == TensorKind.NULL else self._stored.source_names.get(tensor.name, tensor.name)
        )


def _type(tensor: QnnTensor) -> TensorType:
    layout = None if tensor.axis_format in {"", "ANY"} else tensor.axis_format
    return TensorType(tensor.dims, tensor.dtype, layout, tensor.encoding)


def _require_data(tensor: QnnTensor) -> Array:
    if tensor.data is None:
        raise BadInput("static tensor has no data", Where(tensor=tensor.name), do="give the weights file too")
    return tensor.data


def _is_of_package(stored: QnnNode) -> bool:
    """Whether the node is a package's own op: --package_name may name a package for QNN's ops as well."""
    is_known = stored.type in REGISTRY
    return has_meaning(stored.package, stored.type) or (not is_known and stored.package != QNN_PACKAGE)


def _lift_package_op(stored: QnnNode, outputs: Sequence[TensorType]) -> Op:
    params = [Param(n, scalar.dtype, scalar.value, False) for n, scalar in stored.scalar_params.items()]
    params += [
        Param(n, tensor.dtype, _nest_tuples(_require_data(tensor)), True)
        for n, tensor in stored.tensor_params.items()
    ]
    kept = [param for param in params if param.name not in BOOKKEEPING]
    return package_op(stored.package, stored.type).of(kept, outputs)


def _lift_op(stored: QnnNode, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> Op:
    if _is_of_package(stored):
        return _lift_package_op(stored, outputs)
    kind = REGISTRY[stored.type]
    values: dict[str, Any] = {name: scalar.value for name, scalar in stored.scalar_params.items()}
    values |= {name: _nest_tuples(_require_data(tensor)) for name, tensor in stored.tensor_params.items()}
    values = {name: value for name, value in values.items() if name not in BOOKKEEPING}
    known = {item.name: item for item in dataclasses.fields(kind) if "param" in item.metadata}
    where = Where(op=stored.type, node=stored.name)
    unknown = sorted(set(values) - set(known))
    missing = sorted(n for n, f in known.items() if f.default is dataclasses.MISSING and n not in values)
    if unknown or missing:
        raise BadInput(
            f"parameters do not fit: unknown {unknown}, missing {missing}",
            where,
            do=f"expected {sorted(known)}",
        )
    return kind(
        **{name: _convert_param(known[name].type, value, where) for name, value in values.items()},
        **_infer_structure(kind, inputs, outputs, where),
    )


def _infer_structure(
    kind: type[Op], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], where: Where
) -> Mapping[str, Any]:
    try:
        return kind.read_structure(inputs, outputs)
    except (IndexError, AttributeError, TypeError, ValueError):
        raise BadInput(
            "its tensors do not determine what the op does", where, do="check the node's inputs and outputs"
        ) from None


def _convert_param(annotation: Any, value: Any, where: Where) -> Any:
    if not (isinstance(annotation, type) and issubclass(annotation, IntEnum)):
        return value
    try:
        return annotation(value)
    except ValueError:
        allowed = {item.name: int(item) for item in annotation}
        raise BadInput(
            f"{value} is not a valid {annotation.__name__}", where, do=f"use one of {allowed}"
        ) from None


def _nest_tuples(data: Array) -> Any:
    """A parameter tensor as nested tuples of Python numbers."""
    return tuple(_nest_tuples(item) for item in data) if data.ndim else data.item()
