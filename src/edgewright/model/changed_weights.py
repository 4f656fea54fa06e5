"""Finds the weights that a quantizer changed before it rounded them: encodings alone do not tell those."""

import numpy as np

from edgewright.ir.graph import Graph

# Biases are wider, and follow from what they are added to.
WIDEST_WEIGHT = 16


def list_changed_weights(before: Graph, after: Graph) -> list[str]:
    """The constants in fixed point that are not what their encodings make of the float ones."""
    return [name for name in after.constants if _is_changed(before, after, name)]


def list_moved_weights(before: Graph, after: Graph) -> list[str]:
    """The weights, by the source's names, that rounding does not explain: encodings are of other numbers."""
    return sorted(after.source_names.get(n, n) for n in after.constants if _is_moved(before, after, n))


def note_changed_weights(before: Graph, after: Graph) -> list[str]:
    """A line for the user where encodings as overrides do not rebuild the quantized model."""
    changed = list_changed_weights(before, after)
    if not changed:
        return []
    what = f"{len(changed)} weights and biases were changed before they were rounded"
    return [f"{what}: encodings() as overrides do not bring them back, saved files do"]


def _is_changed(before: Graph, after: Graph, name: str) -> bool:
    kind, stored = after.types[name], after.constants[name]
    if kind.encoding is None or not after.consumers(name):
        return False
    real = before.constants.get(name)
    if real is None or real.shape != stored.shape:
        return True
    return not np.array_equal(kind.encoding.encode(np.asarray(real, np.float32), kind.dtype), stored)


def _is_moved(before: Graph, after: Graph, name: str) -> bool:
    kind, stored, real = after.types[name], after.constants[name], before.constants.get(name)
    if kind.encoding is None or kind.encoding.bitwidth > WIDEST_WEIGHT or real is None:
        return False
    if real.shape != stored.shape:
        return False
    nearest = kind.encoding.encode(np.asarray(real, np.float32), kind.dtype).astype(np.int64)
    # Algorithms that choose how to round move an integer by one.
    return bool((np.abs(nearest - stored.astype(np.int64)) > 1).any())
