// SPDX-License-Identifier: Apache-2.0
// Copies and frees tensors and graph records, and names errors.
#include "QnnWrapperUtils.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace qnn_wrapper_api {
namespace {

// Duplicates an array; a null source stays null, and failure is told apart by the flag.
template <typename T>
T* duplicate(const T* source, size_t count, bool& failed) {
  if (source == nullptr || count == 0) return nullptr;
  T* copy = static_cast<T*>(std::malloc(count * sizeof(T)));
  if (copy == nullptr) {
    failed = true;
    return nullptr;
  }
  std::memcpy(copy, source, count * sizeof(T));
  return copy;
}

template <typename T>
void release(T*& pointer) {
  std::free(const_cast<void*>(static_cast<const void*>(pointer)));
  pointer = nullptr;
}

void duplicateEncodings(Qnn_QuantizeParams_t& params, bool& failed) {
  if (params.quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET) {
    Qnn_AxisScaleOffset_t& axis = params.axisScaleOffsetEncoding;
    axis.scaleOffset = duplicate(axis.scaleOffset, axis.numScaleOffsets, failed);
  } else if (params.quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET) {
    Qnn_BwAxisScaleOffset_t& axis = params.bwAxisScaleOffsetEncoding;
    axis.scales = duplicate(axis.scales, axis.numElements, failed);
    axis.offsets = duplicate(axis.offsets, axis.numElements, failed);
  }
}

void freeEncodings(Qnn_QuantizeParams_t& params) {
  if (params.quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET) {
    release(params.axisScaleOffsetEncoding.scaleOffset);
  } else if (params.quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET) {
    release(params.bwAxisScaleOffsetEncoding.scales);
    release(params.bwAxisScaleOffsetEncoding.offsets);
  }
}

void freeTensors(Qnn_Tensor_t*& tensors, uint32_t count) {
  for (uint32_t i = 0; tensors != nullptr && i < count; ++i) freeTensor(tensors[i]);
  release(tensors);
}

}  // namespace

const char* getModelErrorName(ModelError_t error) {
  switch (error) {
    case MODEL_NO_ERROR: return "MODEL_NO_ERROR";
    case MODEL_TENSOR_ERROR: return "MODEL_TENSOR_ERROR";
    case MODEL_PARAMS_ERROR: return "MODEL_PARAMS_ERROR";
    case MODEL_NODES_ERROR: return "MODEL_NODES_ERROR";
    case MODEL_GRAPH_ERROR: return "MODEL_GRAPH_ERROR";
    case MODEL_CONTEXT_ERROR: return "MODEL_CONTEXT_ERROR";
    case MODEL_GENERATION_ERROR: return "MODEL_GENERATION_ERROR";
    case MODEL_SETUP_ERROR: return "MODEL_SETUP_ERROR";
    case MODEL_INVALID_ARGUMENT_ERROR: return "MODEL_INVALID_ARGUMENT_ERROR";
    case MODEL_FILE_ERROR: return "MODEL_FILE_ERROR";
    case MODEL_MEMORY_ALLOCATE_ERROR: return "MODEL_MEMORY_ALLOCATE_ERROR";
    case MODEL_GRAPH_OP_VALIDATION_ERROR: return "MODEL_GRAPH_OP_VALIDATION_ERROR";
    case MODEL_UNKNOWN_ERROR: break;
  }
  return "MODEL_UNKNOWN_ERROR";
}

void reportModelError(const char* step, ModelError_t error, const char* detail) {
  const char* separator = detail == nullptr ? "" : ": ";
  std::fprintf(stderr, "[ERROR] %s gave %s%s%s\n", step, getModelErrorName(error), separator, detail ? detail : "");
}

ModelError_t copyTensor(const Qnn_Tensor_t& source, Qnn_Tensor_t& copy) {
  // Versions 1 and 2 share their first fields, so those may be read through v1 for both.
  if (source.version != QNN_TENSOR_VERSION_1 && source.version != QNN_TENSOR_VERSION_2) return MODEL_TENSOR_ERROR;
  if (source.v1.name == nullptr) return MODEL_TENSOR_ERROR;
  bool failed = false;
  copy = source;
  copy.v1.name = duplicate(source.v1.name, std::strlen(source.v1.name) + 1, failed);
  copy.v1.dimensions = duplicate(source.v1.dimensions, source.v1.rank, failed);
  duplicateEncodings(copy.v1.quantizeParams, failed);
  if (source.version == QNN_TENSOR_VERSION_2) {
    copy.v2.isDynamicDimensions = duplicate(source.v2.isDynamicDimensions, source.v2.rank, failed);
  }
  if (!failed) return MODEL_NO_ERROR;
  freeTensor(copy);
  return MODEL_MEMORY_ALLOCATE_ERROR;
}

void freeTensor(Qnn_Tensor_t& tensor) {
  release(tensor.v1.name);
  release(tensor.v1.dimensions);
  freeEncodings(tensor.v1.quantizeParams);
  if (tensor.version == QNN_TENSOR_VERSION_2) release(tensor.v2.isDynamicDimensions);
  std::memset(static_cast<void*>(&tensor), 0, sizeof(tensor));
}

ModelError_t freeGraphsInfo(GraphInfoPtr_t** graphsInfo, uint32_t numGraphsInfo) {
  if (graphsInfo == nullptr || *graphsInfo == nullptr) return MODEL_INVALID_ARGUMENT_ERROR;
  // The records lie in one block behind the first pointer.
  GraphInfo_t* records = (*graphsInfo)[0];
  for (uint32_t i = 0; records != nullptr && i < numGraphsInfo; ++i) {
    release(records[i].graphName);
    freeTensors(records[i].inputTensors, records[i].numInputTensors);
    freeTensors(records[i].outputTensors, records[i].numOutputTensors);
  }
  release(records);
  release(*graphsInfo);
  return MODEL_NO_ERROR;
}

ModelError_t getQnnGraphConfigFromInfo(const char* graphName,
                                       const GraphConfigInfo_t** graphsConfigInfo,
                                       uint32_t numGraphsConfigInfo,
                                       const QnnGraph_Config_t**& graphConfigs) {
  graphConfigs = nullptr;
  if (graphName == nullptr) return MODEL_INVALID_ARGUMENT_ERROR;
  if (graphsConfigInfo == nullptr) return MODEL_NO_ERROR;
  for (uint32_t i = 0; i < numGraphsConfigInfo; ++i) {
    const GraphConfigInfo_t* info = graphsConfigInfo[i];
    if (info == nullptr || info->graphName == nullptr) return MODEL_INVALID_ARGUMENT_ERROR;
    if (std::strcmp(info->graphName, graphName) == 0) graphConfigs = info->graphConfigs;
  }
  return MODEL_NO_ERROR;
}

}  // namespace qnn_wrapper_api
