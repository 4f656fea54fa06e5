"""Fixed-point ops as sums of whole numbers that are rounded step by step, as a backend's hardware does it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

__all__ = ["Arithmetic", "IntegerProduct", "Step", "SumForm", "rounded", "written_product"]


@dataclass(frozen=True)
class Step:
    """An engine op on the sums; its operand is one number, one for each channel (the last axis), or none."""

    op: str
    operand: Array | None = None
    to: DType | None = None


@dataclass(frozen=True)
class IntegerProduct:
    """Rows of stored integers times a matrix of integers [K, N], in units of each column, plus a bias."""

    matrix: Array
    units: Array
    bias: Array


@dataclass(frozen=True)
class SumForm:
    """How a node is computed: inputs and weights as whole numbers, then the steps.

    After them the nearest whole number is stored, shifted by the offset of the output and clamped.
    """

    inputs: Mapping[str, Encoding]
    constants: Mapping[str, Array] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    # Where the sums are those of a plain matrix product: the engine has a kernel of integers for it.
    product: IntegerProduct | None = None


# The form of a node, or None where the usual one (decoded, computed, encoded) serves.
Arithmetic = Callable[[Graph, Node], SumForm | None]


def written_product(w: "Writer", node: Node, product: IntegerProduct) -> str:
    """The sums of a product of the last axis, in real numbers that hold them exactly."""
    given = w.graph.types[node.inputs[0]].encoding
    assert given is not None
    zeros = (np.uint8(-given.offsets[0]), np.zeros(product.units.shape, np.int8))
    operands = (product.matrix, np.float32(1), product.units, *zeros, product.bias)
    names = [w.constant(np.asarray(operand)) for operand in operands]
    return w.node("MatMulIntegerToFloat", w.value(node.inputs[0]), *names, domain="com.microsoft")


def rounded(w: "Writer", sums: str, form: SumForm, stored: TensorType, channels: int) -> str:
    """The integers that are stored for sums whose channels lie along an axis."""
    base, order = w.before_transpose(sums)
    if order is not None:
        back = tuple(order.index(axis) for axis in range(len(order)))
        return w.transpose(rounded(w, base, form, stored.permuted(back), order[channels]), order)
    assert stored.encoding is not None
    value = sums
    for step in form.steps:
        value = _taken(w, step, value, stored.rank, channels)
    zero = w.constant(np.asarray(-stored.encoding.offsets[0], stored.dtype.numpy))
    return w.node("QuantizeLinear", value, w.scalar(1.0, DType.FLOAT_32), zero)


def _taken(w: "Writer", step: Step, value: str, rank: int, channels: int) -> str:
    if step.to is not None:
        return w.node(step.op, value, to=w.code(step.to))
    if step.operand is None:
        return w.node(step.op, value)
    shape = [1] * rank
    shape[channels] = step.operand.size
    aligned = step.operand.reshape(shape if step.operand.ndim else ())
    return w.node(step.op, value, w.constant(aligned))
