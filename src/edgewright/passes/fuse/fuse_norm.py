"""Writes means, squares and roots as LayerNorm and RmsNorm, and takes factors and summands behind them in."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWisePower,
    ElementWiseSquaredDifference,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_generic import ElementWiseUnary, UnaryOperation
from edgewright.ops.elementwise_unary import ElementWiseNeg, ElementWiseRsqrt, ElementWiseSquareRoot
from edgewright.ops.norm import AxesNorm, LayerNorm, RmsNorm
from edgewright.ops.reduce import ReduceMean
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import find_maker, find_op, find_squared, number_of, swap_operands, take_over


@register_pass(after=("fold_constants",), rtol=1e-4)
def fuse_norm(graph: Graph) -> int:
    """(x - mean(x)) / sqrt(mean((x - mean(x))^2) + e), x / sqrt(mean(x^2) + e), as exporters write them."""
    return rewrite_each(graph, _fuse)


@register_pass(after=("fuse_norm",), rtol=1e-5)
def fuse_norm_weights(graph: Graph) -> int:
    """norm(x) * gamma + beta with constants of the shape of the normalised axes."""
    return rewrite_each(graph, _fuse_weights)


@dataclass(frozen=True)
class _Root:
    """1 / sqrt(mean(x * x) + epsilon)."""

    x: str
    axes: tuple[int, ...]
    epsilon: float


def _fuse(graph: Graph, node: Node) -> bool:
    if not graph.types[node.outputs[0]].dtype.is_float:
        return False
    return (
        any(
            graph.types[x].shape == graph.types[node.outputs[0]].shape and _replace(graph, node, x, root)
            for x, root in _list_normalised(graph, node)
        )
        or _fuse_expanded(graph, node)
        or _take_gamma_out(graph, node)
    )


def _replace(graph: Graph, node: Node, x: str, root: _Root) -> bool:
    source = _find_centred(graph, x, root.axes)
    op: AxesNorm = RmsNorm(axes=root.axes, epsilon=root.epsilon)
    if source is not None:
        op = LayerNorm(axes=root.axes, epsilon=root.epsilon)
    take_over(graph, node, op, [source or x])
    return True


def _list_normalised(graph: Graph, node: Node) -> Iterator[tuple[str, _Root]]:
    """The ways to read a node as x / sqrt(mean(x * x) + epsilon)."""
    if isinstance(node.op, ElementWiseDivide):
        root = _find_mean_square(graph, _find_radicand(graph, node.inputs[1]))
        if root is not None and root.x == node.inputs[0]:
            yield node.inputs[0], root
    elif isinstance(node.op, ElementWiseMultiply):
        for x, factor in swap_operands(node):
            root = _find_mean_square(graph, _find_inverse_radicand(graph, factor))
            if root is not None and root.x == x:
                yield x, root


def _take_gamma_out(graph: Graph, node: Node) -> bool:
    """JAX's x * (gamma / sqrt(mean(x * x) + epsilon)) as (x / sqrt(...)) * gamma."""
    if not isinstance(node.op, ElementWiseMultiply):
        return False
    for x, product in swap_operands(node):
        for factor, gamma in swap_operands(find_maker(graph, product, ElementWiseMultiply)):
            root = _find_mean_square(graph, _find_inverse_radicand(graph, factor))
            if root is None or root.x != x or gamma not in graph.constants:
                continue
            if graph.types[x].shape != graph.types[node.outputs[0]].shape:
                raise Refused(f"gamma '{gamma}' gives the result more elements than it normalises")
            normal = graph.fresh_name(f"{node.name}_plain")
            graph.add(
                Node(normal, ElementWiseMultiply(), [x, factor], [normal], node.source), [graph.types[x]]
            )
            take_over(graph, node, ElementWiseMultiply(), [normal, gamma])
            return True
    return False


def _find_radicand(graph: Graph, value: str) -> str:
    """The v of sqrt(v)."""
    root = find_maker(graph, value, ElementWiseSquareRoot)
    if root is not None:
        return root.inputs[0]
    power = find_maker(graph, value, ElementWisePower)
    return power.inputs[0] if power is not None and number_of(graph, power.inputs[1]) == 0.5 else ""


def _find_inverse_radicand(graph: Graph, value: str) -> str:
    """The v of 1 / sqrt(v)."""
    node = graph.producer(value)
    if node is None:
        return ""
    if isinstance(node.op, ElementWiseRsqrt):
        return node.inputs[0]
    if isinstance(node.op, ElementWiseUnary) and node.op.operation == UnaryOperation.RECIPROCAL:
        return _find_radicand(graph, node.inputs[0])
    if isinstance(node.op, ElementWiseDivide) and number_of(graph, node.inputs[0]) == 1:
        return _find_radicand(graph, node.inputs[1])
    is_power = isinstance(node.op, ElementWisePower) and number_of(graph, node.inputs[1]) == -0.5
    return node.inputs[0] if is_power else ""


def _find_mean_square(graph: Graph, value: str) -> _Root | None:
    """The x, axes and epsilon of mean(x * x) + epsilon."""
    for mean, constant in swap_operands(find_maker(graph, value, ElementWiseAdd)):
        epsilon, op = number_of(graph, constant), find_op(graph, mean, ReduceMean)
        if epsilon is None or op is None or not op.keep_dims:
            continue
        squared = find_maker(graph, mean, ReduceMean)
        x = find_squared(graph, squared.inputs[0]) if squared is not None else ""
        if x and list(op.axes) == sorted(op.axes):
            return _Root(x, op.axes, epsilon)
    return None


