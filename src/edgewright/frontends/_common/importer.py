"""What importers of all source formats share: naming values, waiting for values, the graph's ends."""

from collections.abc import Callable, Mapping, Sequence

from edgewright.core.errors import EdgewrightError, LimitExceeded, UnsupportedOp, Where, locate_problem, shown
from edgewright.frontends._common.builder import Builder, NeedsValue
from edgewright.frontends._common.faults import FAULTS, make_fault
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames, Step
from edgewright.frontends._common.scopes import Scopes
from edgewright.ir.graph import Graph, Node
from edgewright.ir.limits import check_size
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape, Transpose

# Nodes that subgraphs and functions may add: a file of a few kilobytes can ask for any number of them.
MOST_INLINED = 200_000
# A name is repeated in the names of everything made from it: a long one could fill the memory.
LONGEST_NAME = 1 << 16


def check_length(name: str) -> None:
    """A name must be of a bearable length."""
    if len(name) > LONGEST_NAME:
        raise LimitExceeded(
            f"name '{shown(name)}' has {len(name)} characters, at most {LONGEST_NAME} are allowed",
            do="shorten the names in the model",
        )


class GraphImporter:
    """One import of one graph."""

    def __init__(
        self,
        file_name: str,
        builder: Builder,
        inputs: Mapping[str, BoundInput],
        outputs: Sequence[str],
    ) -> None:
        self._file_name = file_name
        self._builder = builder
        self._graph: Graph = builder.graph
        self._inputs = inputs
        self._outputs = outputs
        self._scopes = Scopes()
        self._named: set[str] = set()
        self._missing: set[str] = set()
        self._placeholders: set[str] = set()
        self._inlined = 0
        self._result = Imported(self._graph, emitted=builder.emitted)

    def _count_inlined(self, nodes: int) -> None:
        self._inlined += nodes + 1
        if self._inlined > MOST_INLINED:
            raise LimitExceeded(
                f"control flow and functions add more than {MOST_INLINED} nodes",
                do="lower the trip counts, or flatten the model's control flow",
            )

    def _take_step(
        self,
        node: NodeNames,
        translate: Callable[[], Sequence[str]],
        unknown: Callable[[Where], EdgewrightError | None],
    ) -> None:
        """Translates a node of the main graph, or notes why that cannot be and goes on without it.

        ``unknown`` is asked about a node behind an unsupported one: a problem of its own where nobody knows
        its op.
        """
        first, problem, is_waiting = len(self._builder.emitted), None, False
        where = Where(file=self._file_name, op=node.op, node=node.label)
        if any(name in self._missing for name in node.inputs):
            problem = unknown(where)
            self._give_up(node, problem)
            self._result.steps.append(Step(node, first, first, problem, is_skipped=True))
            return
        self._builder.source = node.label
        self._builder.prefix = next(filter(None, node.outputs), "value")
        try:
            self._define(node.outputs, translate())
        except NeedsValue as needed:
            problem, is_waiting = self._wait_for(needed, where), True
            self._give_up(node, problem)
        except UnsupportedOp as found:
            problem = locate_problem(found, where)
            self._give_up(node, problem)
        except EdgewrightError as found:
            raise locate_problem(found, where) from found.__cause__
        except FAULTS as found:
            raise make_fault(found, where) from found
        self._result.steps.append(Step(node, first, len(self._builder.emitted), problem, is_waiting))

    def _find_declared_type(self, name: str) -> TensorType | None:
        """What the source says of a value; None where it says too little."""
        raise NotImplementedError

    def _give_up(self, node: NodeNames, problem: EdgewrightError | None) -> None:
        """Goes on without a node, with the types the file declares for its outputs: more is checked so."""
        if problem is not None:
            self._result.problems.append(problem)
        for name in filter(None, node.outputs):
            known = self._find_declared_type(name)
            if known is None or name in self._graph.types:
                self._missing.add(name)
                continue
            self._placeholders.add(self._graph.add_input(name, known))
            self._scopes.define(name, name)

    def _define(self, names: Sequence[str], values: Sequence[str]) -> None:
        for name, value in zip(names, values, strict=False):
            if not name:
                continue
            if self._graph.producer(value) is not None and value != name and value not in self._named:
                self._builder.rename(value, name)
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
        pending, visited = [needed.value], {needed.value}
        inputs = set(self._graph.inputs)
        while pending:
            current = pending.pop()
            # A shape may be all that is missing: values are asked for once shapes are numbers.
            symbols = self._builder.list_symbols(current) or self._graph.types[current].symbols
            if symbols and symbols <= self._input_symbols():
                self._result.shapes_for = _label(where)
                continue
            if current in self._placeholders:
                return None
            if current in inputs:
                self._result.bound[current] = _label(where)
            node = self._graph.producer(current)
            fresh = [] if node is None else [name for name in node.inputs if name and name not in visited]
            visited.update(fresh)
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
            check_length(name)
            check_size(spec.tensor_type, Where(file=self._file_name, tensor=name))
            if spec.value is None:
                self._graph.add_input(name, spec.tensor_type)
            else:
                self._graph.add_constant(name, spec.value, spec.tensor_type)
            self._scopes.define(name, name)

    def _declare_outputs(self) -> None:
        for name in dict.fromkeys(self._outputs):
            value = self._scopes.resolve(name)
            if value not in self._graph.types:
                raise UnsupportedOp(
                    f"output '{name}' is a sequence or an optional, not a tensor",
                    Where(file=self._file_name, tensor=name),
                    do="export a model whose outputs are tensors",
                )
            if value != name or self._graph.producer(value) is None:
                value = self._copy_value(name, value)
            self._graph.outputs.append(value)

    def _copy_value(self, name: str, value: str) -> str:
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


def _label(where: Where) -> str:
    """The node an import stopped at, as a text that is never empty."""
    return where.node or where.op or "a node"
