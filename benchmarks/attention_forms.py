"""Forms of the same attention for the HTP: python -m benchmarks.attention_forms.

Heads together in one MatMul or each in its own; projections as MatMul or as convolutions of one element; a
mask of -100, of minus infinity, or none. On the emulator, in w8a16 and w8a8: how far from the floats each is,
and what is estimated.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.estimate.estimate import estimate_network
from edgewright.estimate.graph_layers import read_graph
from edgewright.passes.pipeline import HTP, run_passes
from edgewright.targets.soc import find_htp_soc

CHIP, TOKENS, WIDTH, HEADS, LAYERS, SAMPLES = "SM8650", 64, 192, 3, 2, 4
SIZE = WIDTH // HEADS
TOGETHER, APART = "heads together", "each head alone"
PRODUCTS, CONVOLUTIONS = "MatMul", "Conv 1 x 1"


class Attention:
    """Layers of attention, each added to what it reads.

    Args:
        heads: together or apart.
        projections: as products or convolutions.
        mask: what is added to scores of later tokens; None: nothing.
    """

    def __init__(self, heads: str, projections: str, mask: float | None) -> None:
        self._heads, self._projections, self._mask = heads, projections, mask
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._rng = np.random.default_rng(0)

    def make(self) -> ModelProto:
        """The model."""
        state = "x"
        for number in range(LAYERS):
            state = self._add("Add", [state, self._attend(state)], f"state{number}")
        ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, TOKENS, WIDTH]) for n in ("x", state)]
        graph = helper.make_graph(self._nodes, "attention", ends[:1], ends[1:], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def _attend(self, state: str) -> str:
        queries, keys, values = (self._split(self._project(state)) for _ in range(3))
        pairs = zip(queries, keys, values, strict=True)
        mixed = [self._mix(*three) for three in pairs]
        if self._heads == APART:
            return self._project(self._add("Concat", mixed, axis=-1))
        across = self._add("Transpose", mixed, perm=[0, 2, 1, 3])
        return self._project(self._add("Reshape", [across, self._put(np.array([1, TOKENS, WIDTH]))]))

    def _mix(self, queries: str, keys: str, values: str) -> str:
        turn = [0, 1, 3, 2] if self._heads == TOGETHER else [0, 2, 1]
        scores = self._add("MatMul", [queries, self._add("Transpose", [keys], perm=turn)])
        scaled = self._add("Mul", [scores, self._put(np.float32(SIZE**-0.5))])
        if self._mask is not None:
            later = np.where(np.tri(TOKENS, dtype=bool), np.float32(0), np.float32(self._mask))
            scaled = self._add("Add", [scaled, self._put(later)])
        return self._add("MatMul", [self._add("Softmax", [scaled], axis=-1), values])

    def _split(self, rows: str) -> list[str]:
        """One value of all heads, or one of each."""
        if self._heads == TOGETHER:
            apart = self._add("Reshape", [rows, self._put(np.array([1, TOKENS, HEADS, SIZE]))])
            return [self._add("Transpose", [apart], perm=[0, 2, 1, 3])]
        names = [f"head{len(self._nodes)}_{number}" for number in range(HEADS)]
        sizes = self._put(np.array([SIZE] * HEADS))
        self._nodes.append(helper.make_node("Split", [rows, sizes], names, axis=-1))
        return names

    def _project(self, rows: str) -> str:
        weights = self._rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) / np.sqrt(np.float32(WIDTH))
        if self._projections == PRODUCTS:
            return self._add("MatMul", [rows, self._put(weights)])
        image = self._add("Reshape", [rows, self._put(np.array([1, TOKENS, 1, WIDTH]))])
        first = self._add("Transpose", [image], perm=[0, 3, 2, 1])
        product = self._add("Conv", [first, self._put(weights.T.reshape(WIDTH, WIDTH, 1, 1).copy())])
        last = self._add("Transpose", [product], perm=[0, 3, 2, 1])
        return self._add("Reshape", [last, self._put(np.array([1, TOKENS, WIDTH]))])

    def _put(self, values: Any) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def _add(self, op: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        output = name or f"value{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output


def list_forms() -> Iterator[tuple[str, Attention]]:
    """By what they are called."""
    for heads in (TOGETHER, APART):
        for projections in (PRODUCTS, CONVOLUTIONS):
            yield f"{heads}, {projections}", Attention(heads, projections, None)
    for mask in (-100.0, -np.inf):
        yield f"{TOGETHER}, {PRODUCTS}, mask {mask:g}", Attention(TOGETHER, PRODUCTS, mask)


def measure(model: Any, samples: list[Any], bits: int) -> str:
    """Decibels on simulation and emulator, and the estimate."""
    quantized = ew.quantize(model, data=[{"x": sample} for sample in samples], act_bw=bits, weight_bw=8)
    try:
        cells = [_measure_noise(model, quantized, samples, name) for name in ("htp-sim", "htp-native")]
    except EdgewrightError as problem:
        return f"refused: {str(problem).splitlines()[0][:60]}"
    prepared = quantized.fixed_graph().copy()
    run_passes(prepared, HTP)
    time = estimate_network(read_graph(prepared), find_htp_soc(CHIP), f"w8a{bits}").time
    return f"{cells[0]:.1f} / {cells[1]:.1f} dB | {time}"


def _measure_noise(model: Any, quantized: Any, samples: list[Any], backend: str) -> float:
    signal = noise = 0.0
    for sample in samples:
        wanted = next(iter(model.run({"x": sample}).values()))
        found = next(iter(quantized.run({"x": sample}, backend=backend).values()))
        signal, noise = signal + float((wanted**2).sum()), noise + float(((wanted - found) ** 2).sum())
    return float(10 * np.log10(signal / max(noise, 1e-30)))


def main() -> None:
    """Prints a table."""
    rng = np.random.default_rng(1)
    samples = [rng.standard_normal((1, TOKENS, WIDTH), np.float32) for _ in range(SAMPLES)]
    print("| form | w8a16, simulation / emulator | estimated | w8a8 | estimated |\n|---|---|---|---|---|")
    for name, attention in list_forms():
        model = ew.convert(attention.make())
        print(f"| {name} | {measure(model, samples, 16)} | {measure(model, samples, 8)} |", flush=True)


if __name__ == "__main__":
    main()
