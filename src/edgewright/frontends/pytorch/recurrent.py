"""ATen recurrent layers and cells."""

from collections.abc import Sequence
from typing import Any

from edgewright.frontends._common.own_ops import OWN
from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor

# ONNX's order of the gates in torch's: LSTM i o f c of i f g o; GRU z r n of r z n.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


@aten("lstm.input")
def _lstm(
    ctx: Context,
    x: Tensor,
    states: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    is_training: bool,
    is_bidirectional: bool,
    is_batch_first: bool,
) -> list[str]:
    if dropout and is_training and layers > 1:
        raise ctx.refuse_random()
    shape = _Shape(layers, is_bidirectional, is_batch_first, has_biases)
    return _emit_layers(ctx, "LSTM", x, states, params, shape)


@aten("gru.input")
def _gru(ctx: Context, x: Tensor, state: Tensor, params: Sequence[Tensor], *rest: Any) -> list[str]:
    return _emit_plain(ctx, "GRU", x, state, params, rest)


@aten("rnn_tanh.input", "rnn_relu.input")
def _rnn(ctx: Context, x: Tensor, state: Tensor, params: Sequence[Tensor], *rest: Any) -> list[str]:
    return _emit_plain(ctx, "RNN", x, state, params, rest)


def _emit_plain(
    ctx: Context, op: str, x: Tensor, state: Tensor, params: Sequence[Tensor], rest: Sequence[Any]
) -> list[str]:
    has_biases, layers, dropout, is_training, is_bidirectional, is_batch_first = rest
    if dropout and is_training and layers > 1:
        raise ctx.refuse_random()
    shape = _Shape(layers, is_bidirectional, is_batch_first, has_biases)
    return _emit_layers(ctx, op, x, [state], params, shape)


class _Shape:
    """How the layers of a recurrent network are laid out."""

    def __init__(self, layers: int, is_bidirectional: bool, is_batch_first: bool, has_biases: bool) -> None:
        self.layers = layers
        self.directions = 2 if is_bidirectional else 1
        self.is_batch_first = is_batch_first
        self.has_biases = has_biases


def _emit_layers(
    ctx: Context, op: str, x: Tensor, states: Sequence[Tensor], params: Sequence[Tensor], shape: _Shape
) -> list[str]:
    is_single = x.rank == 2
    value = ctx.unsqueeze(x, [1]) if is_single else ctx.value(x)
    if shape.is_batch_first and not is_single:
        value = ctx.transpose(value, [1, 0, 2])
    steps, batch = (
        (x.shape[0], 1) if is_single else (x.shape[:2][::-1] if shape.is_batch_first else x.shape[:2])
    )
    starts = [ctx.unsqueeze(s, [1]) if is_single else ctx.value(s) for s in states]
    ends: list[list[str]] = [[] for _ in states]
    per_layer = len(params) // shape.layers
    for layer in range(shape.layers):
        given = params[layer * per_layer : (layer + 1) * per_layer]
        first = layer * shape.directions
        begin = [ctx.slice(s, 0, first, first + shape.directions) if shape.layers > 1 else s for s in starts]
        outputs = _emit_layer(ctx, op, value, begin, given, shape)
        hidden = states[0].shape[-1]
        turned = ctx.transpose(outputs[0], [0, 2, 1, 3])
        value = ctx.reshape(turned, [steps, batch, shape.directions * hidden])
        for kept, end in zip(ends, outputs[1:], strict=True):
            kept.append(end)
    lasts = [items[0] if len(items) == 1 else ctx.add("Concat", *items, axis=0) for items in ends]
    if is_single:
        return [ctx.squeeze(value, [1]), *(ctx.squeeze(item, [1]) for item in lasts)]
    return [ctx.transpose(value, [1, 0, 2]) if shape.is_batch_first else value, *lasts]


