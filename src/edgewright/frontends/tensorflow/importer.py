"""Walks a TensorFlow graph and translates it node by node, collecting all that cannot be translated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from edgewright.config.spelling import advise_cut, spell_option
from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedOp, Where, locate_problem, shown
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames
from edgewright.frontends._common.importer import GraphImporter
from edgewright.frontends.tensorflow import registry
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.declarations import check_node
from edgewright.frontends.tensorflow.frames import CHOICE, MERGES
from edgewright.frontends.tensorflow.functions import Body
from edgewright.frontends.tensorflow.graphdef import Node
from edgewright.frontends.tensorflow.order import count_ports, list_needed
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.frontends.tensorflow.variables import Variables
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Dequantize

# Ops that take what a branch makes, whichever was taken.
ENDS_OF_BRANCHES = MERGES | {CHOICE}
# Only what they do counts.
NO_RESULT = frozenset({"NoOp", "Assert"})


@dataclass(frozen=True)
class Network:
    """What is imported: the nodes of a file, its variables, and its functions by name."""

    file: str
    nodes: Sequence[Node]
    variables: Variables
    body: Callable[[str], Body]


class Importer(GraphImporter):
    """One import of one graph and the functions of its control flow."""

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, BoundInput],
        outputs: Sequence[str],
        *,
        keep_all: bool = False,
    ) -> None:
        self._context = Context(Graph("main"), self, network.variables)
        super().__init__(network.file, self._context, inputs, outputs)
        self._nodes = network.nodes
        self._body = network.body
        self._keep_all = keep_all
        self._open: list[str] = []

    def run(self) -> Imported:
        """Translates the graph; stops early only where a value or a shape is needed."""
        with guard_reading(self._file_name):
            chosen = list_needed(self._nodes, self._outputs, self._inputs, is_whole=self._keep_all)
            counts = count_ports(self._nodes, self._outputs)
            self._graph.reserve(node.output(0) for node in self._nodes)
            self._declare_inputs()
            for node in chosen:
                self._import_node(node, counts.get(node.name, 1))
                if self._result.bound or self._result.shapes_for:
                    return self._result
            if not self._result.problems:
                self._declare_outputs()
            return self._result

    def inline(self, function: str, arguments: Sequence[str]) -> list[str]:
        """Translates a function in place and returns the values of its results."""
        body = self._body(function)
        if function in self._open:
            raise BadInput(f"function '{shown(function)}' calls itself", do="remove the recursion")
        if len(arguments) != len(body.arguments):
            raise BadInput(
                f"function '{shown(function)}' has {len(body.arguments)} arguments, "
                f"expected {len(arguments)}",
                do="export the model again",
            )
        self._count_inlined(len(body.nodes))
        counts = count_ports(body.nodes, body.results)
        self._open.append(function)
        try:
            with self._scopes.open(dict(zip(body.arguments, arguments, strict=True)), is_closed=True):
                for node in list_needed(body.nodes, body.results, frozenset(body.arguments)):
                    self._inline_node(node, counts.get(node.name, 1))
                return [self._scopes.resolve(item) for item in body.results]
        finally:
            self._open.pop()

    def _inline_node(self, node: Node, outputs: int) -> None:
        try:
            values = self._translate(node, outputs)
        except EdgewrightError as problem:
            raise locate_problem(problem, node.where) from problem.__cause__
        for port, value in enumerate(values):
            self._scopes.define(node.output(port), value)

    def _import_node(self, node: Node, outputs: int) -> None:
        self._take_step(
            list_node_names(node, outputs),
            lambda: self._translate(node, outputs),
            lambda where: None if node.op in registry.TRANSLATIONS else _make_unknown_op_error(node, where),
        )

    def _translate(self, node: Node, outputs: int) -> list[str]:
        inputs = [self._scopes.resolve(item) for item in node.inputs]
        if any(value in self._context.dead for value in inputs) and node.op not in ENDS_OF_BRANCHES:
            return [self._context.nothing() for _ in range(outputs)]
        handler = registry.TRANSLATIONS.get(node.op)
        if handler is None:
            raise _make_unknown_op_error(node, node.where)
        if node.is_stored:
            check_node(node)
        found = handler(self._context, SourceNode(node, inputs, outputs))
        values = [found] if isinstance(found, str) else list(found)
        if len(values) < outputs:
            raise UnsupportedOp(
                f"output {outputs - 1} of TensorFlow op '{node.op}' is read, {len(values)} are made",
                node.where,
                do=f"cut the graph before it with {spell_option('outputs')}",
            )
        return values

    def _declare_outputs(self) -> None:
        """An output that is another name for a value is that value: encodings of the one are the other's."""
        wanted = list(dict.fromkeys(self._outputs))
        values = [self._scopes.resolve(name) for name in wanted]
        for name, value in zip(wanted, values, strict=True):
            maker = self._graph.producer(value)
            if maker is None or name in self._graph.types:
                continue
            if values.count(value) == 1 and value not in wanted:
                if not isinstance(maker.op, Dequantize):
                    self._graph.source_names.setdefault(name, self._graph.source_names.get(value, value))
                self._context.rename(value, name)
                self._scopes.rename(value, name)
        super()._declare_outputs()

    def _find_declared_type(self, name: str) -> TensorType | None:
        return None


def list_node_names(node: Node, outputs: int = 1) -> NodeNames:
    """A node's names as an import of any format knows them."""
    made = tuple(node.output(port) for port in range(0 if node.op in NO_RESULT else outputs))
    return NodeNames(node.op, node.name, node.inputs, made)


def _make_unknown_op_error(node: Node, where: Where) -> UnsupportedOp:
    if "Random" in node.op:
        return UnsupportedOp(
            f"TensorFlow op '{shown(node.op)}' gives random results",
            where,
            do="call augmentation and dropout with training=False before the model is exported",
        )
    return UnsupportedOp(
        f"TensorFlow op '{shown(node.op)}' has no QNN equivalent",
        where,
        do=advise_cut(),
    )
