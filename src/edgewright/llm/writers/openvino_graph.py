"""The decoder as a stateful OpenVINO model: keys and values of earlier tokens stay in the runtime."""

from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM, HEAD, name_layer_tensor
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.rotary import list_frequencies

# Takes part in no softmax, and half precision holds it.
HIDDEN = -65504.0
TOKENS, MASK, POSITIONS, BEAMS = "input_ids", "attention_mask", "position_ids", "beam_idx"
Node = Any


class OpenvinoDecoder:
    """Builds the model out of nodes that give the weights."""

    def __init__(self, spec: ModelSpec, weights: dict[str, Node]) -> None:
        self._spec, self._weights = spec, weights
        self._ov = require("openvino", to="write OpenVINO models")
        self._ops = self._ov.opset13
        self._sinks: list[Node] = []

    def build(self) -> Any:
        """The whole model, from tokens to logits."""
        ops, spec = self._ops, self._spec
        inputs = self._make_inputs()
        self._beams, self._batch = inputs[BEAMS], self._measure(inputs[TOKENS], 0)
        visible = self._make_mask(inputs)
        tables = self._make_tables(inputs[POSITIONS])
        state = ops.gather(self._weights[EMBEDDING], inputs[TOKENS], self._make_whole(0))
        for number in range(spec.layers):
            state = self._build_layer(number, state, visible, tables)
        normal = self._normalize(state, FINAL_NORM)
        logits = self._multiply(normal, EMBEDDING if spec.is_tied else HEAD)
        logits.output(0).get_tensor().set_names({"logits"})
        return self._ov.Model([ops.result(logits)], self._sinks, list(inputs.values()), spec.architecture)

    def _make_inputs(self) -> dict[str, Node]:
        kinds: dict[str, Any] = {TOKENS: ([-1, -1], np.int64), MASK: ([-1, -1], np.int64)}
        kinds |= {POSITIONS: ([-1, -1], np.int64), BEAMS: ([-1], np.int32)}
        inputs = {}
        for name, (shape, dtype) in kinds.items():
            node = self._ops.parameter(shape, dtype)
            # OpenVINO GenAI looks for the names of nodes, not only for those of tensors.
            node.set_friendly_name(name)
            node.output(0).get_tensor().set_names({name})
            inputs[name] = node
        return inputs

    def _make_mask(self, inputs: dict[str, Node]) -> Node:
        """0 where a token looks at another, far below it elsewhere: [texts, 1, tokens, all tokens]."""
        ops = self._ops
        new, every = self._measure(inputs[TOKENS], 1), self._measure(inputs[MASK], 1)
        places = self._count_up(every)
        queries = ops.unsqueeze(ops.add(self._count_up(new), ops.subtract(every, new)), self._make_whole(1))
        back = ops.subtract(queries, ops.unsqueeze(places, self._make_whole(0)))
        is_visible = ops.greater_equal(back, self._make_whole(0))
        if self._spec.window:
            is_visible = ops.logical_and(is_visible, ops.less(back, self._make_whole(self._spec.window)))
        real = ops.not_equal(inputs[MASK], self._make_whole(0))
        real = ops.unsqueeze(real, ops.constant(np.array([1, 2], np.int64)))
        is_visible = ops.logical_and(
            ops.unsqueeze(is_visible, ops.constant(np.array([0, 1], np.int64))), real
        )
        return ops.select(is_visible, self._make_real(0.0), self._make_real(HIDDEN))

    def _make_tables(self, positions: Node) -> tuple[Node, Node]:
        """Cosines and sines [texts, 1, tokens, turned values / 2]."""
        ops, rope = self._ops, self._spec.rope
        frequencies = self._choose_frequencies(positions)
        places = ops.convert(ops.unsqueeze(positions, ops.constant(np.array([1, 3], np.int64))), "f32")
        if rope.linear_factor != 1.0:
            places = ops.divide(places, self._make_real(rope.linear_factor))
        angles = ops.multiply(places, frequencies)
        tables = ops.cos(angles), ops.sin(angles)
        if rope.attention_factor == 1.0:
            return tables
        cosines, sines = (ops.multiply(table, self._make_real(rope.attention_factor)) for table in tables)
        return cosines, sines

    def _choose_frequencies(self, positions: Node) -> Node:
        ops, rope = self._ops, self._spec.rope
        short = self._make_row(list_frequencies(rope, 1))
        if not rope.short_factors:
            return short
        last = ops.reduce_max(positions, ops.constant(np.array([0, 1], np.int64)), keep_dims=False)
        is_long = ops.greater_equal(last, self._make_whole(rope.original_context))
        return ops.select(is_long, self._make_row(list_frequencies(rope, rope.original_context + 1)), short)

    def _build_layer(self, number: int, state: Node, visible: Node, tables: tuple[Node, Node]) -> Node:
        prefix = name_layer_tensor(number, "")
        normal = self._normalize(state, f"{prefix}input_layernorm.weight")
        mixed = self._attend(number, normal, visible, tables)
        state = self._ops.add(state, self._multiply(mixed, f"{prefix}self_attn.o_proj.weight"))
        normal = self._normalize(state, f"{prefix}post_attention_layernorm.weight")
        gates, ups = self._gate(f"{prefix}mlp", normal)
        inner = self._ops.multiply(self._ops.swish(gates), ups)
        return self._ops.add(state, self._multiply(inner, f"{prefix}mlp.down_proj.weight"))

    def _attend(self, number: int, normal: Node, visible: Node, tables: tuple[Node, Node]) -> Node:
        ops, spec = self._ops, self._spec
        prefix = name_layer_tensor(number, "self_attn")
        queries, keys, values = self._project(prefix, normal)
        queries, keys = (self._turn(part, tables) for part in (queries, keys))
        keys, values = (
            self._repeat(self._remember(f"past_key_values.{number}.{kind}", part))
            for kind, part in (("key", keys), ("value", values))
        )
        mixed = ops.scaled_dot_product_attention(queries, keys, values, visible)
        mixed = ops.transpose(mixed, ops.constant(np.array([0, 2, 1, 3], np.int64)))
        return ops.reshape(mixed, ops.constant(np.array([0, 0, spec.query_rows], np.int64)), True)

    def _project(self, prefix: str, normal: Node) -> tuple[Node, Node, Node]:
        """Queries, keys and values as [texts, heads, tokens, values]."""
        spec, rows = self._spec, (self._spec.query_rows, self._spec.key_rows, self._spec.key_rows)
        if spec.is_fused:
            parts = self._split(self._multiply_with_bias(normal, f"{prefix}.qkv_proj"), rows)
        else:
            parts = [self._multiply_with_bias(normal, f"{prefix}.{letter}_proj") for letter in "qkv"]
        heads = (spec.heads, spec.kv_heads, spec.kv_heads)
        gains = (f"{prefix}.q_norm.weight", f"{prefix}.k_norm.weight", "")
        queries, keys, values = (
            self._cut_heads(part, count, gain if spec.has_qk_norm else "")
            for part, count, gain in zip(parts, heads, gains, strict=True)
        )
        return queries, keys, values

    def _cut_heads(self, values: Node, heads: int, gain: str) -> Node:
        ops = self._ops
        pattern = ops.constant(np.array([0, 0, heads, self._spec.head_dim], np.int64))
        values = ops.reshape(values, pattern, True)
        if gain:
            values = self._normalize(values, gain)
        return ops.transpose(values, ops.constant(np.array([0, 2, 1, 3], np.int64)))

    def _turn(self, heads: Node, tables: tuple[Node, Node]) -> Node:
        ops, half = self._ops, self._spec.rope.dims // 2
        rest = self._spec.head_dim - 2 * half
        sizes = [half, half, rest] if rest else [half, half]
        first, second, *others = self._split(heads, sizes)
        cosines, sines = tables
        turned = [
            ops.subtract(ops.multiply(first, cosines), ops.multiply(second, sines)),
            ops.add(ops.multiply(second, cosines), ops.multiply(first, sines)),
        ]
        return ops.concat([*turned, *others], -1)

    def _remember(self, name: str, values: Node) -> Node:
        """What earlier tokens left, and these."""
        ops, spec = self._ops, self._spec
        sizes = [
            self._batch,
            *(ops.constant(np.array([n], np.int64)) for n in (spec.kv_heads, 0, spec.head_dim)),
        ]
        empty = ops.broadcast(self._make_real(0.0), ops.concat(sizes, 0))
        shape = self._ov.PartialShape([-1, spec.kv_heads, -1, spec.head_dim])
        past = ops.read_value(empty, name, self._ov.Type.f32, shape)
        past = ops.gather(past, self._beams, self._make_whole(0))
        joined = ops.concat([past, values], 2)
        self._sinks.append(ops.assign(joined, name))
        return joined

    def _repeat(self, values: Node) -> Node:
        """Keys and values that several heads of queries share."""
        ops, spec = self._ops, self._spec
        times = spec.heads // spec.kv_heads
        if times == 1:
            return values
        apart = ops.unsqueeze(values, self._make_whole(2))
        target = ops.constant(np.array([1, 1, times, 1, 1], np.int64))
        spread = ops.broadcast(apart, target, broadcast_spec="BIDIRECTIONAL")
        pattern = ops.constant(np.array([0, spec.heads, -1, spec.head_dim], np.int64))
        return ops.reshape(spread, pattern, True)

    def _gate(self, prefix: str, normal: Node) -> tuple[Node, Node]:
        if not self._spec.is_fused:
            gates, ups = (self._multiply(normal, f"{prefix}.{kind}_proj.weight") for kind in ("gate", "up"))
            return gates, ups
        both = self._multiply(normal, f"{prefix}.gate_up_proj.weight")
        gates, ups = self._split(both, (self._spec.intermediate, self._spec.intermediate))
        return gates, ups

    def _multiply_with_bias(self, inputs: Node, name: str) -> Node:
        product = self._multiply(inputs, f"{name}.weight")
        bias = self._weights.get(f"{name}.bias")
        return product if bias is None else self._ops.add(product, bias)

    def _multiply(self, inputs: Node, name: str) -> Node:
        return self._ops.matmul(inputs, self._weights[name], False, True)

    def _normalize(self, state: Node, gain: str) -> Node:
        ops = self._ops
        mean = ops.reduce_mean(ops.power(state, self._make_real(2.0)), self._make_whole(-1), keep_dims=True)
        root = ops.sqrt(ops.add(mean, self._make_real(self._spec.norm_epsilon)))
        inverse = ops.divide(self._make_real(1.0), root)
        return ops.multiply(ops.multiply(state, inverse), self._weights[gain])

    def _split(self, values: Node, sizes: Any) -> list[Node]:
        lengths = self._ops.constant(np.array(sizes, np.int64))
        return list(self._ops.variadic_split(values, self._make_whole(-1), lengths).outputs())

    def _measure(self, values: Node, axis: int) -> Node:
        """A dimension, [1]."""
        axes = self._ops.constant(np.array([axis], np.int64))
        return self._ops.gather(self._ops.shape_of(values), axes, self._make_whole(0))

    def _count_up(self, count: Node) -> Node:
        stop = self._ops.squeeze(count, self._make_whole(0))
        return self._ops.range(self._make_whole(0), stop, self._make_whole(1), "i64")

    def _make_row(self, values: Array) -> Node:
        return self._ops.constant(values.astype(np.float32).reshape(1, 1, 1, -1))

    def _make_real(self, value: float) -> Node:
        return self._ops.constant(np.float32(value))

    def _make_whole(self, value: int) -> Node:
        return self._ops.constant(np.int64(value))
