"""Walks through a TorchScript program: modules inlined, branches and loops resolved for the given inputs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UnsupportedOp, Where, locate_problem, shown
from edgewright.core.numbers import Array
from edgewright.frontends.pytorch.program import NUMBERS, REQUIRED, Program, ProgramInput
from edgewright.frontends.pytorch.script_ops import PLAIN, Record, branch_values
from edgewright.frontends.pytorch.tracer import Tracer
from edgewright.frontends.pytorch.values import Tensor, as_array, list_boxes

_CLASSES = re.compile(r"\([^()]*\)")
# What Python raises where a program does to numbers and lists what cannot be done.
WRONG = (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError)
MOST_TRIPS = 20_000
MOST_CANDIDATES = 16


class Raised(Exception):
    """The program itself raises an exception."""


class ScriptProgram(Program):
    """A loaded TorchScript module."""

    format = "TorchScript"

    def __init__(self, torch: Any, file: str, module: Any, notes: Sequence[str] = ()) -> None:
        super().__init__(torch, file)
        self._module = module
        self._graph = module.inlined_graph
        self._notes = tuple(notes)
        self._states: list[str] = []

    @property
    def inputs(self) -> Sequence[ProgramInput]:
        """The arguments of forward; a tuple of tensors counts as so many inputs."""
        found: list[ProgramInput] = []
        for item in self._module.forward.schema.arguments[1:]:
            default = item.default_value if item.has_default_value() else REQUIRED
            found += _declare_input(item.name, item.type, default, self.file)
        return found

    def candidates(self, name: str) -> Sequence[Any]:
        """Both truth values, or the integers that the program compares numbers with."""
        kind = next(item.kind for item in self.inputs if item.name == name)
        if kind == "bool":
            return (False, True)
        return sorted(set(_list_compared(self._graph)))[:MOST_CANDIDATES] if kind == "int" else ()

    def notes(self) -> tuple[str, ...]:
        """What loading did, and what is kept between calls."""
        kept = ", ".join(f"'{shown(name)}'" for name in self._states)
        state = f"the model keeps {kept} between calls; converted, each run starts from the stored state"
        return (*self._notes, *([state] if kept else []))

    def execute(self, given: Mapping[str, Any]) -> list[Array]:
        """Runs the module as torch itself does."""
        tensors = {
            name: value if isinstance(value, bool | int | float) else self.torch.from_numpy(value.copy())
            for name, value in given.items()
        }
        arguments = [
            _gather_argument(item.name, item.type, item.default_value, tensors)
            for item in self._module.forward.schema.arguments[1:]
        ]
        with self.torch.no_grad():
            return [as_array(tensor) for tensor in _flatten_result(self._module(*arguments), self.torch)]

    def _walk(self, tracer: Tracer, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
        walk = _Walk(tracer, self._module)
        arguments = [
            _gather_argument(item.name, item.type, item.default_value, given)
            for item in self._module.forward.schema.arguments[1:]
        ]
        try:
            results = walk.run(self._graph, [Record(self._module._c, ""), *arguments])
        except Raised as problem:
            raise BadInput(
                f"the model refuses these inputs: {shown(problem, 300)}",
                Where(file=self.file),
                do=f"give the shapes that the model expects with {spell_option('input_shapes')}",
            ) from None
        self._states = walk.changed
        return [named for result in results for named in _name_results(result)]


def _flatten_result(result: Any, torch: Any) -> Iterator[Any]:
    """All tensors of a result in the order in which a walk names them."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, list | tuple | dict):
        for item in result.values() if isinstance(result, dict) else result:
            yield from _flatten_result(item, torch)


def _name_results(result: Any) -> list[tuple[str, Any]]:
    """A result; those of a dictionary by their keys."""
    if isinstance(result, dict):
        return [(str(key), value) for key, value in result.items()]
    return [("", result)]


def _declare_input(name: str, kind: Any, default: Any, file: str) -> list[ProgramInput]:
    word = kind.kind()
    if word == "OptionalType":
        return _declare_input(name, kind.getElementType(), None if default is REQUIRED else default, file)
    if word == "TupleType":
        parts = [_declare_input(f"{name}.{i}", item, default, file) for i, item in enumerate(kind.elements())]
        return [item for part in parts for item in part]
    if word == "TensorType":
        return [ProgramInput(name, default=default)]
    words = {"IntType": "int", "FloatType": "float", "BoolType": "bool", "NumberType": "float"}
    if word in words:
        return [ProgramInput(name, words[word], (), NUMBERS[words[word]], default)]
    if default is not REQUIRED:
        return []
    raise UnsupportedOp(
        f"input '{shown(name)}' is {kind}, expected tensors, tuples of tensors or numbers",
        Where(file=file),
        do="wrap the model in a module whose forward takes tensors, and script that",
    )


