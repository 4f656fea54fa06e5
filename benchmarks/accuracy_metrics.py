"""How far two runs of a model are apart: SQNR, KL divergence, agreement of the largest class."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

__all__ = ["Score", "count_products", "outputs_of", "scored"]

Array = NDArray[Any]
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU"}
# What keeps the steps of fixed point.
MOVES = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Pad", "Slice", "Split"}
MOVES |= {"Concat", "MaxPool", "Relu", "Clip"}
# What stands for no error at all.
MOST_DB = 120.0


@dataclass(frozen=True)
class Score:
    """Means over the outputs of a model; agreement with its interval of 95 % (Wilson)."""

    sqnr_db: float
    kl: float | None
    agreement: float | None
    low: float | None
    high: float | None
    decisions: int

    def __str__(self) -> str:
        agreed = "" if self.agreement is None else f"{100 * self.agreement:6.2f} % of {self.decisions}"
        kl = "" if self.kl is None else f"KL {self.kl:.2e}"
        return f"{self.sqnr_db:6.2f} dB {kl:12s} {agreed}"


def outputs_of(model: Path, feeds: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """Float outputs for each feed, by one ONNX Runtime session on one thread."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    taken = {item.name for item in session.get_inputs()}
    results = []
    for feed in feeds:
        found = session.run(None, {name: array for name, array in feed.items() if name in taken})
        results.append([array for array in found if array.dtype == np.float32])
    return results


def count_products(model: Path) -> tuple[int, int]:
    """Convolutions, products of matrices and recurrent layers: those that read fixed point, and all of them.

    A tool that leaves most of a network in floating point has not quantized it.
    """
    graph = onnx.load(model, load_external_data=False).graph
    makers = {value: node for node in graph.node for value in node.output}
    products = [node for node in graph.node if node.op_type in PRODUCTS]
    return sum(_reads_fixed_point(makers, node.input[0]) for node in products), len(products)


def _reads_fixed_point(makers: dict[str, onnx.NodeProto], value: str) -> bool:
    """Whether a value was in fixed point before it was moved, or before the product that made it."""
    node = makers.get(value)
    while node is not None and node.op_type in MOVES:
        node = makers.get(node.input[0])
    return node is not None and node.op_type == "DequantizeLinear"


def scored(expected: list[list[Array]], found: list[list[Array]], *, are_scores: bool = False) -> Score:
    """The score of what was found; vectors that are no probabilities are classes where they are scores."""
    columns = list(zip(zip(*expected, strict=True), zip(*found, strict=True), strict=True))
    sqnrs = [_sqnr(a, b) for a, b in columns]
    classes = [
        (a, b) for a, b in columns if a[0].ndim and a[0].shape[-1] > 1 and _is_of_classes(a, are_scores)
    ]
    kls = [float(np.mean([_kl(x, y) for x, y in zip(a, b, strict=True)])) for a, b in classes]
    hits = [_hits(x, y) for a, b in classes for x, y in zip(a, b, strict=True)]
    right, total = sum(h for h, _ in hits), sum(n for _, n in hits)
    low, high = _wilson(right, total)
    is_any = bool(total)
    return Score(
        float(np.mean(sqnrs)),
        float(np.mean(kls)) if kls else None,
        right / total if is_any else None,
        low if is_any else None,
        high if is_any else None,
        total,
    )


def _sqnr(expected: Sequence[Array], found: Sequence[Array]) -> float:
    signal = sum(float(np.square(a, dtype=np.float64).sum()) for a in expected)
    noise = sum(
        float(np.square(a.astype(np.float64) - b).sum()) for a, b in zip(expected, found, strict=True)
    )
    return MOST_DB if noise == 0 else min(MOST_DB, 10 * float(np.log10(max(signal, 1e-300) / noise)))


def _is_of_classes(expected: Sequence[Array], are_scores: bool) -> bool:
    """Whether the last axis is one of classes."""
    return _are_probabilities(expected[0]) or are_scores


def _are_probabilities(array: Array) -> bool:
    return bool((array >= 0).all() and np.allclose(array.sum(-1), 1, atol=0.02))


def _kl(expected: Array, found: Array) -> float:
    """Mean KL(expected || found) over rows; scores become probabilities by a softmax."""
    is_done = _are_probabilities(expected)
    p, q = (_floored(a) if is_done else _softmax(a) for a in (expected, found))
    return float((p * (np.log(p) - np.log(q))).sum(-1).mean())


def _floored(array: Array) -> Array:
    """Probabilities without zeros, which integers round to."""
    positive = np.maximum(array.astype(np.float64), 1e-6)
    return np.asarray(positive / positive.sum(-1, keepdims=True))


def _softmax(array: Array) -> Array:
    wide = array.astype(np.float64)
    raised = np.exp(np.clip(wide - wide.max(-1, keepdims=True), -60, 0))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def _hits(expected: Array, found: Array) -> tuple[int, int]:
    same = expected.argmax(-1) == found.argmax(-1)
    return int(same.sum()), int(same.size)


def _wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    if not total:
        return 0.0, 1.0
    part = right / total
    middle = (part + z * z / (2 * total)) / (1 + z * z / total)
    reach = z / (1 + z * z / total) * sqrt(part * (1 - part) / total + z * z / (4 * total * total))
    return middle - reach, middle + reach
