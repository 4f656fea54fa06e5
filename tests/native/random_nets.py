"""Small networks of random ops, numbers and encodings, in the number forms that HTP computes in."""

from dataclasses import dataclass, field

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType

BITS = {"w8a8": 8, "w8a16": 16, "w16a16": 16}
WEIGHTS = {"w8a8": (8, DType.SFIXED_POINT_8), "w8a16": (8, DType.SFIXED_POINT_8)}
WIDE = (16, DType.SFIXED_POINT_16)


@dataclass
class RandomNet:
    """A graph that grows; what its values stand for is known, so that encodings fit as a quantizer's do."""

    form: str
    random: np.random.Generator
    graph: Graph = field(default_factory=lambda: Graph("g"))
    feed: dict[str, Array] = field(default_factory=dict)
    real: dict[str, Array] = field(default_factory=dict)

    def add_input(self, *shape: int, spread: float = 0.0) -> str:
        """An input of normal numbers, or of even ones up to ``spread``, around a random middle."""
        name = self.graph.fresh_name("x")
        span = float(np.exp(self.random.uniform(-1.5, 1.5)))
        middle = float(self.random.uniform(-1, 1)) * span
        real = self.random.normal(middle, span, shape)
        if spread:
            real = self.random.uniform(-spread, spread, shape)
        kind, stored = self._store(real)
        self.graph.add_input(name, kind)
        self.feed[name] = stored
        self.real[name] = self._read(kind, stored)
        return name

    def add_symmetric_input(self, *shape: int) -> str:
        """An input of normal numbers around zero, which is the integer in the middle."""
        name, real = self.graph.fresh_name("x"), self.random.normal(0, 1, shape)
        kind, stored = self._store(real)
        if kind.encoding is not None:
            kind = self._describe_symmetric(shape, float(np.abs(real).max()))
            assert kind.encoding is not None
            stored = kind.encoding.encode(real.astype(np.float32), kind.dtype)
        self.graph.add_input(name, kind)
        self.feed[name], self.real[name] = stored, self._read(kind, stored)
        return name

    def add_weights(self, *shape: int, axis: int) -> str:
        """Symmetric weights, a scale for each channel."""
        reach = 1 / np.sqrt(max(1, np.prod(shape) // shape[axis]))
        real = self.random.normal(0, reach, shape)
        channels = [1] * len(shape)
        channels[axis] = shape[axis]
        return self.add_weights_of(real * self.random.uniform(0.3, 1, channels), axis)

    def add_weights_of(self, real: Array, axis: int) -> str:
        """These weights, a scale for each channel."""
        shape = real.shape
        if self.form == "fp16":
            return self._add_constant(real, TensorType(shape, DType.FLOAT_16))
        bits, dtype = WEIGHTS.get(self.form, WIDE)
        others = tuple(place for place in range(len(shape)) if place != axis)
        scales = np.abs(real).max(axis=others) / ((1 << (bits - 1)) - 1)
        encoding = Encoding(tuple(scales.tolist()), (0,) * scales.size, axis, bits)
        return self._add_constant(real, TensorType(shape, dtype, None, encoding))

    def add_bias(self, value: str, weights: str, axis: int = -1) -> str:
        """A bias in units of the sums."""
        x, w = self.graph.types[value].encoding, self.graph.types[weights].encoding
        real = self.random.normal(0, 0.3, self.graph.types[weights].static_shape()[axis])
        if x is None or w is None:
            return self._add_constant(real, TensorType(real.shape, DType.FLOAT_16))
        sums = tuple(float(np.float32(x.scales[0]) * np.float32(scale)) for scale in w.scales)
        encoding = Encoding(sums, (0,) * len(sums), 0, 32)
        return self._add_constant(real, TensorType(real.shape, DType.SFIXED_POINT_32, None, encoding))

    def add_constant(self, real: Array) -> str:
        """A constant in the form of an activation."""
        return self._add_constant(real, self._store(real)[0])

    def add_number(self, real: Array) -> str:
        """A constant of 32 bits with one scale."""
        if self.form == "fp16":
            return self._add_constant(real, TensorType(real.shape, DType.FLOAT_16))
        scale = float(np.abs(real).max()) / ((1 << 31) - 1) * 1.01
        encoding = Encoding((scale,), (0,), bitwidth=32)
        return self._add_constant(real, TensorType(real.shape, DType.SFIXED_POINT_32, None, encoding))

    def add(self, op: Op, *values: str) -> str:
        """A node; its output is encoded so that it covers what comes out, or a little more or less."""
        name = self.graph.fresh_name(op.qnn_name())
        arrays = [self.real[value].astype(np.float32) for value in values]
        with np.errstate(all="ignore"):
            real = np.asarray(op.compute(*arrays)[0], np.float64)
        kind = self.graph.types[values[0]] if op.keeps_encoding and len(values) == 1 else None
        if kind is not None:
            kind = TensorType(real.shape, kind.dtype, None, kind.encoding)
        self.graph.add(Node(name, op, list(values), [name]), [kind or self._store(real, op.limits)[0]])
        self.real[name] = real
        return name

    def finish(self, *outputs: str) -> tuple[Graph, dict[str, Array]]:
        """The graph and what it is fed with."""
        self.graph.outputs = list(outputs)
        return self.graph, self.feed

    def _add_constant(self, real: Array, kind: TensorType) -> str:
        name = self.graph.fresh_name("c")
        stored = real.astype(kind.dtype.numpy) if kind.encoding is None else None
        if kind.encoding is not None:
            stored = kind.encoding.encode(real.astype(np.float32), kind.dtype)
        assert stored is not None
        self.graph.add_constant(name, stored, kind)
        self.real[name] = self._read(kind, stored)
        return name

    def _describe_symmetric(self, shape: tuple[int, ...], largest: float) -> TensorType:
        """Of 16 bits the library wants signed integers, of which two signed bytes hold 0x7F7F at most."""
        if BITS[self.form] == 8:
            return TensorType(shape, DType.UFIXED_POINT_8, None, Encoding((largest / 127,), (-128,)))
        encoding = Encoding((largest / 0x7F7F,), (0,), bitwidth=16)
        return TensorType(shape, DType.SFIXED_POINT_16, None, encoding)

    @staticmethod
    def _read(kind: TensorType, stored: Array) -> Array:
        return (stored if kind.encoding is None else kind.encoding.decode(stored)).astype(np.float64)

    def _store(self, real: Array, limits: tuple[float, float] | None = None) -> tuple[TensorType, Array]:
        if self.form == "fp16":
            return TensorType(real.shape, DType.FLOAT_16), real.astype(np.float16)
        bits = BITS[self.form]
        low, high = min(0.0, float(real.min())), max(0.0, float(real.max()))
        low, high = (end * self.random.uniform(0.9, 1.1) for end in (low, high))
        if limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        scale = max(high - low, 1e-4) / ((1 << bits) - 1)
        if limits == (0, 1):
            # Quantizers let sigmoids and shares cover just this, in a power of two of parts.
            low, scale = 0.0, 2.0**-bits
        encoding = Encoding((scale,), (round(low / scale),), bitwidth=bits)
        kind = TensorType(real.shape, DType[f"UFIXED_POINT_{bits}"], None, encoding)
        return kind, encoding.encode(real.astype(np.float32), kind.dtype)
