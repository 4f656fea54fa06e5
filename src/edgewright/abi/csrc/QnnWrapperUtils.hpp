// SPDX-License-Identifier: Apache-2.0
// What a generated model.cpp shares with its caller: error codes, graph records and the symbols of linked weights.
#pragma once

#include <cstdint>

#include "QnnGraph.h"
#include "QnnTypes.h"

namespace qnn_wrapper_api {

typedef enum ModelError {
  MODEL_NO_ERROR = 0,
  MODEL_TENSOR_ERROR = 1,
  MODEL_PARAMS_ERROR = 2,
  MODEL_NODES_ERROR = 3,
  MODEL_GRAPH_ERROR = 4,
  MODEL_CONTEXT_ERROR = 5,
  MODEL_GENERATION_ERROR = 6,
  MODEL_SETUP_ERROR = 7,
  MODEL_INVALID_ARGUMENT_ERROR = 8,
  MODEL_FILE_ERROR = 9,
  MODEL_MEMORY_ALLOCATE_ERROR = 10,
  MODEL_GRAPH_OP_VALIDATION_ERROR = 11,
  MODEL_UNKNOWN_ERROR = 0x7FFFFFFF
} ModelError_t;

// The 48-byte form: updateable tensors joined this struct only after SDK 2.22.
typedef struct GraphInfo {
  Qnn_GraphHandle_t graph;
  char* graphName;
  Qnn_Tensor_t* inputTensors;
  uint32_t numInputTensors;
  Qnn_Tensor_t* outputTensors;
  uint32_t numOutputTensors;
} GraphInfo_t;
typedef GraphInfo_t* GraphInfoPtr_t;

typedef struct GraphConfigInfo {
  char* graphName;
  const QnnGraph_Config_t** graphConfigs;
} GraphConfigInfo_t;

// The name of an error code, for messages; never null.
const char* getModelErrorName(ModelError_t error);

// Prints one line about a failed step to stderr.
void reportModelError(const char* step, ModelError_t error, const char* detail);

// Copies a tensor with its name, dimensions and encodings; the data it points to is shared, not copied.
ModelError_t copyTensor(const Qnn_Tensor_t& source, Qnn_Tensor_t& copy);

// Frees what copyTensor allocated and leaves the tensor empty.
void freeTensor(Qnn_Tensor_t& tensor);

// Frees graph records made by getGraphInfoFromModels and sets *graphsInfo to null.
ModelError_t freeGraphsInfo(GraphInfoPtr_t** graphsInfo, uint32_t numGraphsInfo);

// Finds the configuration of one graph by name; null where none is given.
ModelError_t getQnnGraphConfigFromInfo(const char* graphName,
                                       const GraphConfigInfo_t** graphsConfigInfo,
                                       uint32_t numGraphsConfigInfo,
                                       const QnnGraph_Config_t**& graphConfigs);

}  // namespace qnn_wrapper_api

// Runs a step and returns its error from the calling function.
#define VALIDATE(step, error)                                         \
  do {                                                                \
    error = (step);                                                   \
    if (error != qnn_wrapper_api::MODEL_NO_ERROR) {                   \
      qnn_wrapper_api::reportModelError(#step, error, nullptr);       \
      return error;                                                   \
    }                                                                 \
  } while (0)

// objcopy names the bytes of obj/binary/NAME.raw like this; ## keeps NAME from being expanded as a macro.
#define BINVARSTART(NAME)                                             \
  (__extension__({                                                    \
    extern const uint8_t _binary_obj_binary_##NAME##_raw_start[];     \
    const_cast<void*>(static_cast<const void*>(                       \
        _binary_obj_binary_##NAME##_raw_start));                      \
  }))

#define BINVAREND(NAME)                                               \
  (__extension__({                                                    \
    extern const uint8_t _binary_obj_binary_##NAME##_raw_end[];       \
    const_cast<void*>(static_cast<const void*>(                       \
        _binary_obj_binary_##NAME##_raw_end));                        \
  }))

#define BINLEN(NAME)                                                  \
  (__extension__({                                                    \
    extern const uint8_t _binary_obj_binary_##NAME##_raw_start[];     \
    extern const uint8_t _binary_obj_binary_##NAME##_raw_end[];       \
    static_cast<uint32_t>(_binary_obj_binary_##NAME##_raw_end -       \
                          _binary_obj_binary_##NAME##_raw_start);     \
  }))
