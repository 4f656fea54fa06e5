"""The fields of each op's options as the TFLite schema numbers them."""

from collections.abc import Mapping
from typing import Any

from edgewright.core.flatbuffer import Table

# Name -> slot, kind (of the struct module, or a word below) and default.
Fields = Mapping[str, tuple[int, str, Any]]
TRUTH, INTS, FLOATS, TEXT = "truth", "ints", "floats", "text"

_ACTIVATION: Fields = {"fused_activation_function": (0, "b", 0)}
_CONV: Fields = {
    "padding": (0, "b", 0),
    "stride_w": (1, "i", 0),
    "stride_h": (2, "i", 0),
}
_CONV_2D: Fields = {
    **_CONV,
    "fused_activation_function": (3, "b", 0),
    "dilation_w_factor": (4, "i", 1),
    "dilation_h_factor": (5, "i", 1),
}
_CONV_3D: Fields = {
    "padding": (0, "b", 0),
    "stride_d": (1, "i", 0),
    "stride_w": (2, "i", 0),
    "stride_h": (3, "i", 0),
    "fused_activation_function": (4, "b", 0),
    "dilation_d_factor": (5, "i", 1),
    "dilation_w_factor": (6, "i", 1),
    "dilation_h_factor": (7, "i", 1),
}
_POOL: Fields = {
    **_CONV,
    "filter_width": (3, "i", 0),
    "filter_height": (4, "i", 0),
    "fused_activation_function": (5, "b", 0),
}
_REDUCE: Fields = {"keep_dims": (0, TRUTH, False)}
_BLOCKS: Fields = {"block_size": (0, "i", 0)}
_PARTS: Fields = {"num_splits": (0, "i", 0)}
_RESULT: Fields = {"output_type": (0, "b", 0)}
_AXIS: Fields = {"axis": (0, "i", 0)}
_LSTM: Fields = {**_ACTIVATION, "cell_clip": (1, "f", 0.0), "proj_clip": (2, "f", 0.0)}
_SEQUENCE: Fields = {"time_major": (0, TRUTH, False), "fused_activation_function": (1, "b", 0)}
_SUBGRAPHS: Fields = {"cond_subgraph_index": (0, "i", 0), "body_subgraph_index": (1, "i", 0)}

