// SPDX-License-Identifier: Apache-2.0
// What a converter asks a library of custom ops: the shapes and data types of an op's outputs.
#ifndef EDGEWRIGHT_CONVERTER_OP_PACKAGE_H
#define EDGEWRIGHT_CONVERTER_OP_PACKAGE_H

#include "QnnCpuOpPackage.h"

#define CONVERTER_LARGEST_RANK 8

typedef struct {
  Qnn_DataType_t dataType;
  uint32_t rank;
  uint32_t dimensions[CONVERTER_LARGEST_RANK];
} ConverterOpPackage_Output_t;

// Exported as ConverterOpPackage_inferOutputs: fills the outputs of a node whose inputs have no data.
typedef Qnn_ErrorHandle_t (*ConverterOpPackage_InferOutputs_t)(const QnnCpuOpPackage_Node_t* node,
                                                               ConverterOpPackage_Output_t* outputs,
                                                               uint32_t numOfOutputs);

#endif  // EDGEWRIGHT_CONVERTER_OP_PACKAGE_H
