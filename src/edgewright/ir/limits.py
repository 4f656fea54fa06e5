"""How large a tensor may be before it is taken for damage or an attack, and how a user asks for more."""

import os
from functools import cache

from edgewright.core.errors import LimitExceeded, ShapeMismatch, UsageError, Where, shown
from edgewright.ir.types import TensorType

# Elements: 16 GiB of float32, which no chip that models are converted for holds.
LARGEST_TENSOR = 1 << 32
# Asks for more, or for less.
VARIABLE = "EDGEWRIGHT_LARGEST_TENSOR"
# Nodes of a source model: ten times what the largest that are known have; a node takes about 0.1 ms.
MOST_NODES = 200_000
NODES_VARIABLE = "EDGEWRIGHT_MOST_NODES"
# Inputs, and outputs.
MOST_ENDS = 1 << 14
# Of a value that follows from constants alone: a few bytes of a file can ask for any number of them.
LARGEST_COMPUTED = 1 << 28


def check_size(tensor_type: TensorType, where: Where | None = None, *, is_computed: bool = False) -> None:
    """Refuses a shape with a negative size, or with more elements than are allowed."""
    if any(isinstance(dim, int) and dim < 0 for dim in tensor_type.shape):
        raise ShapeMismatch(
            f"the tensor would have shape {list(tensor_type.shape)}, expected no dimension below 0",
            where,
            do="check the op's parameters against the shapes of its inputs",
        )
    count, most = tensor_type.count, find_largest_tensor()
    if is_computed:
        most = min(most, LARGEST_COMPUTED)
    if isinstance(count, int) and count > most:
        kind = "computed from constants alone" if is_computed else "allowed"
        raise LimitExceeded(
            f"the tensor would have shape {list(tensor_type.shape)}: {count} elements, "
            f"at most {most} are {kind}",
            where,
            do="check the shapes and the op's parameters"
            if is_computed
            else f"check the shapes and the op's parameters; if they are meant, set {VARIABLE}={count}",
        )


def find_largest_tensor() -> int:
    """The number of elements that a tensor may have."""
    return _parse_limit(VARIABLE, os.environ.get(VARIABLE, ""), LARGEST_TENSOR)


def check_counts(nodes: int, inputs: int, outputs: int, where: Where) -> None:
    """Refuses a source model of more parts than any has, before minutes are spent on it."""
    most = _parse_limit(NODES_VARIABLE, os.environ.get(NODES_VARIABLE, ""), MOST_NODES)
    if nodes > most:
        raise LimitExceeded(
            f"the model has {nodes} nodes, at most {most} are converted",
            where,
            do=f"cut it into parts; if they are meant, set {NODES_VARIABLE}={nodes}",
        )
    for count, what in ((inputs, "inputs"), (outputs, "outputs")):
        if count > MOST_ENDS:
            raise LimitExceeded(f"the model has {count} {what}, at most {MOST_ENDS} are converted", where)


@cache
def _parse_limit(variable: str, text: str, default: int) -> int:
    if text and not (text.isdecimal() and len(text) < 20):
        raise UsageError(f"{variable} is '{shown(text, 60)}', expected a whole number")
    return int(text) if text else default
