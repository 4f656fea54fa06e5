"""The JSON of a context binary as qnn-context-binary-utility writes it: keys and enum names are QNN's."""

from typing import Any

from edgewright.backends.qnn.info import GraphInfo, Version
from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.run.context.info import ContextInfo
from edgewright.targets.soc import Soc, find_soc_by_number

Json = dict[str, Any]


def describe_context(info: ContextInfo) -> Json:
    """The whole document; our own fields are under 'edgewright', which other readers skip."""
    binary = info.binary
    chip = find_chip(binary.soc_model)
    return {
        "info": {
            "backendId": binary.backend_id,
            "buildId": binary.build_id,
            "coreApiVersion": _describe_version(binary.core_version),
            "backendApiVersion": _describe_version(binary.backend_version),
            "socVersion": binary.soc_version,
            "socModel": binary.soc_model,
            "dspArch": binary.dsp_arch,
            "contextBlobVersion": _describe_version(binary.blob_version),
            "contextBlobSize": binary.blob_bytes,
            "numContextTensors": len(binary.context_tensors),
            "contextTensors": [
                _describe_tensor(tensor, index) for index, tensor in enumerate(binary.context_tensors)
            ],
            "numGraphs": len(binary.graphs),
            "graphs": [_describe_graph(graph) for graph in binary.graphs],
        },
        "edgewright": {
            "backend": info.backend,
            "is_genuine": info.is_genuine,
            "soc": "" if chip is None else str(chip),
            "vtcm_mb_of_soc": 0 if chip is None else chip.vtcm_mb,
            "file_bytes": info.bytes,
            **info.settings,
        },
    }


def find_chip(soc_model: int) -> Soc | None:
    """The chip with this number; None where it is unknown or none was named."""
    try:
        return find_soc_by_number(soc_model) if soc_model else None
    except UsageError:
        return None


def _describe_graph(graph: GraphInfo) -> Json:
    entry: Json = {
        "graphName": graph.name,
        "numGraphInputs": len(graph.inputs),
        "graphInputs": [_describe_tensor(tensor, index) for index, tensor in enumerate(graph.inputs)],
        "numGraphOutputs": len(graph.outputs),
        "graphOutputs": [
            _describe_tensor(tensor, index) for index, tensor in enumerate(graph.outputs, len(graph.inputs))
        ],
    }
    blob = {
        "spillFillBufferSize": graph.spill_fill_bytes,
        "vtcmSize": None if graph.vtcm_bytes is None else graph.vtcm_bytes >> 20,
        "optimizationLevel": graph.optimization_level,
        "htpDlbc": graph.is_dlbc,
        "numHvxThreads": graph.hvx_threads,
    }
    if any(value is not None for value in blob.values()):
        entry["graphBlobInfo"] = {"info": {key: value for key, value in blob.items() if value is not None}}
    return {"version": 3, "info": entry}


def _describe_tensor(tensor: QnnTensor, index: int) -> Json:
    return {
        "version": 1,
        "info": {
            "id": index,
            "name": tensor.name,
            "type": f"QNN_TENSOR_TYPE_{tensor.kind.name}",
            "dataFormat": "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER",
            "dataType": f"QNN_DATATYPE_{tensor.dtype.name}",
            "rank": len(tensor.dims),
            "dimensions": list(tensor.dims),
            "quantizeParams": _describe_encoding(tensor.encoding, tensor.dtype),
        },
    }


def _describe_encoding(encoding: Encoding | None, dtype: DType) -> Json:
    if encoding is None:
        return {
            "definition": "QNN_DEFINITION_UNDEFINED",
            "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_UNDEFINED",
        }
    pairs = [{"scale": s, "offset": o} for s, o in zip(encoding.scales, encoding.offsets, strict=True)]
    is_narrow = encoding.bitwidth != dtype.bits
    narrow: Json = {"bitwidth": encoding.bitwidth} if is_narrow else {}
    prefix = "BW_" if is_narrow else ""
    defined: Json = {"definition": "QNN_DEFINITION_DEFINED"}
    if encoding.axis is None:
        key = "bwScaleOffset" if is_narrow else "scaleOffset"
        return defined | {
            "quantizationEncoding": f"QNN_QUANTIZATION_ENCODING_{prefix}SCALE_OFFSET",
            key: narrow | pairs[0],
        }
    key = "bwAxisScaleOffset" if is_narrow else "axisScaleOffset"
    return defined | {
        "quantizationEncoding": f"QNN_QUANTIZATION_ENCODING_{prefix}AXIS_SCALE_OFFSET",
        key: narrow | {"axis": encoding.axis, "numScaleOffsets": len(pairs), "scaleOffsets": pairs},
    }


def _describe_version(version: Version) -> Json:
    return dict(zip(("major", "minor", "patch"), version, strict=True))
