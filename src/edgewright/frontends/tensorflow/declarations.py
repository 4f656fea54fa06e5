"""Holds a node against TensorFlow's own declaration of its op: inputs, attributes, words, datatypes."""

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from edgewright.core.errors import BadInput, shown
from edgewright.frontends.tensorflow.graphdef import Attributes, Node

# The field of an AttrValue that holds each kind; 9 stands in functions for what a call decides.
_FIELDS = {"string": 2, "int": 3, "float": 4, "bool": 5, "type": 6, "shape": 7, "tensor": 8, "func": 10}
_LIST, _DECIDED_BY_CALL = 1, 9
# Inside of a list functions have another number.
_LISTED = {**_FIELDS, "func": 9}
# DataType numbers its members from 1 on; references to variables have 100 more.
_MOST_TYPES = 64


@dataclass(frozen=True)
class _Attribute:
    kind: str
    is_list: bool
    has_default: bool = False
    least: int | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Declaration:
    # 1 for an input, or the name of the attribute that says how many there are.
    inputs: tuple[int | str, ...]
    attributes: dict[str, _Attribute] = field(default_factory=dict)


def check_node(node: Node) -> None:
    """Refuses what TensorFlow itself would not load; unknown ops and attributes of others' are left alone."""
    declared = _read_declarations().get(node.op)
    if declared is None:
        return
    for name, attribute in declared.attributes.items():
        _check_attribute(node, name, attribute)
    count = sum(_count_inputs(node.attributes, item, declared) for item in declared.inputs)
    if len(node.inputs) != count:
        raise BadInput(
            f"{len(node.inputs)} inputs are given, expected {count}", node.where, do="export the model again"
        )


@cache
def _read_declarations() -> dict[str, _Declaration]:
    stored = json.loads((files("edgewright") / "_data" / "tensorflow_ops.json").read_text("utf-8"))
    return {
        name: _Declaration(
            tuple(op["inputs"]), {key: _read_attribute(item) for key, item in op["attributes"].items()}
        )
        for name, op in stored.items()
    }


def _read_attribute(item: dict[str, Any]) -> _Attribute:
    kind = item["type"]
    is_list = kind.startswith("list(")
    plain = kind[5:-1] if is_list else kind
    return _Attribute(
        plain, is_list, item.get("default", False), item.get("least"), tuple(item.get("words", ()))
    )


def _count_inputs(attributes: Attributes, item: int | str, declared: _Declaration) -> int:
    if isinstance(item, int):
        return item
    attribute = declared.attributes[item]
    return (
        attributes.count_items(item, _LISTED[attribute.kind]) if attribute.is_list else attributes.whole(item)
    )


def _check_attribute(node: Node, name: str, declared: _Attribute) -> None:
    if name not in node.attributes:
        if not declared.has_default:
            raise _make_error(node, f"attribute '{name}' is missing")
        return
    fields = node.attributes.message(name).fields
    if _DECIDED_BY_CALL in fields:
        return
    expected = _LIST if declared.is_list else _FIELDS[declared.kind]
    if fields - {expected}:
        kind = f"a list of kind {declared.kind}" if declared.is_list else f"of kind {declared.kind}"
        raise _make_error(node, f"attribute '{name}' is stored as field {min(fields)}, expected {kind}")
    _check_words(node, name, declared)
    _check_types(node, name, declared)
    _check_least(node, name, declared)


def _check_words(node: Node, name: str, declared: _Attribute) -> None:
    if not declared.words:
        return
    values = node.attributes.texts(name) if declared.is_list else [node.attributes.text(name)]
    for value in values:
        if value not in declared.words:
            known = ", ".join(f"'{word}'" for word in declared.words)
            raise _make_error(node, f"attribute '{name}' is '{shown(value, 60)}', expected one of {known}")


def _check_types(node: Node, name: str, declared: _Attribute) -> None:
    if declared.kind != "type":
        return
    for code in node.attributes.list_types(name, is_list=declared.is_list):
        if not 1 <= code % 100 <= _MOST_TYPES or not 0 < code < 200:
            raise _make_error(node, f"attribute '{name}' is datatype {code}, which TensorFlow does not have")


def _check_least(node: Node, name: str, declared: _Attribute) -> None:
    if declared.least is None:
        return
    if declared.is_list:
        value = node.attributes.count_items(name, _LISTED[declared.kind])
    else:
        value = node.attributes.whole(name)
    if value < declared.least:
        what = "items" if declared.is_list else "as its value"
        raise _make_error(node, f"attribute '{name}' has {value} {what}, expected at least {declared.least}")


def _make_error(node: Node, what: str) -> BadInput:
    return BadInput(what, node.where, do="export the model again")
