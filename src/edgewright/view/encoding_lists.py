"""A file of encodings as a picture: a box for each tensor, in groups by name."""

from edgewright.ir.encodings import Encoding
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding
from edgewright.view.records import ViewGraph, ViewNode, ViewTensor


def view_encodings(encodings: EncodingSet) -> ViewGraph:
    """The tensors of the file; nothing is known of what connects them."""
    tensors = {item.name: _view_entry(item) for item in encodings.tensors}
    nodes = tuple(
        ViewNode(item.name, _name_kind(item), (), (item.name,), source=item.name)
        for item in encodings.tensors
    )
    return ViewGraph("encodings", tensors, nodes, (), ())


def _name_kind(item: TensorEncoding) -> str:
    if item.is_param is None:
        return "Encoding"
    return "Parameter" if item.is_param else "Activation"


def _view_entry(item: TensorEncoding) -> ViewTensor:
    if item.is_float:
        return ViewTensor(item.name, f"float{item.bits}", encoding_text="floating point")
    if item.is_wish:
        return ViewTensor(
            item.name, f"ufixed_point_{item.bits}", encoding_text=f"{item.bits} bits, range open"
        )
    is_listed = len(item.scales) > 1
    offsets = item.offsets or (0,) * len(item.scales)
    encoding = Encoding(item.scales, offsets, (item.axis or 0) if is_listed else None, item.bits)
    text = "symmetric" if item.is_symmetric else ""
    return ViewTensor(item.name, f"ufixed_point_{item.bits}", encoding=encoding, encoding_text=text)
