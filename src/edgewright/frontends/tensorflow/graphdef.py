"""TensorFlow's graphs as records: nodes with attributes, functions, signatures."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.importer import check_length
from edgewright.frontends.tensorflow.tensors import TensorShape, find_dtype, read_array, shape_of
from edgewright.frontends.tensorflow.wire import Message

# Begins the names of nodes that stand for the outputs of a signature; no node of a file is called so.
END = "@"
# Fields of a list of attributes that hold numbers, flags or datatypes; of real numbers.
_NUMBERS, _REALS = frozenset({3, 5, 6}), 4
_PORT = re.compile(r":[0-9]{1,9}$")


class Attributes:
    """The attributes of a node; each is read when it is asked for."""

    def __init__(self, stored: Mapping[str, memoryview]) -> None:
        self._stored = stored

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def list_plain(self) -> dict[str, Any]:
        """The attributes that are a word, a number, a truth value or a list of numbers."""
        readers: dict[int, Callable[[str], Any]] = {1: self.ints, 2: self.text, 3: self.whole}
        readers |= {4: self.real, 5: self.flag}
        attributes: dict[str, Any] = {}
        for name in self._stored:
            fields = self.message(name).fields
            kind = next((number for number in readers if fields == {number}), None)
            if kind is not None and not name.startswith("_"):
                attributes[name] = readers[kind](name)
        return attributes

    def message(self, name: str) -> Message:
        """An attribute as it is stored; an empty one where it is not there."""
        return Message(self._stored.get(name, memoryview(b"")))

    def whole(self, name: str, default: int = 0) -> int:
        """A number; 0 is not stored but meant."""
        return self.message(name).whole(3) if name in self._stored else default

    def real(self, name: str, default: float = 0.0) -> float:
        """A real number."""
        return self.message(name).real(4) if name in self._stored else default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Whether something holds."""
        return bool(self.message(name).whole(5)) if name in self._stored else default

    def text(self, name: str, default: str = "") -> str:
        """A word."""
        return self.message(name).text(2) if name in self._stored else default

    def type(self, name: str, where: Where | None = None) -> DType:
        """A datatype."""
        return find_dtype(self.message(name).whole(6), where)

    def shape(self, name: str) -> TensorShape | None:
        """A shape; None where nothing is said."""
        found = self.message(name)
        return shape_of(found.message(7)) if found.has(7) else None

    def ints(self, name: str, default: Iterable[int] = ()) -> tuple[int, ...]:
        """A list of numbers."""
        return tuple(self.message(name).message(1).ints(3)) if name in self._stored else tuple(default)

    def texts(self, name: str) -> list[str]:
        """A list of words."""
        return self.message(name).message(1).texts(2)

    def list_types(self, name: str, *, is_list: bool) -> list[int]:
        """Numbers of datatypes."""
        stored = self.message(name)
        return stored.message(1).ints(6) if is_list else [stored.whole(6)]

    def count_items(self, name: str, number: int) -> int:
        """How many items a list has in a field."""
        items = self.message(name).message(1)
        if number in _NUMBERS:
            return len(items.ints(number))
        return len(items.raw(number, 4)) // 4 if number == _REALS else len(items.views(number))

    def function(self, name: str) -> str:
        """The name of a function."""
        return self.message(name).message(10).text(1)

    def functions(self, name: str) -> list[str]:
        """Names of functions."""
        return [item.text(1) for item in self.message(name).message(1).messages(9)]

    def array(self, name: str, where: Where) -> Array:
        """A stored tensor."""
        return read_array(self.message(name).view(8), where)


@dataclass(frozen=True)
class Node:
    """One op: its inputs are tensors ("node:port"), without those that only order execution."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: Attributes = field(default_factory=lambda: Attributes({}))
    # Whether the file has it; others stand for what a file says in another way.
    is_stored: bool = False

    def output(self, port: int) -> str:
        """The name of a tensor that it makes; an output of a signature is called by its key."""
        return self.name.removeprefix(END) if self.name.startswith(END) else f"{self.name}:{port}"

    @property
    def where(self) -> Where:
        """The place for messages."""
        return Where(op=self.op, node=self.name)

    def renamed(self, name: str, inputs: Iterable[str]) -> "Node":
        """The same op with other names."""
        return replace(self, name=name, inputs=tuple(inputs))


@dataclass(frozen=True)
class Function:
    """A function of the library: its results by the names that its nodes have inside."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    # Argument names of the outputs, for calls by name.
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class GraphDef:
    """Nodes, and the functions that they may call."""

    nodes: tuple[Node, ...]
    functions: Mapping[str, Function] = field(default_factory=dict)
    # The oldest graphs say "unknown" by an empty shape.
    producer: int = 0
    # Nodes that others wait for.
    awaited: frozenset[str] = frozenset()


def read_graph(message: Message) -> GraphDef:
    """A GraphDef message."""
    functions = [_read_function(item) for item in message.message(2).messages(1)]
    stored = message.messages(1)
    nodes = tuple(_read_node(item, name_tensor) for item in stored)
    awaited = frozenset(name[1:] for item in stored for name in item.texts(3) if name.startswith("^"))
    return GraphDef(nodes, {item.name: item for item in functions}, message.message(4).whole(1), awaited)


def name_tensor(reference: str) -> str:
    """A tensor by its full name: "node" stands for its first output."""
    node, port = split_name(reference)
    return f"{node}:{port}"


def split_name(tensor: str) -> tuple[str, int]:
    """The node that a tensor is an output of, and which one it is; 0 where no port is named."""
    found = _PORT.search(tensor)
    return (tensor[: found.start()], int(tensor[found.start() + 1 :])) if found else (tensor, 0)


def find_producer(tensor: str) -> str:
    """The node that makes a tensor, those that stand for the outputs of a signature included."""
    return split_name(tensor)[0] if _PORT.search(tensor) else END + tensor


def _read_node(message: Message, full: Any) -> Node:
    name, op = message.text(1), message.text(2)
    for item in (name, op):
        check_length(item)
    if not name or not op or name.startswith(END):
        raise BadInput(
            f"a node is called '{shown(name)}' and its op '{shown(op)}', expected two names",
            do="export the model again",
        )
    inputs = tuple(full(item) for item in message.texts(3) if not item.startswith("^"))
    return Node(name, op, inputs, Attributes(message.entries(5)), is_stored=True)


def _read_function(message: Message) -> Function:
    signature = message.message(1)
    results = {key: str(value, "utf-8") for key, value in message.entries(4).items()}
    outputs = tuple(item.text(1) for item in signature.messages(3))
    missing = [name for name in outputs if name not in results]
    if missing:
        raise BadInput(
            f"function '{shown(signature.text(1))}' does not make its result '{shown(missing[0])}'",
            do="export the model again",
        )
    return Function(
        signature.text(1),
        tuple(item.text(1) for item in signature.messages(2)),
        tuple(results[name] for name in outputs),
        outputs,
        # Inside, a tensor is "node:output:index": resolved where the outputs' names are known.
        tuple(_read_node(item, str) for item in message.messages(3)),
    )
