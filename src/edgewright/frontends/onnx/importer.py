"""Walks an ONNX graph and translates it node by node, collecting everything that cannot be translated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedOp, Where, located
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx import registry
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.declared import declared_type
from edgewright.frontends.onnx.expand import bind_attributes, call_of, function_body
from edgewright.frontends.onnx.faults import FAULTS, fault, guarded
from edgewright.frontends.onnx.foreign import keep_as_source_op, unknown_op
from edgewright.frontends.onnx.order import check_name, needed_nodes
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.scopes import Scopes
from edgewright.frontends.onnx.signature import check_node
from edgewright.frontends.onnx.source import SourceNode, label_of
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape, Transpose

__all__ = ["Imported", "Importer", "InputSpec", "Step"]

# Nodes that subgraphs and functions may add: a file of a few kilobytes can ask for any number of them.
MOST_INLINED = 200_000


@dataclass(frozen=True)
class InputSpec:
    """A graph input: its type, or the value it is bound to."""

    tensor_type: TensorType
    value: Array | None = None


@dataclass(frozen=True)
class Step:
    """What became of one node of the main graph: the IR nodes from ``first`` to ``last``, or a problem."""

    proto: onnx.NodeProto
    first: int
    last: int
    problem: EdgewrightError | None = None
    is_skipped: bool = False


@dataclass
class Imported:
    """What came of an import: a graph, or the reasons why there is none."""

    graph: Graph
    problems: list[EdgewrightError] = field(default_factory=list)
    # Graph inputs whose values must be known before a graph can be built, and the node that needs them.
    bound: dict[str, str] = field(default_factory=dict)
    # A node that needs the shapes of the inputs as numbers, "" where none does.
    shapes_for: str = ""
    steps: list[Step] = field(default_factory=list)
    emitted: list[Node] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the graph is there: nothing failed, and no value or shape is waited for."""
        return not (self.problems or self.bound or self.shapes_for)


@dataclass
class _Body:
    """A subgraph that is translated once or many times: its nodes in order, its constants made once."""

    proto: onnx.GraphProto
    nodes: list[onnx.NodeProto]
    constants: dict[str, str] = field(default_factory=dict)