def _find_centred(graph: Graph, value: str, axes: tuple[int, ...]) -> str | None:
    """The x of x - mean(x) over the axes."""
    node = find_maker(graph, value, ElementWiseSubtract)
    mean = find_maker(graph, node.inputs[1], ReduceMean) if node is not None else None
    if node is None or mean is None or mean.inputs[0] != node.inputs[0]:
        return None
    return node.inputs[0] if mean.op == ReduceMean(axes=axes, keep_dims=True) else None


def _fuse_expanded(graph: Graph, node: Node) -> bool:
    """TensorFlow's form: x * g + (beta - mean * g) with g = gamma / sqrt(variance + epsilon)."""
    if not isinstance(node.op, ElementWiseAdd):
        return False
    for product, rest in swap_operands(node):
        for x, scale in swap_operands(find_maker(graph, product, ElementWiseMultiply)):
            match = _match_expanded(graph, x, scale, rest)
            if match is not None and graph.types[x].shape == graph.types[node.outputs[0]].shape:
                gamma, beta, op = match
                weights = [_shape_weight(graph, x, value, op) if value else "" for value in (gamma, beta)]
                take_over(graph, node, op, [x, *weights] if beta else [x, *filter(None, weights)])
                return True
    return False


def _match_expanded(graph: Graph, x: str, scale: str, rest: str) -> tuple[str, str, LayerNorm] | None:
    for root, gamma in (*swap_operands(find_maker(graph, scale, ElementWiseMultiply)), (scale, "")):
        variance = _find_variance(graph, _find_inverse_radicand(graph, root), x)
        if variance is None:
            continue
        op = LayerNorm(axes=variance.axes, epsilon=variance.epsilon)
        for mean, factor, beta in _list_shifts(graph, rest):
            average = find_maker(graph, mean, ReduceMean)
            is_mean = average is not None and average.op == ReduceMean(axes=variance.axes, keep_dims=True)
            if factor == scale and is_mean and average is not None and average.inputs[0] == x:
                _check_shapes(graph, x, tuple(filter(None, (gamma, beta))), op)
                return gamma, beta, op
    return None


def _list_shifts(graph: Graph, value: str) -> Iterator[tuple[str, str, str]]:
    """The ways to read a value as beta - mean * factor: mean, factor and beta, "" where there is none."""
    difference = find_maker(graph, value, ElementWiseSubtract)
    if difference is not None:
        for mean, factor in swap_operands(find_maker(graph, difference.inputs[1], ElementWiseMultiply)):
            yield mean, factor, difference.inputs[0]
    for product, beta in ((value, ""), *swap_operands(find_maker(graph, value, ElementWiseAdd))):
        for negative, factor in swap_operands(find_maker(graph, product, ElementWiseMultiply)):
            minus = find_maker(graph, negative, ElementWiseNeg)
            if minus is not None:
                yield minus.inputs[0], factor, beta


def _find_variance(graph: Graph, value: str, x: str) -> _Root | None:
    """mean((x - mean(x))^2) + epsilon, the difference squared by its own op or by a product."""
    for mean, constant in swap_operands(find_maker(graph, value, ElementWiseAdd)):
        op, epsilon = find_op(graph, mean, ReduceMean), number_of(graph, constant)
        node = find_maker(graph, mean, ReduceMean)
        if op is None or node is None or epsilon is None or not op.keep_dims:
            continue
        difference = find_maker(graph, node.inputs[0], ElementWiseSquaredDifference)
        inner = find_squared(graph, node.inputs[0])
        if difference is not None:
            average = find_maker(graph, difference.inputs[1], ReduceMean)
            is_own = (
                average is not None and average.op == op and average.inputs[0] == difference.inputs[0] == x
            )
        else:
            is_own = bool(inner) and _find_centred(graph, inner, op.axes) == x
        if is_own:
            return _Root(x, op.axes, epsilon)
    return None


def _fuse_weights(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, (ElementWiseAdd, ElementWiseMultiply)):
        return False
    place = 2 if isinstance(node.op, ElementWiseAdd) else 1
    for value, weight in swap_operands(node):
        norm = find_maker(graph, value, LayerNorm, RmsNorm)
        if norm is None or weight not in graph.constants:
            continue
        assert isinstance(norm.op, AxesNorm)
        if any(given(norm.inputs, index) for index in range(place, 3)):
            raise Refused("the norm has such a weight, or a later one, already")
        if not graph.is_used_once(value):
            raise Refused("the plain norm is read elsewhere too")
        _check_shapes(graph, norm.inputs[0], (weight,), norm.op)
        inputs = [*norm.inputs, "", ""][:place]
        take_over(graph, node, norm.op, [*inputs, _shape_weight(graph, norm.inputs[0], weight, norm.op)])
        return True
    return False


def _check_shapes(graph: Graph, x: str, weights: tuple[str, ...], op: AxesNorm) -> None:
    shape = _weight_shape(graph, x, op)
    for weight in weights:
        array = graph.constants.get(weight)
        spread = [1] * graph.types[x].rank
        for axis, size in zip(op.axes, shape, strict=True):
            spread[axis] = int(size) if isinstance(size, int) else -1
        if array is None or -1 in spread or (1,) * (len(spread) - array.ndim) + array.shape != tuple(spread):
            raise Refused(f"weight '{weight}' is not a constant of the normalised axes' shape {list(shape)}")


def _weight_shape(graph: Graph, x: str, op: AxesNorm) -> tuple[object, ...]:
    return tuple(graph.types[x].shape[axis] for axis in op.axes)


def _shape_weight(graph: Graph, x: str, weight: str, op: AxesNorm) -> str:
    """The weight in the shape of the normalised axes alone."""
    shape = tuple(int(graph.types[x].shape[axis]) for axis in op.axes)
    if graph.types[weight].shape == shape:
        return weight
    shaped = np.reshape(graph.constants[weight], shape)
    return graph.add_constant(graph.fresh_name(weight), shaped, of=weight)
