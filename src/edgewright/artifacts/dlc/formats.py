"""Axis formats as the numbers of a DLC, and which layouts of tensors they cannot express."""

from edgewright.lower.qnn_graph import QnnTensor

# Name of the format, and the order that leads to the source's format.
Layout = tuple[str, tuple[int, ...]]

_NOT_SET = -1
# Seen in genuine files; the numbers of other formats are not known, so those are written as not set.
_CODES = {"NCHW": 2, "NHWC": 3}
_NAMES = {code: name for name, code in _CODES.items()}
_TO_SOURCE = (0, 3, 1, 2)


def encode_layout(tensor: QnnTensor) -> tuple[int, int]:
    """The numbers of the tensor's format and of its format in the source model."""
    code = _CODES.get(tensor.axis_format, _NOT_SET)
    if tensor.axis_format == "NHWC" and tensor.permute_order_to_src == _TO_SOURCE:
        return code, _CODES["NCHW"]
    return code, code


def decode_layout(code: int, source_code: int, rank: int) -> Layout:
    """The layout that the numbers stand for."""
    if rank != len(_TO_SOURCE):
        return "ANY", ()
    is_turned = (code, source_code) == (_CODES["NHWC"], _CODES["NCHW"])
    return _NAMES.get(code, "ANY"), _TO_SOURCE if is_turned else ()


def find_lost_layout(tensor: QnnTensor) -> Layout | None:
    """The layout of a tensor where the numbers alone would lose it."""
    layout = (tensor.axis_format, tensor.permute_order_to_src)
    return None if decode_layout(*encode_layout(tensor), len(tensor.dims)) == layout else layout