def _gather_argument(name: str, kind: Any, default: Any, given: Mapping[str, Any]) -> Any:
    """An argument from the inputs that it was declared as."""
    if kind.kind() == "TupleType":
        return tuple(_gather_argument(f"{name}.{i}", t, None, given) for i, t in enumerate(kind.elements()))
    return given.get(name, default)


def _list_compared(block: Any) -> Iterator[int]:
    """Constants that integers are compared with, branches included."""
    for node in block.nodes():
        if node.kind() in {"aten::eq", "aten::ne"} and ".int(" in node.schema():
            ends = [value.node() for value in node.inputs()]
            yield from (int(end.output().toIValue()) for end in ends if end.kind() == "prim::Constant")
        for inner in node.blocks():
            yield from _list_compared(inner)


class _Walk:
    """One pass over a graph; values are known by the names that the graph has for them."""

    def __init__(self, tracer: Tracer, module: Any) -> None:
        self.tracer = tracer
        self.torch = tracer.torch
        # Attributes that are not tensors of the module any more, and those that it got just once.
        self.attributes: dict[tuple[str, str], Any] = {}
        self.changed: list[str] = []
        self._module = module
        self._values: dict[str, Any] = {}
        self._ops: dict[str, Any] = {}

    def run(self, graph: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a graph or a block."""
        for value, argument in zip(graph.inputs(), arguments, strict=True):
            self._values[value.debugName()] = argument
        for node in graph.nodes():
            self._step(node)
        return [self._values[value.debugName()] for value in graph.outputs()]

    def _step(self, node: Any) -> None:
        kind = node.kind()
        if kind == "prim::Constant":
            results = [_read_constant(self.tracer, node)]
        elif kind == "prim::If":
            results = self._branch(node)
        elif kind == "prim::Loop":
            results = self._loop(node)
        else:
            results = self._run_op(node, kind)
        for value, result in zip(node.outputs(), results, strict=True):
            self._values[value.debugName()] = result

    def _run_op(self, node: Any, kind: str) -> list[Any]:
        args = [self._values[value.debugName()] for value in node.inputs()]
        if kind == "prim::GetAttr":
            return [self._read_attribute(args[0], node.s("name"))]
        if kind == "prim::SetAttr":
            return self._set_attribute(args[0], node.s("name"), args[1])
        if kind == "prim::CreateObject":
            return [Record(None, f"object{len(self.attributes)}")]
        if kind == "prim::RaiseException":
            raise Raised(
                args[0] if args and isinstance(args[0], str) and args[0] else "it raises an exception"
            )
        if kind in PLAIN:
            try:
                found = PLAIN[kind](self.tracer, node, args)
            except WRONG as problem:
                raise Raised(f"{type(problem).__name__} {problem} in '{_label(node, kind)}'") from problem
            if found is not NotImplemented:
                return list(found) if node.outputsSize() != 1 else [found]
        result = self._call_op(node, kind, args)
        return [result] if node.outputsSize() == 1 else list(result or ())

    def _call_op(self, node: Any, kind: str, args: list[Any]) -> Any:
        schema = node.schema()
        op = self._choose_overload(schema, kind, args, node)
        positional = len([item for item in op._schema.arguments if not item.kwarg_only])
        named = dict(
            zip([a.name for a in op._schema.arguments[positional:]], args[positional:], strict=False)
        )
        return self.tracer.call(op, args[:positional], named, _label(node, kind, args))

    def _choose_overload(self, schema: str, kind: str, args: Sequence[Any], node: Any) -> Any:
        key = schema.split("(", maxsplit=1)[0]
        space, _, rest = key.partition("::")
        name, _, overload = rest.partition(".")
        packet = getattr(getattr(self.torch.ops, space, None), name, None)
        op = getattr(packet, overload or "default", None)
        if op is None:
            raise locate_problem(
                UnsupportedOp(f"PyTorch op '{kind}' has no translation"),
                Where(file=self.tracer.file, op=kind, node=_label(node, kind)),
            )
        kinds = [str(item.type) for item in op._schema.arguments]
        is_late = any(
            isinstance(value, Tensor) and word in {"int", "float", "number", "Scalar", "bool"}
            for value, word in zip(args, kinds, strict=False)
        )
        # A number that is computed from data is a tensor here: the op for tensors takes it.
        for other in ("Tensor", "Scalar") if is_late and "Tensor" not in "".join(kinds[:1]) else ():
            if hasattr(packet, other):
                return getattr(packet, other)
        return op

    def _read_attribute(self, record: Any, name: str) -> Any:
        key = (record.path, name)
        if key in self.attributes:
            return self.attributes[key]
        path = f"{record.path}.{name}" if record.path else name
        found = record.module.getattr(name)
        if isinstance(found, self.torch._C.ScriptModule | self.torch._C.ScriptObject):
            found = Record(found, path)
        else:
            found = _box_value(self.tracer, found, path)
        self.attributes[key] = found
        return found

    def _set_attribute(self, record: Any, name: str, value: Any) -> list[Any]:
        path = f"{record.path}.{name}" if record.path else name
        if (
            record.module is not None
            and path not in self.changed
            and any(box.data is None for box in list_boxes([value]))
        ):
            self.changed.append(path)
        self.attributes[record.path, name] = value
        return []

    def _branch(self, node: Any) -> list[Any]:
        condition = self._values[next(node.inputs()).debugName()]
        blocks = list(node.blocks())
        if isinstance(condition, Tensor) and condition.data is not None:
            condition = bool(condition.data)
        if not isinstance(condition, Tensor):
            return self.run(blocks[0 if condition else 1], [])
        return self._follow_both(condition, blocks, node)

    def _follow_both(self, condition: Tensor, blocks: Sequence[Any], node: Any) -> list[Any]:
        """A branch on data: both ways are followed and each result is chosen at run time."""
        ways: list[list[Any] | None] = []
        for block in blocks:
            before = dict(self.attributes)
            try:
                ways.append(self.run(block, []))
            except Raised:
                # A check of the data: the way that raises is not taken.
                ways.append(None)
            if self.attributes != before and len(list(node.outputs())) == 0:
                raise locate_problem(
                    UnsupportedOp("a branch that depends on the input's data changes the model's state"),
                    Where(file=self.tracer.file, op="prim::If", node=_label(node, "if")),
                )
        if ways[0] is None or ways[1] is None:
            left = ways[0] if ways[1] is None else ways[1]
            if left is None:
                raise Raised("both ways of a branch raise an exception")
            return left
        return branch_values(self.tracer, condition, ways[0], ways[1], _label(node, "if"))

    def _loop(self, node: Any) -> list[Any]:
        limit, condition, *carried = [self._values[value.debugName()] for value in node.inputs()]
        body = next(node.blocks())
        trips = 0
        while trips < self._decide_value(limit, node, int) and self._decide_value(condition, node, bool):
            if trips >= MOST_TRIPS:
                raise UnsupportedOp(f"a loop runs more than {MOST_TRIPS} times", Where(file=self.tracer.file))
            condition, *carried = self.run(body, [trips, *carried])
            trips += 1
        return carried

    def _decide_value(self, value: Any, node: Any, kind: Any) -> Any:
        if isinstance(value, Tensor):
            if value.data is None:
                raise locate_problem(
                    UnsupportedOp(
                        "how often a loop runs depends on the input's data",
                        do="script the model with a fixed number of steps",
                    ),
                    Where(file=self.tracer.file, op="prim::Loop", node=_label(node, "loop")),
                )
            return kind(value.data)
        return value


def _read_constant(tracer: Tracer, node: Any) -> Any:
    value = node.output().toIValue() if node.hasAttribute("value") else None
    return _box_value(tracer, value)


def _box_value(tracer: Tracer, value: Any, path: str = "") -> Any:
    """A stored value with its tensors as boxes."""
    if isinstance(value, tracer.torch.Tensor):
        return tracer.known(value, path)
    if isinstance(value, list | tuple):
        return type(value)(_box_value(tracer, item, f"{path}.{i}") for i, item in enumerate(value))
    if isinstance(value, dict):
        return {key: _box_value(tracer, item, f"{path}.{key}") for key, item in value.items()}
    return value


def _label(node: Any, kind: str, args: Sequence[Any] = ()) -> str:
    """The module that an op belongs to and the op; outside modules the name that the program has."""
    path = _CLASSES.sub("", node.getModuleHierarchy()).replace("UNKNOWN_INSTANCE", "").strip(".")
    owners = [box.path.rpartition(".")[0] for box in list_boxes(list(args)) if box.path]
    # Lists of modules are no callers, and missing above: the path to a weight is whole.
    path = next((owner for owner in owners if owner.endswith(path)), path)
    op = kind.rsplit("::", maxsplit=1)[-1].strip("_")
    if path:
        return f"{path}.{op}"
    return next((v.debugName() for v in node.outputs() if not v.debugName()[0].isdigit()), op)
