"""Walks an ONNX graph and translates it node by node, collecting everything that cannot be translated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from edgewright.core.errors import BadInput, EdgewrightError, Where, locate_problem
from edgewright.core.numbers import Array
from edgewright.frontends._common.faults import FAULTS, guard_reading, make_fault
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames
from edgewright.frontends._common.importer import GraphImporter
from edgewright.frontends.onnx import registry
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.declared import check_output_dtypes, find_declared_type
from edgewright.frontends.onnx.expand import bind_attributes, call_of, find_definition
from edgewright.frontends.onnx.foreign import keep_as_source_op, make_unknown_op_error
from edgewright.frontends.onnx.order import Captures, check_name, list_needed_nodes
from edgewright.frontends.onnx.package_ops import keep_as_package_op
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.signature import check_node
from edgewright.frontends.onnx.source import SourceNode, label_of
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.package import definition_of


@dataclass
class _Body:
    """A subgraph that is translated once or many times: its nodes in order, its constants made once."""

    proto: onnx.GraphProto
    nodes: list[onnx.NodeProto]
    constants: dict[str, str] = field(default_factory=dict)


class Importer(GraphImporter):
    """One import of one graph."""

    def __init__(
        self,
        file: OnnxFile,
        inputs: Mapping[str, BoundInput],
        outputs: Sequence[str],
        *,
        keep_all: bool = False,
    ) -> None:
        self._context = Context(Graph(file.graph.name or "main"), self)
        super().__init__(file.name, self._context, inputs, outputs)
        self._file = file
        self._keep_all = keep_all
        self._calls: list[SourceNode] = []
        self._open: list[tuple[str, str, str]] = []
        self._bodies: dict[int, _Body] = {}

    def run(self) -> Imported:
        """Translates the graph; stops early only where a value or a shape is needed."""
        with guard_reading(self._file.name):
            source = self._file.graph
            check_name(source.name)
            nodes = list_needed_nodes(source, self._outputs, self._file.captures, is_whole=self._keep_all)
            self._graph.reserve(name for node in source.node for name in node.output)
            self._declare_inputs()
            for name, value in self._declare_constants(source).items():
                self._scopes.define(name, value)
            for node in nodes:
                self._import_node(node)
                if self._result.bound or self._result.shapes_for:
                    return self._result
            if not self._result.problems:
                self._declare_outputs()
            return self._result

    def tensor(self, proto: onnx.TensorProto | onnx.SparseTensorProto, where: Where) -> Array:
        """A stored tensor as an array; the zeros of a sparse one are written out."""
        if isinstance(proto, onnx.SparseTensorProto):
            return self._file.dense(proto, where)
        return self._file.array(proto, where)

    def inline(self, proto: onnx.GraphProto, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place and returns the values of its outputs."""
        body = self._prepare_body(proto)
        if len(arguments) != len(proto.input):
            raise BadInput(
                f"the subgraph '{proto.name}' has {len(proto.input)} inputs, expected {len(arguments)}",
                do="export the model again",
            )
        with self._scopes.open({i.name: value for i, value in zip(proto.input, arguments, strict=True)}):
            for name, value in body.constants.items():
                self._scopes.define(name, value)
            self._translate_all([node for node in body.nodes if node.output[0] not in body.constants])
            return [self._scopes.resolve(item.name) for item in proto.output]

    def translate(self, proto: onnx.NodeProto, inputs: Sequence[str], *, is_given: bool = False) -> list[str]:
        """Translates one node and returns the values of its outputs; a given one is first checked."""
        function = self._file.functions.get((registry.domain_of(proto), proto.op_type, proto.overload))
        version = 1 if function is not None else self._file.opset(proto.domain)
        node = SourceNode(proto, list(inputs), version, label_of(proto), {a.name: a for a in proto.attribute})
        if function is not None:
            return self._call(function, node)
        definition = definition_of(node.op_type)
        if definition is not None:
            return keep_as_package_op(self._context, node, self._file, definition)
        if is_given:
            check_node(node, self._context.dtypes(node))
        self._context.refuse_sequences(node)
        handler = registry.TRANSLATIONS.find((node.domain, proto.op_type), version)
        if handler is not None:
            values = handler(self._context, node)
            return [values] if isinstance(values, str) else list(values)
        body = find_definition(self._context, node)
        return keep_as_source_op(self._context, node) if body is None else self._expand(body, node)

    def _call(self, function: onnx.FunctionProto, node: SourceNode) -> list[str]:
        """Translates a function that the model itself defines."""
        key = (function.domain, function.name, function.overload)
        if key in self._open:
            raise BadInput(f"function '{function.name}' calls itself", node.where, do="remove the recursion")
        self._open.append(key)
        try:
            return self._expand(function, call_of(function, node), is_given=True)
        finally:
            self._open.pop()

    def _expand(self, body: onnx.FunctionProto, node: SourceNode, *, is_given: bool = False) -> list[str]:
        """Translates the definition of an op, ONNX's own or the model's."""
        if len(node.inputs) > len(body.input):
            raise BadInput(
                f"{len(node.inputs)} inputs are given, expected up to {len(body.input)}", node.where
            )
        arguments = dict(zip(body.input, [*node.inputs, *[""] * len(body.input)], strict=False))
        self._calls.append(node)
        try:
            with self._file.opsets_of(body), self._scopes.open(arguments, is_closed=True):
                self._translate_all(body.node, is_given=is_given)
                # ONNX's own definitions do not make the outputs that a call leaves out.
                wanted = [*node.outputs, *[""] * len(body.output)]
                return [
                    self._scopes.resolve(name) if want or name in self._scopes else ""
                    for name, want in zip(body.output, wanted, strict=False)
                ]
        finally:
            self._calls.pop()

    def _translate_all(self, nodes: Sequence[onnx.NodeProto], *, is_given: bool = True) -> None:
        """Translates the nodes of a subgraph or a function."""
        self._count_inlined(len(nodes))
        for proto in nodes:
            bound = bind_attributes(proto, self._calls[-1]) if self._calls else proto
            try:
                inputs = [self._scopes.resolve(name) for name in proto.input]
                values = self.translate(bound, inputs, is_given=is_given)
            except EdgewrightError as problem:
                raise locate_problem(
                    problem, Where(op=proto.op_type, node=label_of(proto))
                ) from problem.__cause__
            for name, value in zip(proto.output, values, strict=False):
                if name:
                    self._scopes.define(name, value)

    def _import_node(self, proto: onnx.NodeProto) -> None:
        def translated() -> Sequence[str]:
            inputs = [self._scopes.resolve(name) for name in proto.input]
            return self.translate(proto, inputs, is_given=True)

        self._take_step(
            list_node_names(proto, self._file.captures),
            translated,
            lambda where: self._find_problem(proto, where),
        )

    def _find_problem(self, proto: onnx.NodeProto, where: Where) -> EdgewrightError | None:
        """A node behind an unsupported one: a problem of its own where its op is unknown."""
        domain = registry.domain_of(proto)
        is_known = (
            (domain, proto.op_type, proto.overload) in self._file.functions
            or definition_of(proto.op_type) is not None
            or onnx.defs.has(proto.op_type, domain)
            or registry.TRANSLATIONS.find((domain, proto.op_type), self._file.opset(domain)) is not None
        )
        return (
            None
            if is_known
            else make_unknown_op_error(proto.op_type, domain, self._file.opset(domain), where)
        )

    def _find_declared_type(self, name: str) -> TensorType | None:
        return find_declared_type(self._file, name)

    def _declare_outputs(self) -> None:
        types = self._graph.types
        values = {name: self._scopes.resolve(name) for name in self._outputs}
        check_output_dtypes(
            self._file,
            {name: bound.tensor_type.dtype for name, bound in self._inputs.items()},
            {name: types[value].dtype for name, value in values.items() if value in types},
        )
        super()._declare_outputs()

    def _declare_constants(self, source: onnx.GraphProto) -> dict[str, str]:
        """Declares the tensors that a graph stores; an input that was given a value hides its default."""
        is_top = self._scopes.depth == 0 and source is self._file.graph
        values: dict[str, str] = {}
        stored = [(t.name, t) for t in source.initializer]
        sparse = [(s.values.name, s) for s in source.sparse_initializer]
        for name, proto in (*stored, *sparse):
            check_name(name)
            if is_top and name in self._inputs:
                continue
            where = Where(file=self._file.name, tensor=name)
            if name in values:
                raise BadInput(f"value '{name}' is made twice", where, do="export the model again")
            array = self._read_array(proto, where)
            chosen = name if is_top else self._graph.fresh_name(name or "constant")
            values[name] = self._graph.add_constant(chosen, array)
        return values

    def _read_array(self, proto: onnx.TensorProto | onnx.SparseTensorProto, where: Where) -> Array:
        try:
            return self.tensor(proto, where)
        except FAULTS as found:
            raise make_fault(found, where) from found

    def _prepare_body(self, proto: onnx.GraphProto) -> _Body:
        """A subgraph made ready; weights and Constant nodes in it are shared by all its uses."""
        if id(proto) not in self._bodies:
            outputs = [item.name for item in proto.output]
            body = _Body(
                proto,
                list_needed_nodes(proto, outputs, self._file.captures, outer=self._scopes),
                self._declare_constants(proto),
            )
            for node in body.nodes:
                if node.op_type == "Constant" and not any(a.ref_attr_name for a in node.attribute):
                    body.constants[node.output[0]] = self.translate(node, [])[0]
            self._bodies[id(proto)] = body
        return self._bodies[id(proto)]


def list_node_names(proto: onnx.NodeProto, captures: Captures) -> NodeNames:
    """A node's names as an import of any format knows them."""
    own = tuple(proto.input)
    captured = tuple(name for name in captures.list_reads(proto) if name not in own)
    domain = registry.domain_of(proto)
    return NodeNames(proto.op_type, label_of(proto), own, tuple(proto.output), captured, domain)
