"""Records to the JSON description of a model: keys and codes as in files of the genuine converters."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from edgewright.artifacts.blockwise import BLOCKWISE_EXPANSION, FACTOR_BITS, count_blocks
from edgewright.artifacts.description import Description, check_names, check_scalar_type, check_tensor_type
from edgewright.core.errors import Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

UNDEFINED = 0x7FFFFFFF
DEFINED = 1
_MEGABYTE = 1 << 20
Json = dict[str, Any]


def to_chunks(graph: QnnGraph, description: Description) -> Iterator[bytes]:
    """The file, one chunk for each tensor and node, each on its own line."""
    check_names(graph)
    weights = _count_elements(graph.of_kind(TensorKind.STATIC))
    yield b"{\n"
    for key, value in _describe_head(graph, description, weights).items():
        yield f" {json.dumps(key)}: {json.dumps(value)},\n".encode()
    yield b' "graph": {\n  "tensors": {\n'
    yield from _write_lines(_describe_tensors(graph, weights))
    yield b'  },\n  "nodes": {\n'
    yield from _write_lines(_describe_nodes(graph, description))
    yield b"  }\n }\n}\n"


def _describe_head(graph: QnnGraph, description: Description, weights: int) -> Json:
    return {
        "model.cpp": description.cpp_name,
        "model.bin": description.bin_name,
        "converter_command": description.command,
        "copyright_str": description.copyright_text,
        "op_types": sorted({node.type for node in graph.nodes}),
        "Total parameters": f"{weights} ({weights * 4 // _MEGABYTE} MB assuming single precision float)",
        "Total MACs per inference": _with_suffix(sum(node.macs for node in graph.nodes)),
        # Ours; other readers skip it.
        "edgewright": {
            "graph_name": graph.name,
            "source_names": graph.source_names,
            # Netron refuses tensors of this kind, but opens a file in which they are only named.
            "absent_inputs": [tensor.name for tensor in graph.of_kind(TensorKind.NULL)],
            **({"forms": graph.forms} if graph.forms else {}),
            **({"gone": graph.gone} if graph.gone else {}),
        },
    }


def _write_lines(entries: Iterable[tuple[str, Json]]) -> Iterator[bytes]:
    separator = ""
    for name, entry in entries:
        yield f"{separator}   {json.dumps(name)}: {json.dumps(entry, allow_nan=False)}".encode()
        separator = ",\n"
    yield b"\n"


def _describe_tensors(graph: QnnGraph, weights: int) -> Iterator[tuple[str, Json]]:
    ids = _assign_ids(graph)
    for tensor in graph.tensors.values():
        if tensor.kind == TensorKind.NULL:
            continue
        entry = _describe_tensor(tensor, ids[tensor.name])
        if tensor.kind == TensorKind.STATIC:
            count = math.prod(tensor.dims)
            entry["params_count"] = f"{count} ({_format_percent(count, weights)})"
        yield tensor.name, entry


def _describe_nodes(graph: QnnGraph, description: Description) -> Iterator[tuple[str, Json]]:
    ids = _assign_ids(graph)
    macs = sum(node.macs for node in graph.nodes)
    for node in graph.nodes:
        package = description.package_of(node)
        yield (
            node.name,
            {
                "package": package,
                "type": node.type,
                "tensor_params": {
                    key: {
                        param.name: _describe_tensor(param, ids[param.name]) | {"data": _describe_data(param)}
                    }
                    for key, param in node.tensor_params.items()
                },
                "scalar_params": {
                    key: _describe_scalar(node, key, value) for key, value in node.scalar_params.items()
                }
                | {"packageName": {str(int(DType.STRING)): package}},
                "input_names": list(node.inputs),
                "output_names": list(node.outputs),
                "macs_per_inference": f"{node.macs} ({_format_percent(node.macs, macs)})"
                if node.macs
                else "",
            },
        )


def _assign_ids(graph: QnnGraph) -> dict[str, int]:
    """Ids count parameter tensors too, in the order in which a model library creates them."""
    names = list(graph.tensors)
    names += [param.name for node in graph.nodes for param in node.tensor_params.values()]
    return {name: number for number, name in enumerate(names, start=1)}


def _describe_tensor(tensor: QnnTensor, number: int) -> Json:
    check_tensor_type(tensor)
    plain = DType.FLOAT_32 if tensor.dtype.is_fixed_point else tensor.dtype
    return {
        "id": number,
        "type": int(tensor.kind),
        "dataFormat": 0,
        "data_type": int(tensor.dtype),
        "unquantized_data_type": int(plain),
        "src_axis_format": _find_source_format(tensor),
        "axis_format": tensor.axis_format,
        "permute_order_to_src": list(tensor.permute_order_to_src),
        "quant_params": _describe_blocks(tensor)
        if tensor.encoding is not None and tensor.encoding.block_axis is not None
        else _describe_encoding(tensor.encoding, tensor.dtype),
        "dims": list(tensor.dims),
        "is_dynamic_dims": [],
        "is_quantizable": tensor.dtype.is_float or tensor.dtype.is_fixed_point,
        "is_updateable": False,
    }


def _find_source_format(tensor: QnnTensor) -> str:
    order = tensor.permute_order_to_src
    if len(order) != len(tensor.axis_format):
        return tensor.axis_format
    return "".join(tensor.axis_format[axis] for axis in order)


def _describe_encoding(encoding: Encoding | None, dtype: DType) -> Json:
    if encoding is None:
        nothing = {"scale": 0.0, "offset": 0}
        return {"definition": UNDEFINED, "encoding": UNDEFINED, "scale_offset": nothing}
    steps = [
        _scale_offset(encoding, dtype, scale, offset)
        for scale, offset in zip(encoding.scales, encoding.offsets, strict=True)
    ]
    # Encodings 2 and 3 are 0 and 1 for values that use fewer bits than their container has.
    narrow = 2 if encoding.bitwidth != dtype.bits else 0
    head = {"definition": DEFINED, "encoding": narrow + (encoding.axis is not None), "is_overridden": False}
    if encoding.axis is None:
        return head | {"scale_offset": steps[0]}
    axis = {"axis": encoding.axis, "num_scale_offsets": len(steps), "scale_offsets": steps}
    return head | {"axis_scale_offset": axis}


def _describe_blocks(tensor: QnnTensor) -> Json:
    """In the words of QNN's struct: its converters write no such encoding into this file."""
    encoding = tensor.encoding
    assert encoding is not None
    channels = _describe_encoding(replace(encoding, block_axis=None), tensor.dtype)["axis_scale_offset"]
    blocks = {
        "num_blocks_per_axis": count_blocks(tensor),
        "block_scale_bitwidth": FACTOR_BITS,
        "blocks_scale8": [int(factor) for factor in encoding.block_scales],
    }
    head = {"definition": DEFINED, "encoding": BLOCKWISE_EXPANSION, "is_overridden": False}
    return head | {"blockwise_expansion": channels | blocks}


