"""Which passes run, in which order: lists of names that a test holds to every pass's ``after``."""

from collections.abc import Sequence

from edgewright.ir.graph import Graph
from edgewright.passes.clean import drop_dead_code, drop_identity, merge_moves
from edgewright.passes.fold import fold_constants
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.layout import push_transposes
from edgewright.passes.target import narrow_int64, promote_scalars

__all__ = ["ALWAYS", "LAYOUT", "SIMPLIFY", "TARGET", "run_passes"]

REGISTERED = (drop_dead_code, drop_identity, merge_moves, fold_constants, push_transposes, narrow_int64, promote_scalars)

# What every conversion needs; `--no_simplification` does not switch it off.
ALWAYS = ("drop_dead_code",)
# Optional rewrites.
SIMPLIFY = ("fold_constants", "merge_moves", "drop_identity", "drop_dead_code")
# Spatial ops meet without transposes between them.
LAYOUT = ("merge_moves", "push_transposes", "merge_moves", "drop_identity", "pull_transposes", "merge_moves", "drop_identity", "drop_dead_code")

# What QNN artifacts cannot hold.
TARGET = ("promote_scalars",)


def run_passes(graph: Graph, names: Sequence[str]) -> dict[str, int]:
    """Runs passes by name; returns how much each changed."""
    changes: dict[str, int] = {}
    for name in names:
        changes[name] = changes.get(name, 0) + PASSES[name](graph)
    return changes
