"""The decoder as an ONNX graph of the operators that ONNX Runtime has for language models."""

from typing import Any

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM, HEAD, name_layer_tensor
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.recipe import FLOAT_ACTIVATIONS, Recipe
from edgewright.llm.writers.onnx_weights import check_grid

RUNTIME = "com.microsoft"
# Activations are rounded to 8 bits within a product, as the tools of ONNX Runtime have it.
EIGHT_BIT_PRODUCTS, FLOAT_PRODUCTS = 4, 1
INPUTS = ("input_ids", "attention_mask")
PAST, PRESENT = "past_key_values.{}.{}", "present.{}.{}"
KEY_VALUE = ("key", "value")
COSINES, SINES = "rotary.cosines", "rotary.sines"
# Attention takes tables whose width is a multiple of it.
ROTARY_STEP = 8


class DecoderGraph:
    """Nodes of a model whose initializers are named after the checkpoint's tensors."""

    def __init__(self, spec: ModelSpec, recipe: Recipe) -> None:
        self._spec, self._recipe = spec, recipe
        self.nodes: list[NodeProto] = []
        # Small numbers that are in the model itself.
        self.constants: list[TensorProto] = []

    def build(self) -> None:
        """All nodes, from tokens to logits."""
        self._count_tokens()
        cosines, sines = self._choose_tables()
        state = self._look_up_embeddings()
        normal = self._normalize(state, name_layer_tensor(0, "input_layernorm.weight"))
        for number in range(self._spec.layers):
            state, normal = self._build_layer(number, state, normal, (cosines, sines))
        head = EMBEDDING if self._spec.is_tied else HEAD
        self._multiply(normal, head, self._spec.hidden, self._spec.vocabulary, "logits")

    def list_inputs(self) -> list[ValueInfoProto]:
        """Tokens, which of them count, and what was computed for earlier ones."""
        tokens = helper.make_tensor_value_info(INPUTS[0], TensorProto.INT64, ["batch", "tokens"])
        mask = helper.make_tensor_value_info(INPUTS[1], TensorProto.INT64, ["batch", "all_tokens"])
        return [tokens, mask, *self._list_states(PAST, "past_tokens")]

    def list_outputs(self) -> list[ValueInfoProto]:
        """The logits of each token, and what later ones need."""
        shape: list[str | int | None] = ["batch", "tokens", self._spec.vocabulary]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
        return [logits, *self._list_states(PRESENT, "all_tokens")]

    def _list_states(self, pattern: str, length: str) -> list[ValueInfoProto]:
        shape: list[str | int | None] = ["batch", self._spec.kv_heads, length, self._spec.head_dim]
        return [
            helper.make_tensor_value_info(pattern.format(number, kind), TensorProto.FLOAT, shape)
            for number in range(self._spec.layers)
            for kind in KEY_VALUE
        ]

    def _count_tokens(self) -> None:
        """The last position of each text, and the length of the longest."""
        one, axis = self._put_integers("one", [1]), self._put_integers("axis", [1])
        self._add("ReduceSum", [INPUTS[1], axis], "mask.sums", keepdims=1)
        self._add("Sub", ["mask.sums", one], "mask.last")
        self._add("Cast", ["mask.last"], "positions.last", to=TensorProto.INT32)
        self._add("Shape", [INPUTS[1]], "mask.length", start=1, end=2)
        none = self._put_integers("first", [0])
        self._add("Squeeze", ["mask.length", none], "mask.count")
        self._add("Cast", ["mask.count"], "positions.count", to=TensorProto.INT32)
        if self._spec.rope.dims // 2 % ROTARY_STEP:
            self._list_positions()

    def _list_positions(self) -> None:
        """Of every token that is new: a text that is filled up on its right begins at 0."""
        self._add("Shape", [INPUTS[0]], "tokens.length", start=1, end=2)
        self._add("Squeeze", ["tokens.length", "first"], "tokens.count")
        numbers = {name: self._put_number(name, number) for name, number in (("none", 0), ("step", 1))}
        self._add("Range", [numbers["none"], "tokens.count", numbers["step"]], "tokens.numbers")
        self._add("Sub", ["mask.sums", "tokens.length"], "positions.before")
        self._add("Max", ["positions.before", "first"], "positions.start")
        self._add("Add", ["positions.start", "tokens.numbers"], "positions.all")

    def _choose_tables(self) -> tuple[str, str]:
        """Long texts have tables of their own where positions are stretched for them."""
        if not self._spec.rope.short_factors:
            return COSINES, SINES
        limit = self._put_integers("original_context", [self._spec.rope.original_context])
        self._add("Greater", ["mask.length", limit], "is_long.list")
        self._add("Squeeze", ["is_long.list"], "is_long")
        names = ("rotary.chosen_cosines", "rotary.chosen_sines")
        branches = {
            f"{branch}_branch": self._make_branch(branch, length)
            for branch, length in (("then", "long"), ("else", "short"))
        }
        self.nodes.append(helper.make_node("If", ["is_long"], list(names), "choose_tables", **branches))
        return names

    def _make_branch(self, branch: str, length: str) -> GraphProto:
        names = [f"{branch}.{table}" for table in (COSINES, SINES)]
        sources = [f"{table}.{length}" for table in (COSINES, SINES)]
        nodes = [
            helper.make_node("Identity", [source], [name])
            for name, source in zip(names, sources, strict=True)
        ]
        shape: list[str | int | None] = ["positions", self._spec.rope.dims // 2]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
        return helper.make_graph(nodes, branch, [], outputs)

    def _look_up_embeddings(self) -> str:
        grid, name = self._recipe.find_grid(EMBEDDING), "embedding"
        if grid is None:
            return self._widen(self._add("Gather", [EMBEDDING, INPUTS[0]], name), EMBEDDING)
        inputs = [f"{EMBEDDING}.rows", INPUTS[0], f"{EMBEDDING}.scales"]
        block = check_grid(grid, self._spec.hidden)
        return self._add_runtime(
            "GatherBlockQuantized",
            inputs if grid.is_symmetric else [*inputs, f"{EMBEDDING}.zeros"],
            [name],
            bits=grid.bits,
            block_size=block,
            gather_axis=0,
            quantize_axis=1,
        )

    def _build_layer(self, number: int, state: str, normal: str, tables: tuple[str, str]) -> tuple[str, str]:
        spec, last = self._spec, number + 1 == self._spec.layers
        prefix = name_layer_tensor(number, "")
        mixed = self._attend(number, normal, tables)
        output = self._multiply(mixed, f"{prefix}self_attn.o_proj.weight", spec.query_rows, spec.hidden)
        state, normal = self._add_and_normalize(state, output, f"{prefix}post_attention_layernorm.weight")
        inner = self._gate(prefix, normal)
        output = self._multiply(inner, f"{prefix}mlp.down_proj.weight", spec.intermediate, spec.hidden)
        following = FINAL_NORM if last else name_layer_tensor(number + 1, "input_layernorm.weight")
        return self._add_and_normalize(state, output, following)

    def _attend(self, number: int, normal: str, tables: tuple[str, str]) -> str:
        spec, prefix = self._spec, name_layer_tensor(number, "self_attn")
        if spec.is_fused:
            rows = spec.query_rows + 2 * spec.key_rows
            parts = [self._project(normal, f"{prefix}.qkv_proj", rows), "", ""]
        else:
            parts = [
                self._project(normal, f"{prefix}.{letter}_proj", rows)
                for letter, rows in (("q", spec.query_rows), ("k", spec.key_rows), ("v", spec.key_rows))
            ]
        if spec.has_qk_norm:
            parts[0] = self._normalize_heads(parts[0], f"{prefix}.q_norm.weight", spec.heads)
            parts[1] = self._normalize_heads(parts[1], f"{prefix}.k_norm.weight", spec.kv_heads)
        is_apart = spec.rope.dims // 2 % ROTARY_STEP != 0
        if is_apart:
            parts = self._turn_apart(prefix, parts, tables)
        past, present = ([pattern.format(number, kind) for kind in KEY_VALUE] for pattern in (PAST, PRESENT))
        return self._add_runtime(
            "GroupQueryAttention",
            [*parts, *past, "positions.last", "positions.count", *(() if is_apart else tables)],
            [f"{prefix}.mixed", *present],
            num_heads=spec.heads,
            kv_num_heads=spec.kv_heads,
            do_rotary=int(not is_apart),
            rotary_interleaved=0,
            local_window_size=spec.window or -1,
        )

    def _turn_apart(self, prefix: str, parts: list[str], tables: tuple[str, str]) -> list[str]:
        """Queries and keys at their positions, before attention, which takes tables of some widths only."""
        spec = self._spec
        if spec.is_fused:
            rows = self._put_integers(f"{prefix}.rows", [spec.query_rows, spec.key_rows, spec.key_rows])
            joined, parts = parts[0], [f"{prefix}.{kind}" for kind in ("queries", "keys", "values")]
            self.nodes.append(helper.make_node("Split", [joined, rows], parts, f"{prefix}.split", axis=-1))
        turned = [
            self._add_runtime(
                "RotaryEmbedding",
                [part, "positions.all", *tables],
                [f"{part}.turned"],
                num_heads=heads,
                rotary_embedding_dim=spec.rope.dims,
            )
            for part, heads in zip(parts, (spec.heads, spec.kv_heads), strict=False)
        ]
        return [*turned, parts[2]]

    def _project(self, normal: str, name: str, rows: int) -> str:
        product = self._multiply(normal, f"{name}.weight", self._spec.hidden, rows)
        if not self._spec.has_qkv_bias:
            return product
        return self._add("Add", [product, f"{name}.bias"], f"{name}.sum")

    def _normalize_heads(self, values: str, gain: str, heads: int) -> str:
        apart = self._put_integers(f"{gain}.apart", [0, 0, heads, self._spec.head_dim])
        together = self._put_integers(f"{gain}.together", [0, 0, heads * self._spec.head_dim])
        split = self._add("Reshape", [values, apart], f"{gain}.heads")
        normal = self._normalize(split, gain)
        return self._add("Reshape", [normal, together], f"{gain}.joined")

    def _gate(self, prefix: str, normal: str) -> str:
        spec, name = self._spec, f"{prefix}mlp"
        if spec.is_fused:
            both = self._multiply(normal, f"{name}.gate_up_proj.weight", spec.hidden, 2 * spec.intermediate)
            parts = [f"{name}.gates", f"{name}.ups"]
            self.nodes.append(
                helper.make_node("Split", [both], parts, f"{name}.split", axis=-1, num_outputs=2)
            )
        else:
            parts = [
                self._multiply(normal, f"{name}.{kind}_proj.weight", spec.hidden, spec.intermediate)
                for kind in ("gate", "up")
            ]
        gates, ups = parts
        shares = self._add("Sigmoid", [gates], f"{name}.shares")
        swished = self._add("Mul", [gates, shares], f"{name}.swished")
        return self._add("Mul", [swished, ups], f"{name}.inner")

    def _multiply(self, inputs: str, name: str, columns: int, rows: int, output: str = "") -> str:
        output, grid = output or f"{name}.product", self._recipe.find_grid(name)
        if grid is None:
            return self._add_runtime("FusedMatMul", [inputs, self._widen(name, name)], [output], transB=1)
        parts = [inputs, f"{name}.codes", f"{name}.scales"]
        has_floats = self._recipe.activations == FLOAT_ACTIVATIONS
        return self._add_runtime(
            "MatMulNBits",
            parts if grid.is_symmetric else [*parts, f"{name}.zeros"],
            [output],
            K=columns,
            N=rows,
            bits=grid.bits,
            block_size=check_grid(grid, columns),
            accuracy_level=FLOAT_PRODUCTS if has_floats else EIGHT_BIT_PRODUCTS,
        )

    def _widen(self, values: str, matrix: str) -> str:
        """Values of a matrix in single precision, whatever it is stored in."""
        if self._recipe.find_precision(matrix) != "fp16":
            return values
        return self._add("Cast", [values], f"{values}.wide", to=TensorProto.FLOAT)

    def _normalize(self, state: str, gain: str) -> str:
        return self._add(
            "SimplifiedLayerNormalization",
            [state, gain],
            f"{gain}.normal",
            axis=-1,
            epsilon=self._spec.norm_epsilon,
            stash_type=1,
        )

    def _add_and_normalize(self, state: str, other: str, gain: str) -> tuple[str, str]:
        normal, total = f"{gain}.normal", f"{gain}.state"
        self._add_runtime(
            "SkipSimplifiedLayerNormalization",
            [state, other, gain],
            [normal, "", "", total],
            epsilon=self._spec.norm_epsilon,
        )
        return total, normal

    def _add(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], f"{output}/{op}", **attributes))
        return output

    def _add_runtime(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        node = helper.make_node(op, inputs, outputs, f"{outputs[0]}/{op}", domain=RUNTIME, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def _put_integers(self, name: str, numbers: list[int]) -> str:
        self.constants.append(helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers))
        return name

    def _put_number(self, name: str, number: int) -> str:
        self.constants.append(helper.make_tensor(name, TensorProto.INT64, [], [number]))
        return name
