"""Puts the bodies of called functions in the place of their calls: one flat list of nodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgewright.core.errors import BadInput, LimitExceeded, shown
from edgewright.frontends.tensorflow.graphdef import Function, GraphDef, Node

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# Nodes that functions may add: a small file can ask for any number of them.
MOST_NODES = 200_000
DEEPEST_CALL = 100

# Ops whose outputs are several arguments, by their names; all others have one, perhaps a list.
_NORM = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3")
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _NORM),
    **dict.fromkeys(("TopK", "TopKV2"), ("values", "indices")),
    **dict.fromkeys(("Unique", "UniqueV2"), ("y", "idx")),
    **dict.fromkeys(("UniqueWithCounts", "UniqueWithCountsV2"), ("y", "idx", "count")),
    "Switch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "CombinedNonMaxSuppression": ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    "TensorArrayV3": ("handle", "flow"),
    "TensorArrayConcatV3": ("value", "lengths"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TensorListConcat": ("tensor", "lengths"),
    "TensorListConcatV2": ("tensor", "lengths"),
    "ListDiff": ("out", "idx"),
    "LSTMBlockCell": ("i", "cs", "f", "o", "ci", "co", "h"),
    "BlockLSTM": ("i", "cs", "f", "o", "ci", "co", "h"),
    "BlockLSTMV2": ("i", "cs", "f", "o", "ci", "co", "h"),
    "GRUBlockCell": ("r", "u", "c", "h"),
}


@dataclass(frozen=True)
class Body:
    """A function without calls: nodes, and the tensors that are its arguments and results."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    nodes: tuple[Node, ...]


class Flattener:
    """Calls of one graph's functions; bodies are made when they are asked for."""

    def __init__(self, graph: GraphDef) -> None:
        self._functions = graph.functions
        self._open: list[str] = []
        self._count = 0
        self._bodies: dict[str, Body] = {}

    def flat(self, nodes: Iterable[Node]) -> list[Node]:
        """The nodes with calls replaced by what they call."""
        found: list[Node] = []
        for node in nodes:
            called = self._find_function(node)
            found += [node] if called is None else self._inline_call(node, called)
        return found

    def add(self, bodies: Mapping[str, Body]) -> None:
        """Functions that are no part of the library."""
        self._bodies.update(bodies)

    def body(self, name: str) -> Body:
        """A function as the ops of control flow need it."""
        if name not in self._bodies:
            function = self._find(name)
            arguments = tuple(f"{item}:0" for item in function.arguments)
            nodes, results = self._rename_function(function, "", arguments)
            self._bodies[name] = Body(name, arguments, results, tuple(nodes))
        return self._bodies[name]

    def _find_function(self, node: Node) -> Function | None:
        if node.op in CALLS:
            return self._find(node.attributes.function("f"))
        return self._functions.get(node.op)

    def _find(self, name: str) -> Function:
        if name not in self._functions:
            raise BadInput(
                f"function '{shown(name)}' is called, which the model does not have",
                do="export the model again",
            )
        return self._functions[name]

    def _inline_call(self, call: Node, function: Function) -> list[Node]:
        """The body, and a node that carries its results under the name of the call."""
        if len(call.inputs) != len(function.arguments):
            raise BadInput(
                f"function '{shown(function.name)}' is called with {len(call.inputs)} arguments, "
                f"expected {len(function.arguments)}",
                call.where,
                do="export the model again",
            )
        nodes, results = self._rename_function(function, f"{call.name}/", call.inputs)
        return [*nodes, Node(call.name, "IdentityN", results)]

    def _rename_function(
        self, function: Function, prefix: str, arguments: Sequence[str]
    ) -> tuple[list[Node], tuple[str, ...]]:
        self._enter(function)
        try:
            inside = _Names(function, self._functions, prefix, arguments)
            renamed = [
                node.renamed(f"{prefix}{node.name}", [inside.resolve(item) for item in node.inputs])
                for node in function.nodes
            ]
            return self.flat(renamed), tuple(inside.resolve(item) for item in function.results)
        finally:
            self._open.pop()

    def _enter(self, function: Function) -> None:
        if function.name in self._open:
            raise BadInput(f"function '{shown(function.name)}' calls itself", do="remove the recursion")
        self._count += len(function.nodes) + 1
        if self._count > MOST_NODES or len(self._open) >= DEEPEST_CALL:
            raise LimitExceeded(
                f"functions add more than {MOST_NODES} nodes or are nested deeper than {DEEPEST_CALL}",
                do="flatten the model's functions",
            )
        self._open.append(function.name)


class _Names:
    """What references inside a function stand for outside."""

    def __init__(
        self, function: Function, library: Mapping[str, Function], prefix: str, arguments: Sequence[str]
    ) -> None:
        self._arguments = dict(zip(function.arguments, arguments, strict=True))
        self._ops = {node.name: node.op for node in function.nodes}
        self._library = library
        self._prefix = prefix
        self._function = function.name

    def resolve(self, reference: str) -> str:
        """The tensor behind "argument" or "node:output:index"."""
        node, _, rest = reference.partition(":")
        if node in self._arguments and node not in self._ops:
            return self._arguments[node]
        if node not in self._ops:
            raise BadInput(
                f"function '{shown(self._function)}' reads '{shown(reference)}', which it does not make",
                do="export the model again",
            )
        output, _, index = rest.rpartition(":")
        if not index.isascii() or not index.isdigit() or len(index) > 9:
            output, index = rest, "0"
        return f"{self._prefix}{node}:{self._place(self._ops[node], output) + int(index)}"

    def _place(self, op: str, output: str) -> int:
        names = self._library[op].outputs if op in self._library else OUTPUTS.get(op, ())
        return names.index(output) if output in names else 0
