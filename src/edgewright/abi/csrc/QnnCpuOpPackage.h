// SPDX-License-Identifier: Apache-2.0
// What the CPU backend hands to an op package: a node with its tensors in memory, and what it takes back.
#ifndef EDGEWRIGHT_QNN_CPU_OP_PACKAGE_H
#define EDGEWRIGHT_QNN_CPU_OP_PACKAGE_H

#include "QnnOpPackage.h"

// Real numbers come as float32, whatever a quantized model stores; other tensors in their own type.
typedef struct {
  Qnn_DataType_t dataType;
  uint32_t rank;
  uint32_t* dimensions;
  void* data;  // null where an optional input is left out
} QnnCpuOpPackage_Tensor_t;

typedef struct {
  Qnn_ParamType_t type;
  const char* name;
  double scalarParam;
  const char* stringParam;  // null unless the scalar is a text
  QnnCpuOpPackage_Tensor_t tensorParam;
} QnnCpuOpPackage_Param_t;

typedef struct {
  const char* name;
  const char* packageName;
  const char* typeName;
  uint32_t numOfParams;
  QnnCpuOpPackage_Param_t* params;
  uint32_t numOfInputs;
  QnnCpuOpPackage_Tensor_t* inputs;
  uint32_t numOfOutputs;
  QnnCpuOpPackage_Tensor_t* outputs;
} QnnCpuOpPackage_Node_t;

typedef struct {
  Qnn_ErrorHandle_t (*opImplFn)(void* userData);
  void* userData;
} QnnCpuOpPackage_OpImpl_t;

#endif  // EDGEWRIGHT_QNN_CPU_OP_PACKAGE_H
