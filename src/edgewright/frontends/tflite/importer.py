"""Walks a TFLite subgraph and translates it op by op, collecting everything that cannot be translated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedOp, Where, locate_problem
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames
from edgewright.frontends._common.importer import GraphImporter, check_length
from edgewright.frontends.tflite import registry
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.declarations import check_operator
from edgewright.frontends.tflite.encoded import convert_constant, type_in_graph
from edgewright.frontends.tflite.reader import Operator, Subgraph, Tensor, TfliteFile
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape

# Ops that do something besides what they return.
EFFECTS = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE"})

# Ops that move elements, whatever these are.
MOVES = frozenset(
    {
        "CONCATENATION",
        "EXPAND_DIMS",
        "GATHER",
        "PACK",
        "RESHAPE",
        "SLICE",
        "SQUEEZE",
        "STRIDED_SLICE",
        "TRANSPOSE",
    }
)


class Importer(GraphImporter):
    """One import of one subgraph and those that it calls."""

    def __init__(
        self,
        file: TfliteFile,
        place: int,
        inputs: Mapping[str, BoundInput],
        outputs: Sequence[str],
        *,
        keep_all: bool = False,
    ) -> None:
        self._context = Context(Graph(file.subgraphs[place].name or "main"), self)
        super().__init__(file.name, self._context, inputs, outputs)
        self._file = file
        self._main = file.subgraphs[place]
        self._by_name = {tensor.name: tensor for tensor in self._main.tensors}
        self._keep_all = keep_all
        # Constants of each subgraph: one for all its uses.
        self._constants: dict[tuple[int, int], str] = {}
        self._open: list[int] = [place]

    def run(self) -> Imported:
        """Translates the graph; stops early only where a value or a shape is needed."""
        with guard_reading(self._file.name):
            self._graph.reserve(tensor.name for tensor in self._main.tensors)
            self._declare_inputs()
            for operator in list_needed(self._main, self._outputs, is_whole=self._keep_all):
                self._import_operator(operator)
                if self._result.bound or self._result.shapes_for:
                    return self._result
            if not self._result.problems:
                self._declare_outputs()
                self._declare_states()
            return self._result

    def subgraph(self, place: int) -> Subgraph:
        """A subgraph of the file."""
        return self._file.subgraphs[place]

    def inline(self, place: int, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place and returns the values of its outputs."""
        graph = self._file.subgraphs[place]
        if place in self._open:
            raise BadInput(f"subgraph '{graph.name}' calls itself", do="remove the recursion")
        if len(arguments) != len(graph.inputs):
            raise BadInput(
                f"the subgraph '{graph.name}' has {len(graph.inputs)} inputs, expected {len(arguments)}",
                do="export the model again",
            )
        names = [graph.tensors[index].name for index in graph.inputs]
        self._count_inlined(len(graph.operators))
        self._open.append(place)
        try:
            with self._scopes.open(dict(zip(names, arguments, strict=True)), is_closed=True):
                outputs = [graph.tensors[index].name for index in graph.outputs]
                for operator in list_needed(graph, outputs):
                    self._inline_operator(graph, operator)
                return [self._find_value(graph, index) for index in graph.outputs]
        finally:
            self._open.pop()

    def _inline_operator(self, graph: Subgraph, operator: Operator) -> None:
        try:
            values = self._translate(graph, operator)
        except EdgewrightError as problem:
            raise locate_problem(
                problem, Where(op=operator.op, node=label_of(graph, operator))
            ) from problem.__cause__
        for index, value in zip(operator.outputs, values, strict=False):
            self._scopes.define(graph.tensors[index].name, value)

    def _import_operator(self, operator: Operator) -> None:
        self._take_step(
            list_node_names(self._main, operator),
            lambda: self._translate(self._main, operator),
            lambda where: (
                None if registry.find_translation(operator.op) else _make_unknown_op_error(operator, where)
            ),
        )

    def _translate(self, graph: Subgraph, operator: Operator) -> list[str]:
        found = registry.find_translation(operator.op)
        label = label_of(graph, operator)
        if found is None:
            raise _make_unknown_op_error(operator, Where(op=operator.op, node=label))
        check_operator(operator, Where(op=operator.op, node=label))
        values = [self._find_value(graph, index) if index >= 0 else "" for index in operator.inputs]
        inputs = values if found.is_stored else [self._context.real(value) for value in values]
        node = SourceNode(
            operator,
            inputs,
            tuple(graph.tensors[index] if index >= 0 else None for index in operator.inputs),
            tuple(graph.tensors[index] for index in operator.outputs),
            label,
        )
        made = self._translate_node(found, node)
        if len(made) < len(operator.outputs):
            raise BadInput(
                f"the op has {len(operator.outputs)} outputs, expected {len(made)}",
                do="export the model again",
            )
        if found.is_stored:
            return made
        pairs = zip(made, node.results, strict=False)
        return [
            value if self._context.is_complex(value) else self._context.stored(value, tensor)
            for value, tensor in pairs
        ]

    def _translate_node(self, found: registry.Translation, node: SourceNode) -> list[str]:
        """What the translation makes; an op that only moves elements moves each part of complex ones."""
        if node.op not in MOVES or not any(self._context.is_complex(value) for value in node.inputs):
            results = found.handler(self._context, node)
            return [results] if isinstance(results, str) else list(results)
        sides = [
            found.handler(
                self._context, replace(node, inputs=[self._part(value, side) for value in node.inputs])
            )
            for side in (0, 1)
        ]
        real, imaginary = ([side] if isinstance(side, str) else side for side in sides)
        pairs = zip(real, imaginary, strict=True)
        return [self._context.complex_of(*pair) for pair in pairs]

    def _part(self, value: str, side: int) -> str:
        return self._context.parts(value)[side] if self._context.is_complex(value) else value

    def _find_value(self, graph: Subgraph, index: int) -> str:
        """The value of a tensor: made, an input, or stored in the file."""
        tensor = graph.tensors[index]
        if tensor.name in self._scopes:
            return self._scopes.resolve(tensor.name)
        key = (self._open[-1], index)
        if key not in self._constants:
            self._constants[key] = self._emit_constant(tensor)
        return self._constants[key]

    def _emit_constant(self, tensor: Tensor) -> str:
        check_length(tensor.name)
        array = self._file.array(tensor)
        if array is None and tensor.is_variable:
            # A state that a fresh model starts with: zeros.
            declared = type_in_graph(tensor)
            return self._context.zeros(declared, tensor.name)
        if array is None and 0 in tensor.shape and tensor.dtype is not None:
            return self._context.zeros(type_in_graph(tensor), tensor.name)
        if array is None:
            raise BadInput(
                f"tensor '{tensor.name}' is read but never made",
                Where(tensor=tensor.name),
                do="export the model again",
            )
        value, declared = convert_constant(array, tensor)
        name = tensor.name if tensor.name not in self._graph.types else self._graph.fresh_name(tensor.name)
        return self._graph.add_constant(name, value, declared)

    def _find_declared_type(self, name: str) -> TensorType | None:
        tensor = self._by_name.get(name)
        return None if tensor is None or tensor.dtype is None else type_in_graph(tensor)

    def _declare_states(self) -> None:
        for state, value in self._context.variables.states():
            op = Reshape(shape=self._graph.types[value].shape)
            self._graph.add(Node(self._graph.fresh_name(state.output), op, [value], [state.output]))
            self._graph.outputs.append(state.output)
            self._graph.source_names[state.output] = self._graph.source_names.get(value, value)
            self._result.states.append(state)


