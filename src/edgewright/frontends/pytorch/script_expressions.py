"""Expressions of TorchScript code: the parsed text is followed, never compiled or executed by Python."""

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgewright.core.errors import (
    BadInput,
    EdgewrightError,
    LimitExceeded,
    UnsupportedFeature,
    UnsupportedOp,
    Where,
    locate_problem,
    shown,
)
from edgewright.frontends.pytorch.overloads import Overloads
from edgewright.frontends.pytorch.quantized import PackedWeights
from edgewright.frontends.pytorch.script_code import Class, Code, Function
from edgewright.frontends.pytorch.script_objects import NamedValues, Objects, Record
from edgewright.frontends.pytorch.script_ops import LONGEST_LIST, PLAIN
from edgewright.frontends.pytorch.script_pickle import EnumMember
from edgewright.frontends.pytorch.script_versions import update_call
from edgewright.frontends.pytorch.tracer import Tracer
from edgewright.frontends.pytorch.values import Tensor

# What Python raises where a program does to numbers and lists what cannot be done.
WRONG = (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError)
# Statements and calls that are followed before a program counts as endless.
MOST_STEPS = 1_000_000
# Tensors stand for numbers that data decide.
NUMBERS = {"int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool", "number": "aten::item"}
CONVERSIONS = {"int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool", "str": "aten::str"}
# Calls that give back their first argument, or nothing.
FIRST_OR_NOTHING = {"unchecked_unwrap_optional": True, "print": False, "warn": False}
TYPES: dict[str, type | tuple[type, ...]] = {
    "tensor": Tensor,
    "int": int,
    "float": float,
    "number": (int, float, complex),
    "bool": bool,
    "str": str,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "nonetype": type(None),
}
SPECIAL_FLOATS = {"inf": math.inf, "nan": math.nan}
PREPACK = "_prepack"


class Raised(Exception):
    """The program itself raises an exception."""


@dataclass
class Frame:
    """One call of a function: its names, and the module whose method runs."""

    owner: Record | None
    names: dict[str, Any] = field(default_factory=dict)


