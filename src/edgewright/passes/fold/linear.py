"""Ops that are linear in their weights: weights and bias can scale and shift their output channels."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import Refused
from edgewright.passes.match import drop_unread_constant


@dataclass(frozen=True)
class Affine:
    """y = x * scale + shift for each output channel; None is 1, or 0."""

    scale: Array | None = None
    shift: Array | None = None


def find_product(graph: Graph, value: str) -> Node | None:
    """The linear op that makes a value and can still be changed; refuses where others read the value."""
    node = graph.producer(value)
    if node is None or not node.op.is_product:
        return None
    if not graph.is_used_once(value):
        raise Refused(f"the output of '{node.name}' is read elsewhere too")
    if not graph.types[value].dtype.is_float or not isinstance(graph.types[value].shape[-1], int):
        raise Refused(f"'{node.name}' makes {graph.types[value]}, expected floating point and known channels")
    return node


def find_reshape(graph: Graph, value: str) -> Node | None:
    """The reshape that stands between a linear op and its reader; refuses where others read its result."""
    between = graph.producer(value)
    if between is None or not isinstance(between.op, Reshape):
        return None
    if find_product(graph, between.inputs[0]) is not None and not graph.is_used_once(value):
        raise Refused(f"the reshape '{between.name}' is read elsewhere too")
    return between


def absorb(graph: Graph, node: Node, affine: Affine) -> Node:
    """The linear op with a change of its output channels in its weights and bias."""
    weights, bias = node.inputs[1], given(node.inputs, 2) or ""
    _check(graph, node, weights, bias, affine)
    inputs = [node.inputs[0], _scale_weights(graph, node, affine), _change_bias(graph, node, bias, affine)]
    types = graph.output_types(node)
    graph.remove(node)
    kept = [value for value in inputs if value]
    changed = Node(node.name, node.op, kept, node.outputs, node.source, (), _update_notes(node, affine))
    graph.add(changed, types)
    for old in {weights, bias}:
        drop_unread_constant(graph, old)
    return changed


def _check(graph: Graph, node: Node, weights: str, bias: str, affine: Affine) -> None:
    # A bias alone would do without them, but HTP forgets that of a product of two activations.
    if weights not in graph.constants:
        raise Refused(f"the weights of '{node.name}' are not known")
    if bias and bias not in graph.constants:
        raise Refused(f"the bias of '{node.name}' is not known")
    if any(graph.types[value].encoding is not None for value in (weights, bias) if value):
        raise Refused(f"the weights of '{node.name}' are quantized")
    if any(a is not None and not np.all(np.isfinite(a)) for a in (affine.scale, affine.shift)):
        raise Refused("a factor or summand is not finite")


def _scale_weights(graph: Graph, node: Node, affine: Affine) -> str:
    name = node.inputs[1]
    if affine.scale is None:
        return name
    weights = graph.constants[name]
    product = weights * _align_scale(node, weights, affine.scale).astype(weights.dtype)
    return graph.add_constant(graph.fresh_name(name), product, graph.types[name], of=name)


def _align_scale(node: Node, weights: Array, scale: Array) -> Array:
    """One factor for each output channel, in a shape that broadcasts against the weights."""
    if node.op.has_rows:
        return scale[:, None]
    if isinstance(node.op, TransposedConvolution):
        # Filters [..., C, K/group]: the channels of one group make the outputs of that group.
        group = node.op.geometry()[0].group
        return np.repeat(scale.reshape(group, -1), weights.shape[-2] // group, axis=0)
    return scale


def _change_bias(graph: Graph, node: Node, name: str, affine: Affine) -> str:
    if not name and affine.shift is None:
        return ""
    dtype = graph.types[node.outputs[0]].dtype.numpy
    channels = int(graph.types[node.outputs[0]].shape[-1])
    bias = graph.constants[name] if name else np.zeros(channels, dtype)
    scaled = bias if affine.scale is None else bias * affine.scale.astype(bias.dtype)
    shifted = scaled if affine.shift is None else scaled + affine.shift.astype(bias.dtype)
    return graph.add_constant(graph.fresh_name(name or f"{node.name}_bias"), shifted, of=name)


def _update_notes(node: Node, affine: Affine) -> dict[str, Array]:
    """A batch norm folded before keeps telling the output's spread (gamma) and mean (beta)."""
    notes = dict(node.notes)
    for name in ("gamma", "beta"):
        if name in notes and affine.scale is not None:
            notes[name] = notes[name] * affine.scale
    if "beta" in notes and affine.shift is not None:
        notes["beta"] = notes["beta"] + affine.shift
    return notes