def _emit_layer(
    ctx: Context, op: str, x: str, states: Sequence[str], params: Sequence[Tensor], shape: _Shape
) -> list[str]:
    each = len(params) // shape.directions
    ways = [params[i * each : (i + 1) * each] for i in range(shape.directions)]
    weights = _join_directions(ctx, [_reorder_gates(ctx, op, way[0]) for way in ways])
    recurrent = _join_directions(ctx, [_reorder_gates(ctx, op, way[1]) for way in ways])
    biases = _join_directions(ctx, [_join_biases(ctx, op, way) for way in ways]) if shape.has_biases else None
    # An LSTM with proj_size has one matrix more, behind the biases.
    is_projected = each % 2 == 1
    projection = [None, _join_directions(ctx, [ctx.value(way[-1]) for way in ways])] if is_projected else []
    attributes: dict[str, Any] = {
        "hidden_size": params[1].shape[0] // len(_GATES[op]),
        "direction": "bidirectional" if shape.directions == 2 else "forward",
    }
    if is_projected:
        attributes["domain"] = OWN
    if op == "GRU":
        attributes["linear_before_reset"] = 1
    if op == "RNN":
        attributes["activations"] = ["Relu" if "relu" in ctx.op else "Tanh"] * shape.directions
    return ctx.add_all(
        op,
        *(x, weights, recurrent, biases, None, *states, *projection),
        outputs=1 + len(states),
        **attributes,
    )


def _join_biases(ctx: Context, op: str, way: Sequence[Tensor]) -> str:
    return ctx.add("Concat", _reorder_gates(ctx, op, way[2]), _reorder_gates(ctx, op, way[3]), axis=0)


def _join_directions(ctx: Context, ways: Sequence[str]) -> str:
    parts = [ctx.unsqueeze(way, [0]) for way in ways]
    return parts[0] if len(parts) == 1 else ctx.add("Concat", *parts, axis=0)


def _reorder_gates(ctx: Context, op: str, weight: Tensor) -> str:
    """A weight or bias with its gates in ONNX's order; a known one is a new constant."""
    gates = _GATES[op]
    if len(gates) == 1:
        return ctx.value(weight)
    if weight.data is not None:
        parts = weight.data.chunk(len(gates), 0)
        return ctx.constant(ctx.torch.cat([parts[gate] for gate in gates]), f"{weight.path}/gates")
    sections = ctx.add_all("Split", weight, outputs=len(gates), axis=0, num_outputs=len(gates))
    return ctx.add("Concat", *(sections[gate] for gate in gates), axis=0)


@aten("lstm_cell")
def _lstm_cell(
    ctx: Context, x: Tensor, states: Sequence[Tensor], w: Tensor, r: Tensor, b: Any = None, rb: Any = None
) -> list[str]:
    """One step, written out: the gates are i f g o."""
    total = ctx.add("Add", _emit_product(ctx, x, w, b), _emit_product(ctx, states[0], r, rb))
    i, f, g, o = ctx.add_all("Split", total, outputs=4, axis=-1, num_outputs=4)
    kept = ctx.add("Mul", ctx.add("Sigmoid", f), states[1])
    cell = ctx.add("Add", kept, ctx.add("Mul", ctx.add("Sigmoid", i), ctx.add("Tanh", g)))
    return [ctx.add("Mul", ctx.add("Sigmoid", o), ctx.add("Tanh", cell)), cell]


@aten("gru_cell")
def _gru_cell(
    ctx: Context, x: Tensor, state: Tensor, w: Tensor, r: Tensor, b: Any = None, rb: Any = None
) -> str:
    parts = [_emit_product(ctx, x, w, b), _emit_product(ctx, state, r, rb)]
    (r0, z0, n0), (r1, z1, n1) = (ctx.add_all("Split", p, outputs=3, axis=-1, num_outputs=3) for p in parts)
    reset = ctx.add("Sigmoid", ctx.add("Add", r0, r1))
    update = ctx.add("Sigmoid", ctx.add("Add", z0, z1))
    new = ctx.add("Tanh", ctx.add("Add", n0, ctx.add("Mul", reset, n1)))
    return ctx.add("Add", new, ctx.add("Mul", update, ctx.add("Sub", state, new)))


@aten("rnn_tanh_cell", "rnn_relu_cell")
def _rnn_cell(
    ctx: Context, x: Tensor, state: Tensor, w: Tensor, r: Tensor, b: Any = None, rb: Any = None
) -> str:
    total = ctx.add("Add", _emit_product(ctx, x, w, b), _emit_product(ctx, state, r, rb))
    return ctx.add("Relu" if "relu" in ctx.op else "Tanh", total)


def _emit_product(ctx: Context, x: Tensor, weight: Tensor, bias: Any) -> str:
    return (
        ctx.add("Gemm", x, weight, bias, transB=1)
        if x.rank == 2
        else _add_bias(ctx, ctx.add("MatMul", x, ctx.transpose(weight, [1, 0])), bias)
    )


def _add_bias(ctx: Context, value: str, bias: Any) -> str:
    return value if bias is None else ctx.add("Add", value, bias)