class Expressions(ABC):
    """Values of expressions; statements are left to who derives from it."""

    def __init__(self, tracer: Tracer, code: Code, constants: Sequence[Any], version: int) -> None:
        self.tracer = tracer
        self.torch = tracer.torch
        self.code = code
        self.objects = Objects(tracer, code, self._set_state)
        self._constants = constants
        self._version = version
        self._overloads = Overloads(tracer.torch)
        self._steps = 0

    @abstractmethod
    def call_function(
        self, function: Function, args: Sequence[Any], named: Mapping[str, Any], owner: Record | None
    ) -> Any:
        """The result of a function of the archive."""

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        handler = _FORMS.get(type(node))
        if handler is None:
            raise self.refuse_form(node)
        return handler(self, node, frame)

    def count_step(self) -> None:
        """Ends a program that runs on and on."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise LimitExceeded(
                f"the program takes more than {MOST_STEPS} steps",
                Where(file=self.tracer.file),
                do="lower the trip counts of its loops, or check where the file comes from",
            )

    def refuse(self, what: str) -> EdgewrightError:
        """The error for code that torch does not write, or that cannot be followed."""
        return UnsupportedFeature(
            what, Where(file=self.tracer.file), do="save the model again with torch.jit.save, or torch.export"
        )

    def refuse_form(self, node: ast.expr | ast.stmt) -> EdgewrightError:
        """The error for an expression or a statement that torch does not write."""
        return self.refuse(
            f"line {node.lineno} of the program's code has a '{type(node).__name__}', which torch.jit.save "
            "does not write"
        )

    def call(self, node: ast.Call, frame: Frame, hint: str = "") -> Any:
        """The result of a call; ``hint`` is the name that it gets in the program."""
        self.count_step()
        function = node.func
        if isinstance(function, ast.Name) and function.id not in frame.names:
            return self._call_word(function.id, node, frame)
        chain = _list_names(function)
        if chain and chain[0] not in frame.names:
            if chain[0] == "__torch__":
                return self._call_defined(chain, node, frame)
            if len(chain) > 1 and chain[0] in {"torch", "ops"}:
                return self._call_named_op(chain, node, frame, hint)
        if isinstance(function, ast.Attribute):
            return self._call_method(function, node, frame)
        return self._call_value(self.evaluate(function, frame), node, frame)

    def _call_word(self, word: str, node: ast.Call, frame: Frame) -> Any:
        """What the language itself brings."""
        if word in {"annotate", "unchecked_cast"} and len(node.args) == 2:
            return self._cast(word, node, frame)
        if word == "isinstance" and len(node.args) == 2:
            return is_of_type(self.evaluate(node.args[0], frame), node.args[1])
        if word == "uninitialized":
            return None
        return self._call_builtin(word, node, frame)

    def _call_builtin(self, word: str, node: ast.Call, frame: Frame) -> Any:
        args = self.list_values(node.args, frame)
        if word in CONVERSIONS:
            return self._run_plain(CONVERSIONS[word], args)
        if word == "getattr" and len(args) == 2:
            return self._read_from(args[0], args[1])
        if word == "range":
            return self._make_range(args)
        if word in FIRST_OR_NOTHING and args:
            return args[0] if FIRST_OR_NOTHING[word] else None
        raise self.refuse(f"the program calls '{shown(word)}', which has no meaning here")

    def _cast(self, word: str, node: ast.Call, frame: Frame) -> Any:
        value = self.evaluate(node.args[1], frame)
        kind = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
        is_number = word == "annotate" and isinstance(value, Tensor) and kind in NUMBERS
        return PLAIN[NUMBERS[kind]](self.tracer, [value]) if is_number else value

    def _make_range(self, args: Sequence[Any]) -> range:
        numbers = [PLAIN["aten::Int"](self.tracer, [item]) for item in args]
        if not 1 <= len(numbers) <= 3 or any(isinstance(number, Tensor) for number in numbers):
            raise UnsupportedOp(
                "how often a loop runs depends on the input's data",
                Where(file=self.tracer.file),
                do="script the model with a fixed number of steps",
            )
        return range(*numbers)

    def _call_defined(self, chain: Sequence[str], node: ast.Call, frame: Frame) -> Any:
        """Functions and classes of the archive."""
        is_new = chain[-1] == "__new__"
        place = self.code.find(chain[:-1] if is_new else chain)
        if place is None or place[1]:
            raise self.refuse(f"the archive has no '{shown('.'.join(chain), 80)}'")
        if is_new:
            return self.objects.create(".".join(chain[:-1]), f"object{self._steps}")
        return self._call_value(place[0], node, frame)

    def _call_value(self, value: Any, node: ast.Call, frame: Frame) -> Any:
        args, named = self.list_values(node.args, frame), self._map_keywords(node, frame)
        if isinstance(value, Function):
            return self.call_function(value, args, named, frame.owner)
        if isinstance(value, Class) and value.base == "NamedTuple":
            values = NamedValues(args)
            values.fields = tuple(value.fields)
            return values
        raise self.refuse(f"line {node.lineno} of the program's code calls what is no function")

    def _call_method(self, function: ast.Attribute, node: ast.Call, frame: Frame) -> Any:
        target = self.evaluate(function.value, frame)
        args, named = self.list_values(node.args, frame), self._map_keywords(node, frame)
        if isinstance(target, Record) and target.code is not None and function.attr in target.code.methods:
            owner = target if target.is_module else frame.owner
            return self.call_function(target.code.methods[function.attr], [target, *args], named, owner)
        named_class = target.class_name if isinstance(target, Record) else type(target).__name__
        raise self.refuse(
            f"'{shown(named_class)}' has no method '{shown(function.attr)}' that can be followed"
        )

    def _set_state(self, record: Record, state: Any) -> None:
        assert record.code is not None
        self.call_function(record.code.methods["__setstate__"], [record, state], {}, record)

    def _call_named_op(self, chain: Sequence[str], node: ast.Call, frame: Frame, hint: str) -> Any:
        """``torch.NAME`` and ``ops.SPACE.NAME``."""
        if list(chain) == ["torch", "device"]:
            return self.torch.device("cpu")
        space = "aten" if chain[0] == "torch" else chain[1]
        if len(chain) != (2 if chain[0] == "torch" else 3):
            raise self.refuse(f"the program calls '{shown('.'.join(chain), 60)}', which has no meaning here")
        args, named = self.list_values(node.args, frame), self._map_keywords(node, frame)
        return self.call_op(f"{space}::{chain[-1]}", args, named, frame, hint)

    def call_op(
        self, kind: str, args: Sequence[Any], named: Mapping[str, Any], frame: Frame, hint: str = ""
    ) -> Any:
        """The result of an op."""
        if kind == "prim::RaiseException":
            given = args[0] if args and isinstance(args[0], str) else ""
            raise Raised(given or "it raises an exception")
        if kind.startswith("quantized::") and PREPACK in kind:
            return PackedWeights.from_call(kind, [*args, *named.values()])
        label = self._label(kind, frame, hint)
        args, named = update_call(self._version, kind, args, named)
        bound = self._overloads.bind(kind, args, named)
        values = [*bound.positional, *bound.named.values()] if bound is not None else [*args, *named.values()]
        if kind in PLAIN:
            result = self._run_plain(kind, values)
            if result is not NotImplemented:
                return result
        if bound is None:
            raise self._make_op_error(kind, label)
        return self.tracer.call(bound.op, bound.positional, bound.named, label)

    def _make_op_error(self, kind: str, label: str) -> EdgewrightError:
        where = Where(file=self.tracer.file, op=shown(kind), node=label)
        if self._overloads.is_known(kind):
            return BadInput(f"PyTorch op '{shown(kind)}' does not take such arguments", where)
        problem = UnsupportedOp(
            f"PyTorch op '{shown(kind)}' is not known to torch",
            do="name the library that defines it with --pytorch_custom_op_lib",
        )
        return locate_problem(problem, where)

    def _run_plain(self, kind: str, args: list[Any]) -> Any:
        try:
            return PLAIN[kind](self.tracer, args)
        except WRONG as problem:
            named = kind.rpartition("::")[2].strip("_")
            raise Raised(f"{type(problem).__name__} {problem} in '{named}'") from problem

    def _label(self, kind: str, frame: Frame, hint: str) -> str:
        """The module that an op belongs to and the op; outside modules the name that the program has."""
        op = kind.rpartition("::")[2].strip("_")
        path = frame.owner.path if frame.owner is not None else ""
        return f"{path}.{op}" if path else hint or op

    def read_name(self, node: ast.Name, frame: Frame) -> Any:
        """The value of a name."""
        if node.id in frame.names:
            return frame.names[node.id]
        if node.id in SPECIAL_FLOATS:
            return SPECIAL_FLOATS[node.id]
        raise self.refuse(f"the program uses '{shown(node.id)}' before it has a value")

    def read_attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        """The value of ``x.name``, or what a dotted name of the archive stands for."""
        chain = _list_names(node)
        if chain and chain[0] == "CONSTANTS" and chain[1][1:].isdigit():
            return self.objects.make_boxes(self._constants[int(chain[1][1:])])
        if chain and chain[0] == "__torch__":
            return self._read_defined(chain, frame)
        return self._read_from(self.evaluate(node.value, frame), node.attr)

    def _read_defined(self, chain: Sequence[str], frame: Frame) -> Any:
        place = self.code.find(chain)
        if place is None:
            raise self.refuse(f"the archive has no '{shown('.'.join(chain), 80)}'")
        definition, rest = place
        if not rest:
            return definition
        if isinstance(definition, Class) and len(rest) == 1 and rest[0] in definition.constants:
            value = self.evaluate(definition.constants[rest[0]], frame)
            return EnumMember(definition.name, value) if definition.base == "Enum" else value
        raise self.refuse(f"the archive has no '{shown('.'.join(chain), 80)}'")

    def _read_from(self, value: Any, name: str) -> Any:
        """An attribute: only objects of the program have any."""
        if isinstance(value, Record):
            try:
                return self.objects.read(value, name)
            except LookupError:
                constants = value.code.constants if value.code is not None else {}
                if name in constants:
                    return self.evaluate(constants[name], Frame(value))
        if isinstance(value, NamedValues) and name in value.fields:
            return value[value.fields.index(name)]
        if isinstance(value, EnumMember) and name in {"value", "name"}:
            return value.value if name == "value" else self._name_member(value)
        raise self.refuse(f"the program reads the attribute '{shown(name)}', which is not stored")

    def _name_member(self, member: EnumMember) -> str:
        kind = self.code.find_class(member.class_name)
        members = kind.constants.items() if kind is not None else ()
        names = [name for name, node in members if self.evaluate(node, Frame(None)) == member.value]
        return names[0]

    def read_item(self, node: ast.Subscript, frame: Frame) -> Any:
        """The value of ``x[i]``."""
        value = self.evaluate(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            limits_given = (node.slice.lower, node.slice.upper, node.slice.step)
            limits = [None if end is None else self.evaluate(end, frame) for end in limits_given]
            return value[slice(*limits)]
        item = self._run_plain("aten::__getitem__", [value, self.evaluate(node.slice, frame)])
        if item is NotImplemented:
            raise self.refuse_form(node)
        return item

    def make_dict(self, node: ast.Dict, frame: Frame) -> dict[Any, Any]:
        """The value of ``{key: value}``."""
        keys = self.list_values([key for key in node.keys if key is not None], frame)
        return dict(zip(keys, self.list_values(node.values, frame), strict=True))

    def negate(self, node: ast.UnaryOp, frame: Frame) -> Any:
        """A number below zero."""
        value = self.evaluate(node.operand, frame)
        if not isinstance(node.op, ast.USub) or not isinstance(value, int | float | complex):
            raise self.refuse_form(node)
        return -value

    def list_values(self, nodes: Sequence[ast.expr], frame: Frame) -> list[Any]:
        """The values of several expressions."""
        if len(nodes) > LONGEST_LIST:
            raise LimitExceeded(f"a list of {len(nodes)} items is made, at most {LONGEST_LIST} are allowed")
        return [self.evaluate(node, frame) for node in nodes]

    def _map_keywords(self, node: ast.Call, frame: Frame) -> dict[str, Any]:
        return {item.arg: self.evaluate(item.value, frame) for item in node.keywords if item.arg is not None}


def is_of_type(value: Any, kind: ast.expr) -> bool:
    """Whether a value has a type, or one of several, as the program writes it."""
    if isinstance(kind, ast.Tuple | ast.List):
        return any(is_of_type(value, item) for item in kind.elts)
    if isinstance(kind, ast.Subscript):
        outer = kind.value.id if isinstance(kind.value, ast.Name) else ""
        return (outer == "Optional" and value is None) or is_of_type(
            value, kind.slice if outer == "Optional" else kind.value
        )
    if isinstance(kind, ast.Attribute):
        return isinstance(value, Record) and value.class_name == ".".join(_list_names(kind))
    word = kind.id.lower() if isinstance(kind, ast.Name) else ""
    return isinstance(value, TYPES.get(word, ())) and (word == "bool" or not isinstance(value, bool))


def _list_names(node: ast.expr) -> list[str]:
    """The names of a dotted name; none where it is another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


# Outside of the class: a table of bound methods would keep it, and all weights, alive until a collection.
_FORMS: dict[type[ast.expr], Callable[[Expressions, Any, Frame], Any]] = {
    ast.Constant: lambda _self, node, _frame: node.value,
    ast.Name: Expressions.read_name,
    ast.Attribute: Expressions.read_attribute,
    ast.Call: Expressions.call,
    ast.Tuple: lambda self, node, frame: tuple(self.list_values(node.elts, frame)),
    ast.List: lambda self, node, frame: self.list_values(node.elts, frame),
    ast.Dict: Expressions.make_dict,
    ast.Subscript: Expressions.read_item,
    ast.UnaryOp: Expressions.negate,
}