def _scale_offset(encoding: Encoding, dtype: DType, scale: float, offset: int) -> Json:
    low, high = encoding.limits(dtype)
    middle = 0 if dtype.is_signed else -(1 << (encoding.bitwidth - 1))
    return {
        "bitwidth": encoding.bitwidth,
        "minimum": _spell_number(scale * (low + offset)),
        "maximum": _spell_number(scale * (high + offset)),
        "scale": _spell_number(scale),
        "offset": offset,
        "is_symmetric": offset == middle,
        "is_fixed_point": True,
    }


def _describe_scalar(node: QnnNode, name: str, scalar: QnnScalar) -> Json:
    check_scalar_type(name, scalar, Where(op=node.type, node=node.name))
    value = int(scalar.value) if isinstance(scalar.value, bool) else scalar.value
    return {str(int(scalar.dtype)): _spell_number(value)}


def _describe_data(tensor: QnnTensor) -> Any:
    data: Array | None = tensor.data
    assert data is not None, "a tensor parameter has data"
    if data.dtype.kind == "V":
        data = data.astype("float32")  # Python has no number for bfloat16; float32 holds it exactly
    elif data.dtype.kind == "b":
        data = data.astype("uint8")
    # Netron flattens the value, so a scalar is in a list too.
    listed = data.tolist() if data.ndim else [data.item()]
    return _spell_number(listed)


def _spell_number(value: Any) -> Any:
    """JSON has no infinities and not-a-number, so they become strings."""
    if isinstance(value, list):
        return [_spell_number(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _count_elements(tensors: Iterable[QnnTensor]) -> int:
    return sum(math.prod(tensor.dims) for tensor in tensors)


def _format_percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g}%" if whole else "0%"


def _with_suffix(count: int) -> str:
    for limit, suffix in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        if count >= limit:
            return f"{count / limit:.4g}{suffix}"
    return str(count)
