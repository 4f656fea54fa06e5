"""Reads the text form of graphs: tokens, then one small method for each piece of the grammar."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

import numpy as np

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, maximum, symbol
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import PARTS, REGISTRY, Op
from edgewright.ir.types import TensorType

ABSENT = "_"
ITEMS = frozenset({"input", "const", "alias", "output", "graph"})
FUNCTIONS: dict[str, Callable[[Dim, Dim], Dim]] = {"floordiv": lambda a, b: a // b, "max": maximum}
WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "inf": float("inf"), "nan": float("nan")}
# Names that must be quoted to be unambiguous.
KEYWORDS = ITEMS | FUNCTIONS.keys() | WORDS.keys() | {ABSENT, "from", "layout", "encoding"}
DEEPEST = 64
# A name in quotes, a digest, a number, a bare name, or a sign; spaces and comments are skipped.
_TOKEN = re.compile(
    r"""\s*(?:\#\ [^\n]*\s*)*
    ("(?:[^"\\\n]|\\.)*"
    |\#[0-9a-f]+
    |\d+\.?\d*(?:[eE][-+]?\d+)?
    |[A-Za-z_/][A-Za-z0-9_/.]*
    |[{}()\[\]:=,@+\-*])""",
    re.VERBOSE,
)
T = TypeVar("T")


def parse(text: str, constants: Mapping[str, Array] | None = None) -> Graph:
    """The graph that a text describes; ``constants`` holds those that the text only names."""
    reader = _Reader(text, constants or {})
    graph = reader.graph()
    reader.end()
    return graph


def digest(array: Array) -> str:
    """A hash of an array's elements in sixteen hexadecimal digits, independent of memory order."""
    if array.dtype == object:
        raw = json.dumps(
            [item if isinstance(item, str) else repr(item) for item in array.reshape(-1)]
        ).encode()
        return hashlib.sha256(raw).hexdigest()[:16]
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()[:16]


