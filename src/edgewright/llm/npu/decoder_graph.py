"""The blocks of a decoder as ONNX graphs of plain operators and fixed shapes, keys and values outside.

The names of inputs and outputs are those that Qualcomm's own exports of language models have.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from edgewright.core.numbers import Array
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.manifest import GraphShape
from edgewright.llm.npu.matrices import HeadPiece, name_matrix

OPSET = 23  # the first with RMSNormalization
TOKENS, EMBEDDINGS, MASK = "input_ids", "inputs_embeds", "attention_mask"
COSINES, SINES = "position_ids_cos", "position_ids_sin"
NORMAL, LOGITS = "final_norm", "logits"
PAST, PRESENT = "past_{kind}_{layer}_in", "past_{kind}_{layer}_out"
KINDS = ("key", "value")
Weights = Mapping[str, Array]


def name_state(layers: int) -> str:
    """The state of all tokens after so many layers; before the first it is the embedding."""
    return f"hidden_states_{layers}" if layers else EMBEDDINGS


class BlockGraph:
    """A part of a model as a graph: its embedding, a layer, the last norm or rows of the head.

    Args:
        spec: the model.
        shape: tokens and context of a run.
    """

    def __init__(self, spec: ModelSpec, shape: GraphShape) -> None:
        self._spec, self._shape = spec, shape
        # Weights are put where they stay: helpers that join lists of them copy all.
        self._model = ModelProto(ir_version=10, opset_import=[helper.make_opsetid("", OPSET)])
        self._graph = self._model.graph

    def look_up_tokens(self, table: Array) -> None:
        """Gives the embedding of each token."""
        self._graph.input.append(
            helper.make_tensor_value_info(TOKENS, TensorProto.INT32, [1, self._shape.tokens])
        )
        self._give(EMBEDDINGS, self._rows, "Gather", [self._put("embed_tokens", table), TOKENS])

    @property
    def _rows(self) -> list[int]:
        """The shape of a state."""
        return [1, self._shape.tokens, self._spec.hidden]

    def _take_positions(self) -> None:
        """What all layers share: which tokens count, and where they stand."""
        tokens, context = self._shape.tokens, self._shape.context
        half = self._spec.rope.dims // 2
        self._take(MASK, [1, 1, tokens, context])
        for name in (COSINES, SINES):
            self._take(name, [1, 1, tokens, half])

    def add_layer(self, number: int, weights: Weights) -> None:
        """One layer; its state, keys and values are inputs and outputs."""
        name, state = f"layer{number}", self._take(name_state(number), self._rows)
        self._take_positions()
        normal = self._normalize(state, weights["input_layernorm"], f"{name}.attention_norm")
        mixed = self._attend(number, weights, normal)
        attended = self._multiply(number, mixed, weights, "o_proj")
        state = self._add("Add", [state, attended], f"{name}.after_attention")
        normal = self._normalize(state, weights["post_attention_layernorm"], f"{name}.feed_norm")
        gates, ups = (self._multiply(number, normal, weights, matrix) for matrix in ("gate_proj", "up_proj"))
        share = self._add("Sigmoid", [gates], f"{name}.gate_share")
        gate = self._add("Mul", [gates, share], f"{name}.gate")
        inner = self._add("Mul", [gate, ups], f"{name}.inner")
        fed = self._multiply(number, inner, weights, "down_proj")
        self._give(name_state(number + 1), self._rows, "Add", [state, fed])

    def normalize_last(self, gain: Array) -> None:
        """The norm before the head."""
        state = self._take(name_state(self._spec.layers), self._rows)
        gain_name = self._put(f"{NORMAL}.gain", gain)
        epsilon = self._spec.norm_epsilon
        self._give(NORMAL, self._rows, "RMSNormalization", [state, gain_name], axis=-1, epsilon=epsilon)

    def add_head(self, piece: HeadPiece, rows: Array) -> None:
        """Logits of some words of the vocabulary, for every token."""
        matrix = self._put(piece.matrix, np.ascontiguousarray(rows.T))
        normal = self._take(NORMAL, self._rows)
        self._give(piece.logits, [1, self._shape.tokens, len(rows)], "MatMul", [normal, matrix])

    def join_logits(self, pieces: Sequence[HeadPiece]) -> None:
        """Logits of all words, side by side."""
        tokens, size = self._shape.tokens, self._spec.vocabulary
        names = [
            self._take(piece.logits, [1, tokens, piece.rows.stop - piece.rows.start]) for piece in pieces
        ]
        self._give(LOGITS, [1, tokens, size], "Concat", names, axis=-1)

    def make_model(self, name: str) -> ModelProto:
        """The graph, checked by nothing yet."""
        self._graph.name = name
        return self._model

    def _attend(self, number: int, weights: Weights, normal: str) -> str:
        spec, tokens, name = self._spec, self._shape.tokens, f"layer{number}"
        queries, keys, values = (
            self._split_heads(self._multiply(number, normal, weights, matrix), heads, f"{name}.{kind}")
            for matrix, heads, kind in (
                ("q_proj", spec.heads, "queries"),
                ("k_proj", spec.kv_heads, "keys"),
                ("v_proj", spec.kv_heads, "values"),
            )
        )
        if spec.has_qk_norm:
            queries = self._normalize(queries, weights["q_norm"], f"{name}.query_norm")
            keys = self._normalize(keys, weights["k_norm"], f"{name}.key_norm")
        queries, keys = (self._turn(part, f"{part}.turned") for part in (queries, keys))
        keys, values = self._join_past(number, keys, values)
        return self._mix(name, queries, keys, values, tokens)

    def _mix(self, name: str, queries: str, keys: str, values: str, tokens: int) -> str:
        """Heads that share keys and values stand together, so nothing is repeated."""
        spec, context = self._spec, self._shape.context
        groups = spec.heads // spec.kv_heads
        scale = self._put(f"{name}.scale", np.array(1 / math.sqrt(spec.head_dim), np.float32))
        scaled = self._add("Mul", [queries, scale], f"{name}.scaled")
        grouped = self._reshape(scaled, [spec.kv_heads, 1, groups * tokens, spec.head_dim], f"{name}.grouped")
        scores = self._add("MatMul", [grouped, keys], f"{name}.scores")
        apart = self._reshape(scores, [spec.kv_heads, groups, tokens, context], f"{name}.scores_apart")
        masked = self._add("Add", [apart, MASK], f"{name}.masked")
        shares = self._add("Softmax", [masked], f"{name}.shares", axis=-1)
        together = self._reshape(
            shares, [spec.kv_heads, 1, groups * tokens, context], f"{name}.shares_together"
        )
        mixed = self._add("MatMul", [together, values], f"{name}.mixed")
        heads = self._reshape(mixed, [1, spec.heads, tokens, spec.head_dim], f"{name}.mixed_heads")
        across = self._add("Transpose", [heads], f"{name}.mixed_across", perm=[0, 2, 1, 3])
        return self._reshape(across, [1, tokens, spec.query_rows], f"{name}.mixed_rows")

    def _join_past(self, number: int, keys: str, values: str) -> tuple[str, str]:
        """Keys [heads, 1, values, tokens] and values [heads, 1, tokens, values], earlier ones first."""
        spec, shape = self._spec, self._shape
        names = [PRESENT.format(kind=kind, layer=number) for kind in KINDS]
        across = [spec.kv_heads, 1, spec.head_dim, shape.tokens]
        along = [spec.kv_heads, 1, shape.tokens, spec.head_dim]
        self._give(names[0], across, "Transpose", [keys], perm=[1, 0, 3, 2])
        self._give(names[1], along, "Transpose", [values], perm=[1, 0, 2, 3])
        if not shape.past:
            return names[0], names[1]
        past = [PAST.format(kind=kind, layer=number) for kind in KINDS]
        self._take(past[0], [spec.kv_heads, 1, spec.head_dim, shape.past])
        self._take(past[1], [spec.kv_heads, 1, shape.past, spec.head_dim])
        all_keys = self._add("Concat", [past[0], names[0]], f"layer{number}.all_keys", axis=3)
        return all_keys, self._add("Concat", [past[1], names[1]], f"layer{number}.all_values", axis=2)

    def _turn(self, heads: str, name: str) -> str:
        """Rotary positions on [1, heads, tokens, values]; what is beyond the turned values stays."""
        half, dim = self._spec.rope.dims // 2, self._spec.head_dim
        sizes = [half, half, dim - 2 * half] if dim > 2 * half else [half, half]
        first, second, *rest = self._cut(heads, sizes, name)
        pairs = ((first, COSINES), (second, SINES), (second, COSINES), (first, SINES))
        products = [
            self._add("Mul", [values, table], f"{name}.product{number}")
            for number, (values, table) in enumerate(pairs)
        ]
        turned = [
            self._add("Sub", products[:2], f"{name}.first"),
            self._add("Add", products[2:], f"{name}.second"),
        ]
        return self._add("Concat", [*turned, *rest], name, axis=-1)

    def _split_heads(self, rows: str, heads: int, name: str) -> str:
        apart = self._reshape(rows, [1, self._shape.tokens, heads, self._spec.head_dim], f"{name}.apart")
        return self._add("Transpose", [apart], name, perm=[0, 2, 1, 3])

    def _multiply(self, number: int, inputs: str, weights: Weights, matrix: str) -> str:
        name = f"layer{number}.{matrix}"
        rows = self._put(name_matrix(number, matrix), np.ascontiguousarray(weights[matrix].T))
        bias = weights.get(f"{matrix}.bias")
        if bias is None:
            return self._add("MatMul", [inputs, rows], name)
        product = self._add("MatMul", [inputs, rows], f"{name}.product")
        return self._add("Add", [product, self._put(f"{name}.bias", bias)], name)

    def _normalize(self, inputs: str, gain: Array, name: str) -> str:
        gain_name = self._put(f"{name}.gain", gain)
        return self._add(
            "RMSNormalization", [inputs, gain_name], name, axis=-1, epsilon=self._spec.norm_epsilon
        )

    def _cut(self, inputs: str, sizes: list[int], name: str) -> list[str]:
        outputs = [f"{name}.part{number}" for number in range(len(sizes))]
        lengths = self._put(f"{name}.sizes", np.array(sizes, np.int64))
        self._graph.node.append(
            helper.make_node("Split", [inputs, lengths], outputs, name=f"{name}.cut", axis=-1)
        )
        return outputs

    def _reshape(self, inputs: str, shape: list[int], name: str) -> str:
        return self._add("Reshape", [inputs, self._put(f"{name}.shape", np.array(shape, np.int64))], name)

    def _put(self, name: str, values: Array) -> str:
        array = np.asarray(values)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._graph.initializer.add(name=name, data_type=kind, dims=array.shape, raw_data=array.tobytes())
        return name

    def _take(self, name: str, shape: list[int]) -> str:
        self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def _give(self, name: str, shape: list[int], op: str, inputs: list[str], **attributes: Any) -> str:
        self._graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return self._add(op, inputs, name, **attributes)

    def _add(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._graph.node.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output
