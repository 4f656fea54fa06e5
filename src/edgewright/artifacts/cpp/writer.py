"""model.cpp: C++ that rebuilds the graph through the QNN interface, a function for each tensor and node."""

from collections.abc import Iterator

import numpy as np

from edgewright.artifacts.blockwise import FACTOR_BITS, count_blocks
from edgewright.artifacts.cpp.literals import (
    choose_array_type,
    write_array_lines,
    write_comment,
    write_real,
    write_scalar,
    write_text,
)
from edgewright.artifacts.description import Description, check_names, check_tensor_type
from edgewright.core.errors import Where
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind

# The layout of structs and function table that the source is written for; loaders read it from the library.
SDK_VERSION = "qaisw-v2.22.0"

_HEAD = """
#include <cmath>

#include "QnnModel.hpp"
#include "QnnOpDef.h"

// Every node is shown to the backend's validation before it is added.
#define DO_GRAPH_NODE_VALIDATIONS 1

using namespace qnn_wrapper_api;

const __attribute__((visibility("default"))) char* QNN_SDK_VERSION = {version};

extern "C" {{
"""

_COMPOSE = """
QNN_API
ModelError_t {prefix}_composeGraphs(Qnn_BackendHandle_t backendHandle,
                                    QNN_INTERFACE_VER_TYPE qnnInterface,
                                    Qnn_ContextHandle_t contextHandle,
                                    const GraphConfigInfo_t** graphsConfigInfo,
                                    const uint32_t numGraphsConfigInfo,
                                    GraphInfoPtr_t** graphsInfo,
                                    uint32_t* numGraphsInfo,
                                    bool debug,
                                    QnnLog_Callback_t logCallback,
                                    QnnLog_Level_t maxLogLevel) {{
  (void)logCallback;
  (void)maxLogLevel;
  ModelError_t err = MODEL_NO_ERROR;
  QnnModel model;
  const QnnGraph_Config_t** graphConfigs = nullptr;
  VALIDATE(getQnnGraphConfigFromInfo({graph}, graphsConfigInfo, numGraphsConfigInfo, graphConfigs), err);
  VALIDATE(model.initialize(backendHandle, qnnInterface, contextHandle, {graph}, debug,
                            DO_GRAPH_NODE_VALIDATIONS, graphConfigs), err);

"""

_FREE = """
  QnnModel* models[] = {{&model}};
  VALIDATE(getGraphInfoFromModels(*models, 1, graphsInfo), err);
  *numGraphsInfo = 1;
  return err;
}}

QNN_API
ModelError_t {prefix}_freeGraphsInfo(GraphInfoPtr_t** graphsInfo, uint32_t numGraphsInfo) {{
  return freeGraphsInfo(graphsInfo, numGraphsInfo);
}}

}}  // extern "C"
"""


def to_chunks(graph: QnnGraph, description: Description) -> Iterator[bytes]:
    """The source, in chunks of one function each."""
    for piece in _write_pieces(graph, description):
        yield piece.encode()


def _write_pieces(graph: QnnGraph, description: Description) -> Iterator[str]:
    check_names(graph)
    if description.copyright_text:
        yield write_comment(description.copyright_text)
    yield write_comment(description.command)
    yield _HEAD.format(version=write_text(SDK_VERSION))
    for tensor in graph.tensors.values():
        if _is_added_alone(tensor):
            yield _write_tensor_function(tensor)
    for node in graph.nodes:
        yield _write_node_function(graph, node, description)
    yield _COMPOSE.format(prefix=description.prefix, graph=write_text(graph.name))
    yield from _write_calls(graph)
    yield _FREE.format(prefix=description.prefix)


def _is_added_alone(tensor: QnnTensor) -> bool:
    # What nodes write is created together with the node.
    return tensor.kind not in {TensorKind.NATIVE, TensorKind.APP_READ}


def _write_calls(graph: QnnGraph) -> Iterator[str]:
    added = [name for name, tensor in graph.tensors.items() if tensor.kind == TensorKind.APP_WRITE]
    for name in added:
        yield f"  VALIDATE(addTensor_{name}(model), err);\n"
    seen = set(added)
    for node in graph.nodes:
        for name in node.inputs:
            if name not in seen and _is_added_alone(graph.tensors[name]):
                seen.add(name)
                yield f"  VALIDATE(addTensor_{name}(model), err);\n"
        yield f"  VALIDATE(addNode_{node.name}(model), err);\n"


