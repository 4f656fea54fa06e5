"""Attention as one op."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, structural
from edgewright.ir.types import TensorType
from edgewright.ops.shape_patterns import check_multiple, match_shapes

# Where QNN's inputs stand.
QUERY, LENGTHS, _, KEY, VALUE, PAST_KEY, PAST_VALUE, COSINES, SINES, POSITIONS = range(10)
PAIRS = ((KEY, VALUE), (PAST_KEY, PAST_VALUE), (COSINES, SINES))


@register
@dataclass(frozen=True, kw_only=True)
class GroupQueryAttention(Op):
    """Causal attention whose heads share keys and values in groups (Ainslie et al. 2023).

    It is ONNX Runtime's op of that name with a cache of fixed length. Query [B, S, heads * size], key and
    value [B, S, kv_heads * size]; without them the query holds all three. The cache [B, kv_heads, L, size]
    takes the new ones behind those that it holds; in[1] is the last place of each sequence, in[2] the longest
    length.
    ``do_rotary`` turns both halves of query and key by tables [L, size / 2].
    """

    inputs = (
        Port("in[0]"),
        Port("in[1]"),
        Port("in[2]"),
        *(Port(f"in[{index}]", is_required=False) for index in range(KEY, POSITIONS + 1)),
    )
    outputs = (Port("out[0]"), Port("out[1]", is_required=False), Port("out[2]", is_required=False))

    num_heads: int = scalar(DType.UINT_32)
    kv_num_heads: int = scalar(DType.UINT_32)
    do_rotary: int = scalar(DType.UINT_32, 0)
    # 0 stands for 1 / sqrt(size).
    scale: float = scalar(DType.FLOAT_32, 0.0)
    # How long the cache is where no former one is given.
    length: int | None = structural(None)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The query without keys and values, and the two caches."""
        query, past = inputs[QUERY], given(inputs, PAST_KEY)
        if query.rank != 3 or self.kv_num_heads < 1 or self.num_heads % self.kv_num_heads:
            raise ShapeMismatch(
                f"query {query} with {self.num_heads} heads on {self.kv_num_heads} does not fit",
                do="give a query [B,S,heads*size] and as many heads for each of keys and values",
            )
        batch, steps, width = query.shape
        heads = self.num_heads if given(inputs, KEY) is not None else self.num_heads + 2 * self.kv_num_heads
        check_multiple(width, 2 * heads if self.do_rotary else heads, "the width of the query")
        size = width // heads
        self._check_inputs(inputs, size)
        length = past.shape[2] if past is not None else self.length or steps
        cache = query.with_shape((batch, self.kv_num_heads, length, size))
        return query.with_shape((batch, steps, self.num_heads * size)), cache, cache

    def _check_inputs(self, inputs: Sequence[TensorType], size: Dim) -> None:
        """Refuses what does not fit the query; the lengths of rotary tables are looked up in the run."""
        optional = [given(inputs, place) for place in range(POSITIONS + 1)]
        cache, flat = f"B {self.kv_num_heads} L size", "B S width"
        match_shapes(
            ("size", TensorType((size,))),
            ("width", TensorType((self.kv_num_heads * size,))),
            ("B S any", inputs[QUERY]),
            *((flat, optional[place]) for place in (KEY, VALUE)),
            *((cache, optional[place]) for place in (PAST_KEY, PAST_VALUE)),
            *(("places half", optional[place]) for place in (COSINES, SINES)),
            *([("half", TensorType((size // 2,)))] if self.do_rotary else []),
            ("B S", optional[POSITIONS]),
        )
        lengths = inputs[LENGTHS]
        if any((optional[a] is None) != (optional[b] is None) for a, b in PAIRS) or (
            self.do_rotary and optional[COSINES] is None
        ):
            raise ShapeMismatch("keys, values, caches and tables come in pairs", do="give both of each pair")
        if lengths.count != inputs[QUERY].shape[0]:
            raise ShapeMismatch(f"lengths {lengths} for {inputs[QUERY]}", do="give one for each sequence")

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The length of the cache is the output's."""
        return {"length": outputs[1].shape[2] if len(outputs) > 1 else None}

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sequence by sequence, in single precision."""
        query, key, value = self._split(inputs)
        batch, _, steps, size = query.shape
        past = given(inputs, PAST_KEY)
        length = past.shape[2] if past is not None else self.length or steps
        caches = [
            self._open_cache(given(inputs, place), (batch, length, size)) for place in (PAST_KEY, PAST_VALUE)
        ]
        results = np.zeros_like(query)
        for index, last in enumerate(inputs[LENGTHS].reshape(-1).astype(np.int64)):
            start, end = int(last) + 1 - steps, int(last) + 1
            if start < 0 or end > length:
                raise BadInput(
                    f"sequence {index} ends at place {int(last)}, there are {steps} new steps and room for "
                    f"{length}",
                    do="give the place of the last new step, which the cache must hold",
                )
            places = self._find_places(given(inputs, POSITIONS), index, start, steps)
            caches[0][index, :, start:end] = self._turn(key[index], inputs, places)
            caches[1][index, :, start:end] = value[index]
            turned = self._turn(query[index], inputs, places)
            results[index] = self._attend(turned, *(cache[index, :, :end] for cache in caches))
        merged = results.transpose(0, 2, 1, 3).reshape(batch, steps, -1)
        dtype = inputs[QUERY].dtype
        return merged.astype(dtype), caches[0].astype(dtype), caches[1].astype(dtype)

    def _split(self, inputs: Sequence[Array]) -> list[Array]:
        """Query, key and value [B, heads, S, size]."""
        heads = (self.num_heads, self.kv_num_heads, self.kv_num_heads)
        packed = inputs[QUERY]
        if given(inputs, KEY) is not None:
            parts = [packed, inputs[KEY], inputs[VALUE]]
        else:
            size = packed.shape[2] // sum(heads)
            parts = np.split(packed, [heads[0] * size, (heads[0] + heads[1]) * size], 2)
        return [
            part.reshape(*part.shape[:2], count, -1).transpose(0, 2, 1, 3).astype(np.float32)
            for part, count in zip(parts, heads, strict=True)
        ]

    def _open_cache(self, past: Array | None, sizes: tuple[int, int, int]) -> Array:
        batch, length, size = sizes
        if past is None:
            return np.zeros((batch, self.kv_num_heads, length, size), np.float32)
        return past.astype(np.float32)

    def _find_places(self, positions: Array | None, index: int, start: int, steps: int) -> Array:
        """Where the new elements stand in their sequence."""
        if positions is None:
            return np.arange(start, start + steps)
        places: Array = positions.reshape(-1, steps)[index].astype(np.int64)
        return places

    def _turn(self, array: Array, inputs: Sequence[Array], places: Array) -> Array:
        """Both halves [heads, S, size / 2] turned into each other by the angles of their places."""
        if not self.do_rotary:
            return array
        cosines, sines = (inputs[table].astype(np.float32)[places] for table in (COSINES, SINES))
        first, second = np.split(array, 2, -1)
        return np.concatenate([first * cosines - second * sines, second * cosines + first * sines], -1)

    def _attend(self, query: Array, key: Array, value: Array) -> Array:
        """Each step sees what came before it and itself."""
        groups = self.num_heads // self.kv_num_heads
        key, value = key.repeat(groups, 0), value.repeat(groups, 0)
        scores = query @ key.transpose(0, 2, 1) * (self.scale or query.shape[-1] ** -0.5)
        steps, seen = scores.shape[-2:]
        later = np.arange(seen) > np.arange(seen - steps, seen)[:, None]
        scores = np.where(later, -np.inf, scores)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        result: Array = shares / shares.sum(-1, keepdims=True) @ value
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A first run of packed projections, and a step on a cache with rotary positions."""
        first = cls(num_heads=4, kv_num_heads=2, length=6)
        lengths = np.asarray([2, 2], np.int32), np.asarray([3], np.int32)
        yield Sample("packed", first, (TensorType((2, 3, 64)), *lengths))
        step, small, past = TensorType((1, 1, 128)), TensorType((1, 1, 32)), TensorType((1, 2, 5, 16))
        angles = np.linspace(0, 3, 40).reshape(5, 8)
        tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        places = np.asarray([[3]], np.int32), np.asarray([4], np.int32)
        turning = cls(num_heads=8, kv_num_heads=2, do_rotary=1, scale=0.3)
        yield Sample("cached", turning, (step, *places, small, small, past, past, *tables))
