/*
 * (c) me
 */
/*
 * qnn-onnx-converter; act_bitwidth=8
 */

#include <cmath>

#include "QnnModel.hpp"
#include "QnnOpDef.h"

// Every node is shown to the backend's validation before it is added.
#define DO_GRAPH_NODE_VALIDATIONS 1

using namespace qnn_wrapper_api;

const __attribute__((visibility("default"))) char* QNN_SDK_VERSION = "qaisw-v2.22.0";

extern "C" {
[[gnu::unused]] static ModelError_t addTensor_x(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_x[] = {1, 4, 4, 3};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "x",
              .type = QNN_TENSOR_TYPE_APP_WRITE,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_FLOAT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 4,
              .dimensions = dimensions_x,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = nullptr, .dataSize = 0}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}};
  VALIDATE(model.addTensor("x", tensor), err);
  return err;
}

[[gnu::unused]] static ModelError_t addTensor_w(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_w[] = {2, 2, 3, 2};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "w",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_FLOAT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 4,
              .dimensions = dimensions_w,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = BINVARSTART(w), .dataSize = BINLEN(w)}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}};
  VALIDATE(model.addTensor("w", tensor), err);
  return err;
}

[[gnu::unused]] static ModelError_t addTensor_b(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_b[] = {2};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "b",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_FLOAT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 1,
              .dimensions = dimensions_b,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = BINVARSTART(b), .dataSize = BINLEN(b)}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}};
  VALIDATE(model.addTensor("b", tensor), err);
  return err;
}

static ModelError_t addNode_conv(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_conv_stride[] = {2};
  static uint32_t data_conv_stride[] = {
    1, 1};
  uint32_t dimensions_conv_pad_amount[] = {2, 2};
  static uint32_t data_conv_pad_amount[] = {
    0, 0, 0, 0};
  uint32_t dimensions_conv_out[] = {1, 3, 3, 2};
  Qnn_Param_t params[] = {
    {.paramType = QNN_PARAMTYPE_TENSOR, .name = "stride", {.tensorParam = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "conv_stride",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_UINT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 1,
              .dimensions = dimensions_conv_stride,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = data_conv_stride, .dataSize = 8}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}}},
    {.paramType = QNN_PARAMTYPE_TENSOR, .name = "pad_amount", {.tensorParam = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "conv_pad_amount",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_UINT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 2,
              .dimensions = dimensions_conv_pad_amount,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = data_conv_pad_amount, .dataSize = 16}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}}},
    {.paramType = QNN_PARAMTYPE_SCALAR, .name = "group", {.scalarParam = {QNN_DATATYPE_UINT_32, {.uint32Value = 1}}}}};
  const char* inputs[] = {
    "x",
    "w",
    "b"};
  Qnn_Tensor_t outputs[] = {
    {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "conv_out",
              .type = QNN_TENSOR_TYPE_NATIVE,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_FLOAT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 4,
              .dimensions = dimensions_conv_out,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = nullptr, .dataSize = 0}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}};
  VALIDATE(model.addNode(QNN_OPCONFIG_VERSION_1, "conv",
                         "qti.aisw", "Conv2d",
                         params, 3,
                         inputs, 3,
                         outputs, 1), err);
  return err;
}

static ModelError_t addNode_relu(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions__575[] = {1, 3, 3, 2};
  Qnn_Param_t params[] = {
    {.paramType = QNN_PARAMTYPE_SCALAR, .name = "operation", {.scalarParam = {QNN_DATATYPE_UINT_32, {.uint32Value = 4}}}}};
  const char* inputs[] = {
    "conv_out"};
  Qnn_Tensor_t outputs[] = {
    {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "_575",
              .type = QNN_TENSOR_TYPE_APP_READ,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_FLOAT_32,
              .quantizeParams = {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
              .rank = 4,
              .dimensions = dimensions__575,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = nullptr, .dataSize = 0}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}};
  VALIDATE(model.addNode(QNN_OPCONFIG_VERSION_1, "relu",
                         "qti.aisw", "ElementWiseNeuron",
                         params, 1,
                         inputs, 1,
                         outputs, 1), err);
  return err;
}


QNN_API
ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backendHandle,
                                    QNN_INTERFACE_VER_TYPE qnnInterface,
                                    Qnn_ContextHandle_t contextHandle,
                                    const GraphConfigInfo_t** graphsConfigInfo,
                                    const uint32_t numGraphsConfigInfo,
                                    GraphInfoPtr_t** graphsInfo,
                                    uint32_t* numGraphsInfo,
                                    bool debug,
                                    QnnLog_Callback_t logCallback,
                                    QnnLog_Level_t maxLogLevel) {
  (void)logCallback;
  (void)maxLogLevel;
  ModelError_t err = MODEL_NO_ERROR;
  QnnModel model;
  const QnnGraph_Config_t** graphConfigs = nullptr;
  VALIDATE(getQnnGraphConfigFromInfo("tiny_conv", graphsConfigInfo, numGraphsConfigInfo, graphConfigs), err);
  VALIDATE(model.initialize(backendHandle, qnnInterface, contextHandle, "tiny_conv", debug,
                            DO_GRAPH_NODE_VALIDATIONS, graphConfigs), err);

  VALIDATE(addTensor_x(model), err);
  VALIDATE(addTensor_w(model), err);
  VALIDATE(addTensor_b(model), err);
  VALIDATE(addNode_conv(model), err);
  VALIDATE(addNode_relu(model), err);

  QnnModel* models[] = {&model};
  VALIDATE(getGraphInfoFromModels(*models, 1, graphsInfo), err);
  *numGraphsInfo = 1;
  return err;
}

QNN_API
ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t** graphsInfo, uint32_t numGraphsInfo) {
  return freeGraphsInfo(graphsInfo, numGraphsInfo);
}

}  // extern "C"
