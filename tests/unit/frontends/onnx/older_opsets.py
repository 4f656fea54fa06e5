"""ONNX's own node cases, said again in the words of earlier opsets."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from edgewright.core.numbers import Array
from edgewright.frontends.onnx.registry import TRANSLATIONS
from tests.backend.onnx_suite import cases

CASES_PER_VERSION = 2


@dataclass(frozen=True)
class OlderCase:
    """A model of one op at an earlier version of it, what it is given and what the newest version makes."""

    name: str
    model: Any
    feed: dict[str, Array]
    expected: list[Array]


@cache
def schemas_of(op: str) -> dict[int, Any]:
    """Every version of an op of ONNX's own domain."""
    return {s.since_version: s for s in defs.get_all_schemas_with_history() if (s.name, s.domain) == (op, "")}


def older_cases() -> Iterator[OlderCase]:
    """For every version of every op that is translated, a few cases that it can say."""
    translated = {name for domain, name in TRANSLATIONS if not domain}
    counts: Counter[tuple[str, int]] = Counter()
    for case in cases():
        node = case.model.graph.node[0] if len(case.model.graph.node) == 1 else None
        if node is None or node.domain or node.op_type not in translated:
            continue
        versions = sorted(schemas_of(node.op_type))
        for version, following in pairwise(versions):
            key = (node.op_type, version)
            if counts[key] == CASES_PER_VERSION:
                continue
            if older := in_words_of(case, version, following - 1):
                counts[key] += 1
                yield older


def in_words_of(case: Any, version: int, opset: int) -> OlderCase | None:
    """A case at the last opset that has a version of its op; None where that version cannot say it."""
    given, expected = case.data_sets[0]
    arrays = [*map(array_of, given)]
    if any(a is None for a in [*arrays, *map(array_of, expected)]):
        return None
    graph = case.model.graph
    node, feed = onnx.NodeProto(), dict(zip([i.name for i in graph.input], arrays, strict=True))
    node.CopyFrom(graph.node[0])
    newest, older = schemas_of(node.op_type)[max(schemas_of(node.op_type))], schemas_of(node.op_type)[version]
    move_inputs_to_attributes(node, newest, older, feed)
    if any(attribute.name not in older.attributes for attribute in node.attribute):
        return None
    inputs = [i for i in graph.input if i.name in feed]
    listed = helper.make_graph([node], "g", inputs, graph.output, graph.initializer)
    model = helper.make_model(listed, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    try:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return OlderCase(f"{node.op_type}-{version}-{case.name}", model, feed, [*map(array_of, expected)])


def move_inputs_to_attributes(node: Any, newest: Any, older: Any, feed: dict[str, Array]) -> None:
    """Inputs that an older version has as attributes, by the same name."""
    for place, formal in reversed([*enumerate(newest.inputs)]):
        if formal.name in older.attributes and place < len(node.input) and place >= len(older.inputs):
            name = node.input[place]
            if name in feed:
                node.attribute.append(attribute_of(feed.pop(name), older.attributes[formal.name]))
            del node.input[place]


def attribute_of(value: Array, declared: Any) -> Any:
    kind = int(declared.type)
    is_list = kind in {onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS}
    return helper.make_attribute(
        declared.name, value.tolist() if is_list else value.ravel()[0].item(), attr_type=kind
    )


def array_of(value: Any) -> Array | None:
    """A tensor of a case; None for sequences and optionals."""
    found = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return np.asarray(found) if isinstance(found, np.ndarray | np.generic) else None