_OPTIONS: dict[str, Fields] = {
    "CONV_2D": _CONV_2D,
    "DEPTHWISE_CONV_2D": {
        **_CONV,
        "depth_multiplier": (3, "i", 0),
        "fused_activation_function": (4, "b", 0),
        "dilation_w_factor": (5, "i", 1),
        "dilation_h_factor": (6, "i", 1),
    },
    "TRANSPOSE_CONV": {**_CONV, "fused_activation_function": (3, "b", 0)},
    **dict.fromkeys(("CONV_3D", "CONV_3D_TRANSPOSE"), _CONV_3D),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), _POOL),
    **dict.fromkeys(("ADD", "SUB", "MUL", "DIV", "L2_NORMALIZATION"), _ACTIVATION),
    "FULLY_CONNECTED": {
        **_ACTIVATION,
        "weights_format": (1, "b", 0),
        "keep_num_dims": (2, TRUTH, False),
    },
    "SOFTMAX": {"beta": (0, "f", 0.0)},
    "CONCATENATION": {**_AXIS, "fused_activation_function": (1, "b", 0)},
    "LOCAL_RESPONSE_NORMALIZATION": {
        "radius": (0, "i", 0),
        "bias": (1, "f", 0.0),
        "alpha": (2, "f", 0.0),
        "beta": (3, "f", 0.0),
    },
    "SVDF": {"rank": (0, "i", 0), "fused_activation_function": (1, "b", 0)},
    "RNN": _ACTIVATION,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _SEQUENCE,
    "BIDIRECTIONAL_SEQUENCE_RNN": {**_SEQUENCE, "merge_outputs": (2, TRUTH, False)},
    "LSTM": {**_LSTM, "kernel_type": (3, "b", 0)},
    "UNIDIRECTIONAL_SEQUENCE_LSTM": {
        **_LSTM,
        "time_major": (3, TRUTH, False),
        "diagonal_recurrent_tensors": (5, TRUTH, False),
    },
    "BIDIRECTIONAL_SEQUENCE_LSTM": {
        **_LSTM,
        "merge_outputs": (3, TRUTH, False),
        "time_major": (4, TRUTH, True),
    },
    "RESIZE_BILINEAR": {"align_corners": (2, TRUTH, False), "half_pixel_centers": (3, TRUTH, False)},
    "RESIZE_NEAREST_NEIGHBOR": {
        "align_corners": (0, TRUTH, False),
        "half_pixel_centers": (1, TRUTH, False),
    },
    "CALL": {"subgraph": (0, "I", 0)},
    "CALL_ONCE": {"init_subgraph_index": (0, "i", 0)},
    "IF": {"then_subgraph_index": (0, "i", 0), "else_subgraph_index": (1, "i", 0)},
    "WHILE": _SUBGRAPHS,
    "RESHAPE": {"new_shape": (0, INTS, None)},
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"), _BLOCKS),
    "GATHER": {**_AXIS, "batch_dims": (1, "i", 0)},
    **dict.fromkeys(
        ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"), _REDUCE
    ),
    "SQUEEZE": {"squeeze_dims": (0, INTS, None)},
    **dict.fromkeys(("SPLIT", "SPLIT_V"), _PARTS),
    "STRIDED_SLICE": {
        "begin_mask": (0, "i", 0),
        "end_mask": (1, "i", 0),
        "ellipsis_mask": (2, "i", 0),
        "new_axis_mask": (3, "i", 0),
        "shrink_axis_mask": (4, "i", 0),
        "offset": (5, TRUTH, False),
    },
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _RESULT),
    "SHAPE": {"out_type": (0, "b", 0)},
    "FAKE_QUANT": {
        "min": (0, "f", 0.0),
        "max": (1, "f", 0.0),
        "num_bits": (2, "i", 0),
        "narrow_range": (3, TRUTH, False),
    },
    "PACK": {"values_count": (0, "i", 0), "axis": (1, "i", 0)},
    "UNPACK": {"num": (0, "i", 0), "axis": (1, "i", 0)},
    "ONE_HOT": _AXIS,
    "LEAKY_RELU": {"alpha": (0, "f", 0.0)},
    "MIRROR_PAD": {"mode": (0, "b", 0)},
    "REVERSE_SEQUENCE": {"seq_dim": (0, "i", 0), "batch_dim": (1, "i", 0)},
    "BATCH_MATMUL": {"adj_x": (0, TRUTH, False), "adj_y": (1, TRUTH, False)},
    "CUMSUM": {"exclusive": (0, TRUTH, False), "reverse": (1, TRUTH, False)},
    "VAR_HANDLE": {"container": (0, TEXT, ""), "shared_name": (1, TEXT, "")},
    "BUCKETIZE": {"boundaries": (0, FLOATS, None)},
    "GELU": {"approximate": (0, TRUTH, False)},
    "STABLEHLO_COMPOSITE": {"name": (0, TEXT, ""), "decomposition_subgraph_index": (1, "i", 0)},
}


def find_fields(op: str) -> Fields:
    """The fields of an op's options."""
    return _OPTIONS.get(op, {})


def read_options(op: str, table: Table | None) -> dict[str, Any]:
    """The options of one op; defaults where the file leaves them out."""
    fields = find_fields(op)
    if table is None:
        return {name: default for name, (_, _, default) in fields.items()}
    return {name: _read(table, *field) for name, field in fields.items()}


def _read(table: Table, slot: int, kind: str, default: Any) -> Any:
    if kind == TRUTH:
        return table.truth(slot, default=default)
    if kind == TEXT:
        return table.text(slot)
    if kind in {INTS, FLOATS}:
        if not table.has(slot):
            return default
        return tuple(table.numbers(slot, "i4" if kind == INTS else "f4").tolist())
    return table.real(slot, kind, default) if kind == "f" else table.integer(slot, kind, default)
