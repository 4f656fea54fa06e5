"""Walks an ONNX graph and translates it node by node, collecting everything that cannot be translated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx

from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedOp, Where
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx import registry
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.expand import function_body
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.order import needed_nodes
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.source import SourceNode

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape

__all__ = ["Imported", "Importer", "InputSpec"]

DEEPEST_NESTING = 64


@dataclass(frozen=True)
class InputSpec:
    """A graph input: its type, or the value it is bound to."""

    tensor_type: TensorType
    value: Array | None = None


@dataclass
class Imported:
    """What came of an import: a graph, or the reasons why there is none."""

    graph: Graph
    problems: list[EdgewrightError] = field(default_factory=list)
    # Graph inputs whose values must be known before a graph can be built, and the parameter that needs them.
    bound: dict[str, str] = field(default_factory=dict)


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
        self._scopes: list[dict[str, str]] = [{}]
        self._missing: set[str] = set()
        self._result = Imported(self._graph)

    def run(self) -> Imported:
        """Translates the graph; stops early only where a parameter's value is needed."""
        source = self._file.graph
        nodes = needed_nodes(source, None if self._keep_all else self._outputs)
        self._graph.reserve(name for node in source.node for name in node.output)
        self._declare_inputs()
        self._declare_constants(source)
        for node in nodes:
            self._import_node(node)
            if self._result.bound:
                return self._result
        if not self._result.problems:
            self._declare_outputs()
        return self._result

    def inline(self, body: onnx.GraphProto, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place and returns the values of its outputs."""
        if len(self._scopes) > DEEPEST_NESTING:
            raise BadInput(
                f"subgraphs are nested deeper than {DEEPEST_NESTING}", do="flatten the model's control flow"
            )
        formal = (item.name for item in body.input)
        self._scopes.append(dict(zip(formal, arguments, strict=False)))
        try:
            self._declare_constants(body)
            for node in needed_nodes(body, [item.name for item in body.output], outer=self._visible()):
                self._define(
                    node, self.translate(node, [self._resolve(name) for name in node.input]), is_renamed=False
                )
            return [self._resolve(item.name) for item in body.output]
        finally:
            self._scopes.pop()

    def translate(self, proto: onnx.NodeProto, inputs: Sequence[str]) -> list[str]:
        """Translates one node and returns the values of its outputs."""
        version = self._file.opset(proto.domain)
        node = SourceNode(
            proto,
            list(inputs),
            version,
            proto.name or (proto.output[0] if proto.output else ""),
            {a.name: a for a in proto.attribute},
        )
        handler = registry.find(_domain(proto), proto.op_type, version)
        if handler is not None:
            values = handler(self._context, node)
        else:
            body = function_body(self._context, node)
            values = self._expand(body, node) if body is not None else keep_as_source_op(self._context, node)
        return [values] if isinstance(values, str) else list(values)

    def _expand(self, body: onnx.FunctionProto, node: SourceNode) -> list[str]:
        """Translates the definition that ONNX itself gives for an op."""
        self._scopes.append(
            {"": "", **dict(zip(body.input, [*node.inputs, *[""] * len(body.input)], strict=False))}
        )
        try:
            with self._file.opsets_of(body):
                for inner in body.node:
                    bound = bind_attributes(inner, node)
                    self._define(
                        bound,
                        self.translate(bound, [self._resolve(name) for name in inner.input]),
                        is_renamed=False,
                    )
            return [self._resolve(name) for name in body.output]
        finally:
            self._scopes.pop()

    def _import_node(self, proto: onnx.NodeProto) -> None:
        label = proto.name or (proto.output[0] if proto.output else "")
        where = Where(file=self._file.name, op=proto.op_type, node=label)
        if any(name in self._missing for name in proto.input):
            self._missing.update(proto.output)
            self._check_known(proto, where)
            return
        self._context.prefix, self._context.source = (proto.output[0] if proto.output else label), label
        try:
            self._define(
                proto, self.translate(proto, [self._resolve(name) for name in proto.input]), is_renamed=True
            )
        except NeedsValue as needed:
            self._bind(needed.value, label)
        except UnsupportedOp as problem:
            self._missing.update(proto.output)
            self._result.problems.append(located(problem, where))
        except EdgewrightError as problem:
            raise located(problem, where) from None

    def _check_known(self, proto: onnx.NodeProto, where: Where) -> None:
        """A node behind an unsupported one: report it too where its op is unknown."""
        if registry.find(_domain(proto), proto.op_type, self._file.opset(proto.domain)) or onnx.defs.has(
            proto.op_type, _domain(proto)
        ):
            return
        self._result.problems.append(
            UnsupportedOp(f"ONNX op '{proto.op_type}' of domain '{proto.domain}' is not known", where)
        )

    def _define(self, proto: onnx.NodeProto, values: Sequence[str], *, is_renamed: bool) -> None:
        for name, value in zip(proto.output, values, strict=False):
            if not name:
                continue
            if name in self._scopes[-1]:
                raise BadInput(
                    f"value '{name}' is defined twice",
                    Where(file=self._file.name, tensor=name),
                    do="export the model again",
                )
            node = self._graph.producer(value)
            if is_renamed and node is not None and value != name and value not in self._scopes[0].values():
                self._context.rename(value, name)
                self._scopes[-1][name] = name
            else:
                self._scopes[-1][name] = value

    def _bind(self, value: str, label: str) -> None:
        """Finds the graph inputs a needed value is computed from."""
        pending, seen = [value], {value}
        while pending:
            current = pending.pop()
            if current in self._graph.inputs:
                self._result.bound[current] = label
            node = self._graph.producer(current)
            fresh = [] if node is None else [name for name in node.inputs if name and name not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        if not self._result.bound:
            raise UnsupportedOp(
                "a parameter depends on a value that only exists at run time",
                Where(file=self._file.name, node=label, tensor=value),
                do="make the parameter a constant in the source model",
            )

    def _declare_inputs(self) -> None:
        for name, spec in self._inputs.items():
            if spec.value is None:
                self._graph.add_input(name, spec.tensor_type)
            else:
                self._graph.add_constant(name, spec.value, spec.tensor_type)
            self._scopes[0][name] = name

    def _declare_constants(self, source: onnx.GraphProto) -> None:
        is_top = len(self._scopes) == 1
        for tensor in source.initializer:
            if is_top and tensor.name in self._scopes[0]:
                continue
            name = tensor.name if is_top else self._graph.fresh_name(tensor.name or "constant")
            array = self._file.array(tensor, Where(file=self._file.name, tensor=tensor.name))
            self._scopes[-1][tensor.name] = self._graph.add_constant(name, array)

    def _declare_outputs(self) -> None:
        for name in self._outputs:
            value = self._resolve(name)
            if value not in self._graph.types:
                raise UnsupportedOp(
                    f"output '{name}' is a sequence, not a tensor",
                    Where(file=self._file.name, tensor=name),
                    do="export a model whose outputs are tensors",
                )
            if value != name or self._graph.producer(value) is None:
                value = self._copied(name, value)
            self._graph.outputs.append(value)

    def _copied(self, name: str, value: str) -> str:
        """An output that is an input, a constant or another output: QNN wants a tensor of its own."""
        if name in self._graph.types:
            return name
        tensor_type = self._graph.types[value]
        self._graph.add(
            Node(self._graph.fresh_name(name), Reshape(shape=tensor_type.shape), [value], [name], source=name)
        )
        return name

    def _resolve(self, name: str) -> str:
        if not name:
            return ""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise BadInput(
            f"value '{name}' is read but never made",
            Where(file=self._file.name, tensor=name),
            do="export the model again",
        )

    def _visible(self) -> set[str]:
        return {name for scope in self._scopes for name in scope}


def located(problem: EdgewrightError, where: Where) -> EdgewrightError:
    """The same error with the place filled in where it did not say one."""
    if problem.where is not None:
        where = replace(where, **{k: v for k, v in vars(problem.where).items() if v is not None})
    return type(problem)(problem.what, where, problem.do)


def bind_attributes(inner: onnx.NodeProto, call: SourceNode) -> onnx.NodeProto:
    """A function's node with attributes that refer to the call's filled in."""
    if not any(attribute.ref_attr_name for attribute in inner.attribute):
        return inner
    bound = onnx.NodeProto()
    bound.CopyFrom(inner)
    del bound.attribute[:]
    for attribute in inner.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
        elif call.has(attribute.ref_attr_name):
            copy = bound.attribute.add()
            copy.CopyFrom(call.attributes[attribute.ref_attr_name])
            copy.name = attribute.name
    return bound


def _domain(proto: onnx.NodeProto) -> str:
    return "" if proto.domain == "ai.onnx" else proto.domain