def list_needed(graph: Subgraph, outputs: Sequence[str], *, is_whole: bool = False) -> list[Operator]:
    """The operators that the outputs depend on, and those with effects; all of them where it is whole."""
    if is_whole:
        return list(graph.operators)
    wanted = {index for index, tensor in enumerate(graph.tensors) if tensor.name in set(outputs)}
    chosen: list[Operator] = []
    for operator in reversed(graph.operators):
        if operator.op in EFFECTS or wanted.intersection(operator.outputs):
            chosen.append(operator)
            wanted.update(operator.inputs)
    return chosen[::-1]


def label_of(graph: Subgraph, operator: Operator) -> str:
    """Operators have no names: they are called after what they make, or read."""
    places = [index for index in (*operator.outputs, *operator.inputs) if index >= 0]
    return graph.tensors[places[0]].name if places else operator.op


def list_node_names(graph: Subgraph, operator: Operator) -> NodeNames:
    """An operator's names as an import of any format knows them."""
    inputs, outputs = (
        tuple(graph.tensors[index].name if index >= 0 else "" for index in places)
        for places in (operator.inputs, operator.outputs)
    )
    domain = "custom" if operator.is_custom else ""
    return NodeNames(operator.op, label_of(graph, operator), inputs, outputs, domain=domain)


def _make_unknown_op_error(operator: Operator, where: Where) -> UnsupportedOp:
    kind = "custom op" if operator.is_custom else "op"
    return UnsupportedOp(
        f"TFLite {kind} '{operator.op}' has no QNN equivalent",
        where,
        do=advise_cut(),
    )
