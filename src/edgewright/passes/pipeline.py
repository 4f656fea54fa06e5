"""Which passes run, in which order: lists of names that a test holds to every pass's ``after``."""

from collections.abc import Sequence

from edgewright.ir.graph import Graph
from edgewright.ir.verify import verify
from edgewright.passes.clean import (  # noqa: F401 - registers the passes
    drop_dead_code,
    drop_empty_parts,
    drop_identity,
    keep_reduced_axes,
    merge_casts,
    merge_moves,
    take_source_names,
    transpose_to_reshape,
)
from edgewright.passes.fold import (  # noqa: F401 - registers the passes
    absorb_encodings,
    fold_batchnorm,
    fold_biases,
    fold_channels,
    fold_constants,
    fold_moved_weights,
)
from edgewright.passes.fuse import (  # noqa: F401 - registers the passes
    centre_variances,
    fuse_channel_shuffle,
    fuse_clip,
    fuse_fully_connected,
    fuse_hard_swish,
    fuse_mean,
    fuse_norm,
    fuse_pad,
    fuse_prelu,
    fuse_softmax,
)
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.htp import (  # noqa: F401 - registers the passes
    append_channels,
    arrange_norms,
    bound_masks,
    cast_bytes,
    compare_to_zero,
    complete_norms,
    compute_in_floats,
    convert_around_moves,
    convolve_folded_rows,
    double_single_inputs,
    expand_blocks,
    filter_pools,
    fit_biases,
    flatten_norms,
    flatten_rows,
    gather_integers,
    give_wanted_encodings,
    grow_filters,
    keep_clamps,
    lower_ranks,
    mirror_edges,
    move_softmax_axis,
    multiply_powers,
    multiply_small_pools,
    pad_ceil_windows,
    raise_faint_channels,
    raise_small_scales,
    replace_biased_matmul,
    replace_reciprocals,
    separate_activations,
    separate_gates,
    spell_hard_swish,
    spell_softplus,
    split_transposes,
    unify_signs,
    unroll_recurrent,
    widen_conv_1d,
    wrap_indices,
    write_neurons,
)
from edgewright.passes.layout import absorb_transposes, assign_layout, narrow_transposes  # noqa: F401
from edgewright.passes.target import narrow_int64, promote_scalars, resolve_symbols  # noqa: F401

# What every conversion needs; `--no_simplification` does not switch it off.
ALWAYS = ("drop_empty_parts", "drop_dead_code")
# Optional rewrites.
SIMPLIFY = (
    "drop_empty_parts",
    "drop_dead_code",
    "fold_constants",
    "merge_casts",
    "merge_moves",
    "drop_identity",
    "keep_reduced_axes",
    "fuse_clip",
    "fuse_prelu",
    "fuse_hard_sigmoid",
    "fuse_hard_swish",
    "fuse_softmax",
    "fuse_mean",
    "fuse_scaled_sums",
    "centre_variances",
    "fuse_norm",
    "fuse_norm_weights",
    "fuse_channel_shuffle",
    "fuse_fully_connected",
    "drop_dead_code",
)
# Spatial ops meet without transposes between them.
LAYOUT = (
    "merge_moves",
    "drop_identity",
    "narrow_transposes",
    "merge_moves",
    "drop_identity",
    "assign_layout",
    "merge_moves",
    "drop_identity",
    "transpose_to_reshape",
    "merge_moves",
    "drop_identity",
    "fold_moved_weights",
    "absorb_transposes",
    "drop_dead_code",
)
# Batch norms go into the weights before them even where nothing is simplified: they have their own option.
FOLD = ("fold_batchnorm", "drop_dead_code")
# Optional rewrites of what the layout has brought together.
FINISH = ("fuse_pad", "fold_biases", "fold_channels", "fold_batchnorm", "fold_channels", "drop_dead_code")
# What makes a quantized graph of a model that was quantized before.
QUANTIZED = ("absorb_encodings", "drop_dead_code")
# What the legacy converters change besides: QNN's backends compute with 32-bit integers.
LEGACY = ("narrow_int64",)
# What QNN artifacts cannot hold.
TARGET = ("resolve_symbols", "promote_scalars", "take_source_names")
# What a model is given before it is quantized for HTP, which has no endless masks.
FOR_HTP = ("bound_masks",)
# Recurrent layers in ops that HTP has; it has none of its own.
UNROLL = ("unroll_recurrent", "merge_moves", "drop_identity", "drop_dead_code")
# What HTP asks for besides: run on a copy, right before a graph is compiled for it.
HTP = (
    "unroll_recurrent",
    "narrow_int64",
    "promote_scalars",
    "unify_signs",
    "cast_bytes",
    "compute_in_floats",
    "gather_integers",
    "compare_to_zero",
    "multiply_powers",
    "spell_softplus",
    "write_neurons",
    "replace_reciprocals",
    "complete_norms",
    "arrange_norms",
    "pad_ceil_windows",
    "multiply_small_pools",
    "filter_pools",
    "widen_conv_1d",
    "expand_blocks",
    "grow_filters",
    "raise_small_scales",
    "raise_faint_channels",
    "flatten_norms",
    "mirror_edges",
    "append_channels",
    "replace_biased_matmul",
    "flatten_rows",
    "double_single_inputs",
    "move_softmax_axis",
    "wrap_indices",
    "lower_ranks",
    "spell_hard_swish",
    "split_transposes",
    "merge_moves",
    "convolve_folded_rows",
    "separate_activations",
    "separate_gates",
    "keep_clamps",
    "give_wanted_encodings",
    "convert_around_moves",
    "fit_biases",
)


def run_passes(graph: Graph, names: Sequence[str], *, is_checked: bool = False) -> dict[str, int]:
    """Runs passes by name; returns how much each changed.

    With ``is_checked`` the graph is verified after each one, and the pass that broke it is named.
    """
    changes: dict[str, int] = {}
    for name in names:
        changes[name] = changes.get(name, 0) + PASSES[name](graph)
        if is_checked:
            verify(graph, after=name)
    return changes