class Importer:
    """One import of one graph."""

    def __init__(
        self,
        file: OnnxFile,
        inputs: Mapping[str, InputSpec],
        outputs: Sequence[str],
        *,
        keep_all: bool = False,
    ) -> None:
        self._file = file
        self._inputs = inputs
        self._outputs = outputs
        self._keep_all = keep_all
        self._graph = Graph(file.graph.name or "main")
        self._context = Context(self._graph, self)
        self._scopes = Scopes()
        self._calls: list[SourceNode] = []
        self._open: list[tuple[str, str, str]] = []
        self._bodies: dict[int, _Body] = {}
        self._named: set[str] = set()
        self._missing: set[str] = set()
        self._placeholders: set[str] = set()
        self._inlined = 0
        self._result = Imported(self._graph, emitted=self._context.emitted)

    def run(self) -> Imported:
        """Translates the graph; stops early only where a value or a shape is needed."""
        with guarded(self._file.name):
            source = self._file.graph
            check_name(source.name)
            nodes = needed_nodes(source, self._outputs, is_whole=self._keep_all)
            self._graph.reserve(name for node in source.node for name in node.output)
            self._declare_inputs()
            for name, value in self._constants(source).items():
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
        body = self._body(proto)
        if len(arguments) != len(proto.input):
            raise BadInput(
                f"the subgraph '{proto.name}' has {len(proto.input)} inputs, expected {len(arguments)}",
                do="export the model again",
            )
        with self._scopes.opened({i.name: value for i, value in zip(proto.input, arguments, strict=True)}):
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
        if is_given:
            check_node(node, self._context.dtypes(node))
        self._context.refuse_sequences(node)
        handler = registry.find(node.domain, proto.op_type, version)
        if handler is not None:
            values = handler(self._context, node)
            return [values] if isinstance(values, str) else list(values)
        body = function_body(self._context, node)
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
            with self._file.opsets_of(body), self._scopes.opened(arguments, is_closed=True):
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
        self._inlined += len(nodes) + 1
        if self._inlined > MOST_INLINED:
            raise LimitExceeded(
                f"control flow and functions add more than {MOST_INLINED} nodes",
                do="lower the trip counts, or flatten the model's control flow",
            )
        for proto in nodes:
            bound = bind_attributes(proto, self._calls[-1]) if self._calls else proto
            try:
                inputs = [self._scopes.resolve(name) for name in proto.input]
                values = self.translate(bound, inputs, is_given=is_given)
            except EdgewrightError as problem:
                raise located(problem, Where(op=proto.op_type, node=label_of(proto))) from problem.__cause__
            for name, value in zip(proto.output, values, strict=False):
                if name:
                    self._scopes.define(name, value)

    def _import_node(self, proto: onnx.NodeProto) -> None:
        first, problem, is_waiting = len(self._context.emitted), None, False
        where = Where(file=self._file.name, op=proto.op_type, node=label_of(proto))
        if any(name in self._missing for name in proto.input):
            problem = self._unknown(proto, where)
            self._give_up(proto, problem)
            self._result.steps.append(Step(proto, first, first, problem, is_skipped=True))
            return
        self._context.source = where.node or ""
        self._context.prefix = next(filter(None, proto.output), "value")
        try:
            inputs = [self._scopes.resolve(name) for name in proto.input]
            self._define(proto, self.translate(proto, inputs, is_given=True))
        except NeedsValue as needed:
            problem, is_waiting = self._wait_for(needed, where), True
            self._give_up(proto, problem)
        except UnsupportedOp as found:
            problem = located(found, where)
            self._give_up(proto, problem)
        except EdgewrightError as found:
            raise located(found, where) from found.__cause__
        except FAULTS as found:
            raise fault(found, where) from found
        self._result.steps.append(Step(proto, first, len(self._context.emitted), problem, is_waiting))

    def _unknown(self, proto: onnx.NodeProto, where: Where) -> EdgewrightError | None:
        """A node behind an unsupported one: a problem of its own where its op is unknown."""
        domain = registry.domain_of(proto)
        is_known = (
            (domain, proto.op_type, proto.overload) in self._file.functions
            or onnx.defs.has(proto.op_type, domain)
            or registry.find(domain, proto.op_type, self._file.opset(domain)) is not None
        )
        return None if is_known else unknown_op(proto.op_type, domain, self._file.opset(domain), where)

    def _give_up(self, proto: onnx.NodeProto, problem: EdgewrightError | None) -> None:
        """Goes on without a node, with the types the file declares for its outputs: more is checked so."""
        if problem is not None:
            self._result.problems.append(problem)
        for name in filter(None, proto.output):
            known = declared_type(self._file, name)
            if known is None or name in self._graph.types:
                self._missing.add(name)
                continue
            self._placeholders.add(self._graph.add_input(name, known))
            self._scopes.define(name, name)

    def _define(self, proto: onnx.NodeProto, values: Sequence[str]) -> None:
        for name, value in zip(proto.output, values, strict=False):
            if not name:
                continue
            if self._graph.producer(value) is not None and value != name and value not in self._named:
                self._context.rename(value, name)
                self._scopes.define(name, name)
                self._named.add(name)
                self._name_untransposed(name)
            else:
                self._scopes.define(name, value)

    def _name_untransposed(self, name: str) -> None:
        """What a handler turned into the source's layout is the source's value in another layout."""
        node = self._graph.producer(name)
        if node is not None and isinstance(node.op, Transpose) and node.inputs[0] not in self._named:
            inner = node.inputs[0]
            if self._graph.producer(inner) is not None:
                self._graph.source_names.setdefault(inner, name)

    def _wait_for(self, needed: NeedsValue, where: Where) -> EdgewrightError | None:
        """Finds the graph inputs that a needed value is computed from; an error where there are none."""
        pending, seen = [needed.value], {needed.value}
        inputs = set(self._graph.inputs)
        while pending:
            current = pending.pop()
            # A shape may be all that is missing: values are asked for once shapes are numbers.
            symbols = self._context.symbols(current) or self._graph.types[current].symbols
            if symbols and symbols <= self._input_symbols():
                self._result.shapes_for = label_of_where(where)
                continue
            if current in self._placeholders:
                return None
            if current in inputs:
                self._result.bound[current] = label_of_where(where)
            node = self._graph.producer(current)
            fresh = [] if node is None else [name for name in node.inputs if name and name not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        if self._result.bound or self._result.shapes_for:
            return None
        return UnsupportedOp(
            "a parameter depends on a value that only exists at run time",
            Where(file=where.file, op=where.op, node=where.node, tensor=needed.value),
            do="make the parameter a constant in the source model",
        )

    def _input_symbols(self) -> frozenset[str]:
        return frozenset().union(*(self._graph.types[name].symbols for name in self._inputs))

    def _declare_inputs(self) -> None:
        for name, spec in self._inputs.items():
            check_name(name)
            if spec.value is None:
                self._graph.add_input(name, spec.tensor_type)
            else:
                self._graph.add_constant(name, spec.value, spec.tensor_type)
            self._scopes.define(name, name)

    def _constants(self, source: onnx.GraphProto) -> dict[str, str]:
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
            array = self._array(proto, where)
            chosen = name if is_top else self._graph.fresh_name(name or "constant")
            values[name] = self._graph.add_constant(chosen, array)
        return values

    def _array(self, proto: onnx.TensorProto | onnx.SparseTensorProto, where: Where) -> Array:
        try:
            return self.tensor(proto, where)
        except FAULTS as found:
            raise fault(found, where) from found

    def _body(self, proto: onnx.GraphProto) -> _Body:
        """A subgraph made ready; weights and Constant nodes in it are shared by all its uses."""
        if id(proto) not in self._bodies:
            outputs = [item.name for item in proto.output]
            body = _Body(proto, needed_nodes(proto, outputs, outer=self._scopes), self._constants(proto))
            for node in body.nodes:
                if node.op_type == "Constant" and not any(a.ref_attr_name for a in node.attribute):
                    body.constants[node.output[0]] = self.translate(node, [])[0]
            self._bodies[id(proto)] = body
        return self._bodies[id(proto)]

    def _declare_outputs(self) -> None:
        for name in dict.fromkeys(self._outputs):
            value = self._scopes.resolve(name)
            if value not in self._graph.types:
                raise UnsupportedOp(
                    f"output '{name}' is a sequence or an optional, not a tensor",
                    Where(file=self._file.name, tensor=name),
                    do="export a model whose outputs are tensors",
                )
            if value != name or self._graph.producer(value) is None:
                value = self._copied(name, value)
            self._graph.outputs.append(value)

    def _copied(self, name: str, value: str) -> str:
        """An output that is an input, a constant or another output: QNN wants a tensor of its own."""
        if name in self._graph.constants:
            value = self._graph.fresh_name(name)
            self._graph.rename_value(name, value)
        elif name in self._graph.types:
            return name
        tensor_type = self._graph.types[value]
        self._graph.add(
            Node(self._graph.fresh_name(name), Reshape(shape=tensor_type.shape), [value], [name], source=name)
        )
        return name


def label_of_where(where: Where) -> str:
    """The node an import stopped at, as a text that is never empty."""
    return where.node or where.op or "a node"