def _write_tensor_function(tensor: QnnTensor) -> str:
    buffer = "{.data = nullptr, .dataSize = 0}"
    if tensor.kind == TensorKind.STATIC:
        buffer = f"{{.data = BINVARSTART({tensor.name}), .dataSize = BINLEN({tensor.name})}}"
    # Unused if no node reads the tensor, which needs no warning.
    return (
        f"[[gnu::unused]] static ModelError_t addTensor_{tensor.name}(QnnModel& model) {{\n"
        "  ModelError_t err = MODEL_NO_ERROR;\n"
        f"{_write_locals(tensor)}"
        f"  Qnn_Tensor_t tensor = {_write_tensor(tensor, buffer)};\n"
        f"  VALIDATE(model.addTensor({write_text(tensor.name)}, tensor), err);\n"
        "  return err;\n}\n\n"
    )


def _write_node_function(graph: QnnGraph, node: QnnNode, description: Description) -> str:
    outputs = [graph.tensors[name] for name in node.outputs]
    lines = [
        f"static ModelError_t addNode_{node.name}(QnnModel& model) {{\n  ModelError_t err = MODEL_NO_ERROR;\n"
    ]
    lines += [_write_locals(param) + _write_data(param) for param in node.tensor_params.values()]
    lines += [_write_locals(output) for output in outputs]
    lines.append(_list("Qnn_Param_t", "params", list(_write_params(node))))
    lines.append(_list("const char*", "inputs", [write_text(name) for name in node.inputs]))
    nothing = "{.data = nullptr, .dataSize = 0}"
    lines.append(_list("Qnn_Tensor_t", "outputs", [_write_tensor(output, nothing) for output in outputs]))
    params = len(node.scalar_params) + len(node.tensor_params)
    lines.append(
        f"  VALIDATE(model.addNode(QNN_OPCONFIG_VERSION_1, {write_text(node.name)},\n"
        f"                         {write_text(description.package_of(node))}, {write_text(node.type)},\n"
        f"                         {_write_pointer('params', params)}, {params},\n"
        f"                         {_write_pointer('inputs', len(node.inputs))}, {len(node.inputs)},\n"
        f"                         {_write_pointer('outputs', len(outputs))}, {len(outputs)}), err);\n"
        "  return err;\n}\n\n"
    )
    return "".join(lines)


def _write_params(node: QnnNode) -> Iterator[str]:
    where = Where(op=node.type, node=node.name)
    for name, param in node.tensor_params.items():
        size = 0 if param.data is None else param.data.nbytes
        buffer = f"{{.data = data_{param.name}, .dataSize = {size}}}"
        yield _write_param("QNN_PARAMTYPE_TENSOR", name, f".tensorParam = {_write_tensor(param, buffer)}")
    for name, value in node.scalar_params.items():
        yield _write_param("QNN_PARAMTYPE_SCALAR", name, f".scalarParam = {write_scalar(value, where)}")


def _write_param(kind: str, name: str, value: str) -> str:
    return f"{{.paramType = {kind}, .name = {write_text(name)}, {{{value}}}}}"


def _list(kind: str, name: str, items: list[str]) -> str:
    # C++ has no arrays of length zero; the call passes nullptr instead.
    joined = ",\n    ".join(items)
    return f"  {kind} {name}[] = {{\n    {joined}}};\n" if items else ""


def _write_pointer(name: str, count: int) -> str:
    return name if count else "nullptr"


def _write_locals(tensor: QnnTensor) -> str:
    """The arrays that the initialiser of a tensor points to."""
    lines = ""
    if tensor.dims:
        lines += f"  uint32_t dimensions_{tensor.name}[] = {{{', '.join(map(str, tensor.dims))}}};\n"
    encoding = tensor.encoding
    if encoding is None or encoding.axis is None:
        return lines
    scales = [write_real(scale) for scale in encoding.scales]
    offsets = [str(offset) for offset in encoding.offsets]
    if encoding.block_axis is None and _is_narrow(tensor, encoding):
        lines += _list("float", f"scales_{tensor.name}", scales)
        return lines + _list("int32_t", f"offsets_{tensor.name}", offsets)
    pairs = [
        f"{{.scale = {scale}, .offset = {offset}}}" for scale, offset in zip(scales, offsets, strict=True)
    ]
    lines += _list("Qnn_ScaleOffset_t", f"steps_{tensor.name}", pairs)
    return lines if encoding.block_axis is None else lines + _write_blocks(tensor, encoding)