class _Reader:
    def __init__(self, text: str, constants: Mapping[str, Array]) -> None:
        self._text, self._constants = text, constants
        self._at, self._depth = 0, 0
        self._token = ""
        self._advance()

    def graph(self) -> Graph:
        self._need("graph")
        graph = Graph(self._name())
        self._need("{")
        while not self._is("}"):
            self._item(graph)
        return graph

    def end(self) -> None:
        if self._token:
            self._fail("nothing after the graph")

    def _item(self, graph: Graph) -> None:
        if self._is("input"):
            graph.add_input(*self._declared())
        elif self._is("const"):
            self._constant(graph)
        elif self._is("alias"):
            value = self._name()
            graph.source_names[value] = self._name()
        elif self._is("output"):
            graph.outputs += self._list(self._name)
        else:
            self._node(graph)

    def _declared(self) -> tuple[str, TensorType]:
        name = self._name()
        self._need(":")
        return name, self._type()

    def _constant(self, graph: Graph) -> None:
        name, tensor_type = self._declared()
        if self._token.startswith("#"):
            graph.add_constant(name, self._stored(name, self._take(), tensor_type), tensor_type)
            return
        self._need("=")
        self._need("[")
        graph.add_constant(name, self._elements(tensor_type), tensor_type)

    def _elements(self, tensor_type: TensorType) -> Array:
        items: list[Any] = []
        while not self._is("]"):
            item = self._value(None)
            items.append(complex(item, self._value(None)) if tensor_type.dtype.is_complex else item)
            if not self._is(","):
                self._need("]")
                break
        if len(items) != tensor_type.count:
            self._fail(f"{tensor_type.count} elements, found {len(items)}", "")
        try:
            return np.array(items, tensor_type.dtype.numpy).reshape(tensor_type.static_shape())
        except (ValueError, TypeError, OverflowError):
            self._fail(f"elements of {tensor_type.dtype.name}", "")

    def _stored(self, name: str, wanted: str, tensor_type: TensorType) -> Array:
        if name not in self._constants:
            self._fail(f"constant '{name}' beside the text, which only names it", "")
        array = self._constants[name]
        found = f"#{digest(array)}"
        if found != wanted or array.shape != tensor_type.shape:
            self._fail(f"constant '{name}' as {tensor_type} {wanted}, found {list(array.shape)} {found}", "")
        return array

    def _node(self, graph: Graph) -> None:
        made = self._list(self._made)
        self._need("=")
        op_name = self._name()
        inputs = self._group("(", ")", self._name)
        op = self._op(op_name)
        outputs = [name for name, _ in made]
        name = self._name() if self._is("@") else next(iter(outputs), "")
        node = Node(name, op, inputs, outputs, self._name() if self._is("from") else "")
        while self._token == "graph":
            node.subgraphs += (self._nested(self.graph),)
        self._add(graph, node, [tensor_type for _, tensor_type in made])

    def _add(self, graph: Graph, node: Node, types: list[TensorType | None]) -> None:
        missing = [value for value in node.inputs if value and value not in graph.types]
        if missing:
            self._fail(f"'{missing[0]}' to be defined before node '{node.name}' reads it", "")
        if any(value and t is None for value, t in zip(node.outputs, types, strict=True)):
            graph.add(node)
        else:
            graph.add(node, [t or TensorType(()) for t in types])

    def _made(self) -> tuple[str, TensorType | None]:
        name = self._name()
        return name, self._type() if self._is(":") else None

    def _op(self, name: str) -> Op:
        kind = REGISTRY.get(name) or PARTS.get(name)
        if kind is None:
            self._fail(f"an op of the catalogue, found '{name}'", "")
        fields = {item.name: item for item in dataclasses.fields(kind)}
        values: dict[str, Any] = {}
        if self._is("{"):
            while not self._is("}"):
                param = self._name()
                if param not in fields:
                    self._fail(f"a param of {name} ({', '.join(fields)}), found '{param}'", "")
                self._need("=")
                values[param] = self._value(fields[param].type)
                if not self._is(","):
                    self._need("}")
                    break
        required = {n for n, item in fields.items() if item.default is dataclasses.MISSING}
        if required - set(values):
            self._fail(f"{name} with {', '.join(sorted(required - set(values)))}", "")
        return kind(**values)

    def _type(self) -> TensorType:
        dtype = self._dtype()
        shape = self._group("[", "]", self._dim)
        layout = self._name() if self._is("layout") else None
        encoding = self._encoding() if self._is("encoding") else None
        return TensorType(tuple(shape), dtype, layout, encoding)

    def _dtype(self) -> DType:
        name = self._take()
        if name.upper() not in DType.__members__:
            self._fail(f"a datatype, found '{name}'", "")
        return DType[name.upper()]

    def _encoding(self) -> Encoding:
        def pair() -> tuple[str, Any]:
            name = self._name()
            self._need("=")
            return name, self._value(None)

        fields = dict(self._group("(", ")", pair))
        known = {item.name for item in dataclasses.fields(Encoding)}
        if not {"scales", "offsets"} <= set(fields) <= known:
            self._fail(f"an encoding of {sorted(known)}, found {sorted(fields)}", "")
        return Encoding(**fields)

    def _value(self, wanted: Any) -> Any:
        """A value of any kind; a bare word is a member of the param's enum."""
        if isinstance(wanted, type) and issubclass(wanted, IntEnum) and self._token in wanted.__members__:
            return wanted[self._take()]
        if self._token == "(":
            return tuple(self._group("(", ")", lambda: self._value(None)))
        if self._is("{"):
            dim = self._dim()
            self._need("}")
            return dim
        if self._is("-"):
            return -self._number(self._take())
        if self._token.startswith('"'):
            return self._quoted(self._take())
        return self._word(self._take())

    def _word(self, token: str) -> Any:
        if token in WORDS:
            return WORDS[token]
        if token == "encoding":
            return self._encoding()
        calls: dict[str, Callable[[], Any]] = {"dtype": self._dtype, "type": self._type, "bytes": self._bytes}
        if token in calls:
            self._need("(")
            found = calls[token]()
            self._need(")")
            return found
        return self._number(token)

    def _number(self, token: str) -> Any:
        if token in {"inf", "nan"}:
            return WORDS[token]
        if not token[:1].isdigit():
            self._fail(f"a value, found '{token}'", "")
        return int(token) if token.isdigit() else float(token)

    def _bytes(self) -> bytes:
        try:
            return bytes.fromhex(self._quoted(self._take()))
        except ValueError:
            self._fail("hexadecimal digits", "")

    def _dim(self) -> Dim:
        negative = self._is("-")
        total = self._product() * (-1 if negative else 1)
        while self._token in {"+", "-"}:
            factor = 1 if self._take() == "+" else -1
            total = self._product() * factor + total
        return total

    def _product(self) -> Dim:
        product = self._atom()
        while self._is("*"):
            product = self._atom() * product
        return product

    def _atom(self) -> Dim:
        if self._is("-"):
            return self._atom() * -1
        if self._token.isdigit():
            return int(self._take())
        if self._token not in FUNCTIONS:
            return symbol(self._name())
        function = self._take()
        arguments = self._nested(lambda: self._group("(", ")", self._dim))
        if len(arguments) != 2 or (function == "floordiv" and arguments[1] == 0):
            self._fail(f"two arguments of {function}, the second not 0", "")
        return FUNCTIONS[function](*arguments)

    def _group(self, first: str, last: str, item: Callable[[], T]) -> list[T]:
        """Items between brackets, with commas between them; a trailing comma is allowed."""
        self._need(first)
        found: list[T] = []
        while not self._is(last):
            found.append(self._nested(item))
            if not self._is(","):
                self._need(last)
                break
        return found

    def _list(self, item: Callable[[], T]) -> list[T]:
        found = [item()]
        while self._is(","):
            found.append(item())
        return found

    def _nested(self, read: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"at most {DEEPEST} levels of brackets", "")
        found = read()
        self._depth -= 1
        return found

    def _name(self) -> str:
        token = self._take()
        if token.startswith('"'):
            return self._quoted(token)
        if not re.match(r"[A-Za-z_/]", token):
            self._fail(f"a name, found '{token}'", "")
        return "" if token == ABSENT else token

    def _quoted(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError:
            self._fail(f"a string in quotes, found {token}", "")

    def _is(self, token: str) -> bool:
        if self._token != token:
            return False
        self._advance()
        return True

    def _need(self, token: str) -> None:
        if not self._is(token):
            self._fail(f"'{token}'")

    def _take(self) -> str:
        token = self._token
        if not token:
            self._fail("more text")
        self._advance()
        return token

    def _advance(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found is None and self._text[self._at :].strip():
            self._fail("a name, number or sign", self._text[self._at :].strip()[:20])
        self._token = found.group(1) if found else ""
        self._at = found.end() if found else len(self._text)

    def _fail(self, expected: str, found: str | None = None) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        rest = "" if found == "" else f", found '{found or self._token or 'the end'}'"
        raise BadInput(
            f"expected {expected}{rest}",
            Where(detail=f"line {line} of a graph's text"),
            do="correct the text",
        )