def _write_blocks(tensor: QnnTensor, encoding: Encoding) -> str:
    """The struct that an encoding of blocks points to, and the factors of the blocks."""
    name = tensor.name
    expansion = (
        f".axis = {encoding.axis}, .scaleOffsets = {_write_pointer(f'steps_{name}', len(encoding.scales))}, "
    )
    expansion += f".numBlocksPerAxis = {count_blocks(tensor)}, .blockScaleBitwidth = {FACTOR_BITS}, "
    expansion += ".blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8, "
    expansion += f"{{.blocksScale8 = {_write_pointer(f'factors_{name}', len(encoding.block_scales))}}}"
    factors = _list("uint8_t", f"factors_{name}", [str(int(factor)) for factor in encoding.block_scales])
    return f"{factors}  Qnn_BlockwiseExpansion_t blocks_{name} = {{{expansion}}};\n"


def _write_data(param: QnnTensor) -> str:
    data: Array = np.empty(0) if param.data is None else param.data
    # Static: a long table must not be on the stack. A single zero stands for an empty one.
    values = list(write_array_lines(data, param.dtype)) or ["0"]
    return _list(f"static {choose_array_type(param.dtype)}", f"data_{param.name}", values)


def _write_tensor(tensor: QnnTensor, buffer: str) -> str:
    check_tensor_type(tensor)
    rank = len(tensor.dims)
    return (
        "{\n"
        "      .version = QNN_TENSOR_VERSION_2,\n"
        "      {.v2 = {.id = 0,\n"
        f"              .name = {write_text(tensor.name)},\n"
        f"              .type = QNN_TENSOR_TYPE_{tensor.kind.name},\n"
        "              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,\n"
        f"              .dataType = QNN_DATATYPE_{tensor.dtype.name},\n"
        f"              .quantizeParams = {_write_encoding(tensor)},\n"
        f"              .rank = {rank},\n"
        f"              .dimensions = {_write_pointer(f'dimensions_{tensor.name}', rank)},\n"
        "              .memType = QNN_TENSORMEMTYPE_RAW,\n"
        f"              {{.clientBuf = {buffer}}},\n"
        "              .isDynamicDimensions = nullptr,\n"
        "              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},\n"
        "              .isProduced = 0}}}"
    )


def _is_narrow(tensor: QnnTensor, encoding: Encoding) -> bool:
    return encoding.bitwidth != tensor.dtype.bits


def _write_encoding(tensor: QnnTensor) -> str:
    encoding = tensor.encoding
    if encoding is None:
        steps = ".scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}"
        return f"{{QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {{{steps}}}}}"
    if encoding.block_axis is not None:
        blocks = f".blockwiseExpansion = &blocks_{tensor.name}"
        return f"{{QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION, {{{blocks}}}}}"
    narrow = _is_narrow(tensor, encoding)
    kind = f"{'BW_' if narrow else ''}{'SCALE_OFFSET' if encoding.axis is None else 'AXIS_SCALE_OFFSET'}"
    steps = _write_steps(tensor.name, encoding, narrow)
    return f"{{QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_{kind}, {{{steps}}}}}"


def _write_steps(name: str, encoding: Encoding, narrow: bool) -> str:
    width = f".bitwidth = {encoding.bitwidth}, " if narrow else ""
    count = len(encoding.scales)
    if encoding.axis is None:
        pair = f".scale = {write_real(encoding.scales[0])}, .offset = {encoding.offsets[0]}"
        return f".{'bwScaleOffset' if narrow else 'scaleOffset'}Encoding = {{{width}{pair}}}"
    if narrow:
        arrays = f".numElements = {count}, .scales = {_write_pointer(f'scales_{name}', count)}, "
        arrays += f".offsets = {_write_pointer(f'offsets_{name}', count)}"
        return f".bwAxisScaleOffsetEncoding = {{{width}.axis = {encoding.axis}, {arrays}}}"
    array = f".numScaleOffsets = {count}, .scaleOffset = {_write_pointer(f'steps_{name}', count)}"
    return f".axisScaleOffsetEncoding = {{.axis = {encoding.axis}, {array}}}"
