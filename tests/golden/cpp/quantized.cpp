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
  uint32_t dimensions_x[] = {1, 3};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "x",
              .type = QNN_TENSOR_TYPE_APP_WRITE,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_UFIXED_POINT_16,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, {.scaleOffsetEncoding = {.scale = 0.00038818f, .offset = -2778}}},
              .rank = 2,
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
  uint32_t dimensions_w[] = {3, 2};
  Qnn_ScaleOffset_t steps_w[] = {
    {.scale = 0.5f, .offset = 0},
    {.scale = 0.25f, .offset = 0}};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "w",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_SFIXED_POINT_8,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET, {.axisScaleOffsetEncoding = {.axis = 1, .numScaleOffsets = 2, .scaleOffset = steps_w}}},
              .rank = 2,
              .dimensions = dimensions_w,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = BINVARSTART(w), .dataSize = BINLEN(w)}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}};
  VALIDATE(model.addTensor("w", tensor), err);
  return err;
}

[[gnu::unused]] static ModelError_t addTensor_w4(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_w4[] = {2, 2};
  float scales_w4[] = {
    0.5f,
    0.125f};
  int32_t offsets_w4[] = {
    0,
    1};
  Qnn_Tensor_t tensor = {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "w4",
              .type = QNN_TENSOR_TYPE_STATIC,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_SFIXED_POINT_8,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET, {.bwAxisScaleOffsetEncoding = {.bitwidth = 4, .axis = 1, .numElements = 2, .scales = scales_w4, .offsets = offsets_w4}}},
              .rank = 2,
              .dimensions = dimensions_w4,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = BINVARSTART(w4), .dataSize = BINLEN(w4)}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}};
  VALIDATE(model.addTensor("w4", tensor), err);
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
              .dataType = QNN_DATATYPE_SFIXED_POINT_32,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}},
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

static ModelError_t addNode_mm(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_h[] = {1, 2};
  Qnn_Param_t params[] = {
    {.paramType = QNN_PARAMTYPE_SCALAR, .name = "transpose_in0", {.scalarParam = {QNN_DATATYPE_BOOL_8, {.bool8Value = 0}}}}};
  const char* inputs[] = {
    "x",
    "w",
    "b"};
  Qnn_Tensor_t outputs[] = {
    {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "h",
              .type = QNN_TENSOR_TYPE_NATIVE,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_UFIXED_POINT_8,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET, {.bwScaleOffsetEncoding = {.bitwidth = 4, .scale = 0.1f, .offset = -128}}},
              .rank = 2,
              .dimensions = dimensions_h,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = nullptr, .dataSize = 0}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}};
  VALIDATE(model.addNode(QNN_OPCONFIG_VERSION_1, "mm",
                         "qti.aisw", "MatMul",
                         params, 1,
                         inputs, 3,
                         outputs, 1), err);
  return err;
}

static ModelError_t addNode_mm4(QnnModel& model) {
  ModelError_t err = MODEL_NO_ERROR;
  uint32_t dimensions_y[] = {1, 2};
  Qnn_Param_t params[] = {
    {.paramType = QNN_PARAMTYPE_SCALAR, .name = "transpose_in1", {.scalarParam = {QNN_DATATYPE_BOOL_8, {.bool8Value = 1}}}}};
  const char* inputs[] = {
    "h",
    "w4"};
  Qnn_Tensor_t outputs[] = {
    {
      .version = QNN_TENSOR_VERSION_2,
      {.v2 = {.id = 0,
              .name = "y",
              .type = QNN_TENSOR_TYPE_APP_READ,
              .dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER,
              .dataType = QNN_DATATYPE_UFIXED_POINT_8,
              .quantizeParams = {QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, {.scaleOffsetEncoding = {.scale = 0.1f, .offset = -3}}},
              .rank = 2,
              .dimensions = dimensions_y,
              .memType = QNN_TENSORMEMTYPE_RAW,
              {.clientBuf = {.data = nullptr, .dataSize = 0}},
              .isDynamicDimensions = nullptr,
              .sparseParams = {QNN_SPARSE_LAYOUT_UNDEFINED, {.hybridCoo = {0, 0}}},
              .isProduced = 0}}}};
  VALIDATE(model.addNode(QNN_OPCONFIG_VERSION_1, "mm4",
                         "qti.aisw", "MatMul",
                         params, 1,
                         inputs, 2,
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
  VALIDATE(getQnnGraphConfigFromInfo("quantized", graphsConfigInfo, numGraphsConfigInfo, graphConfigs), err);
  VALIDATE(model.initialize(backendHandle, qnnInterface, contextHandle, "quantized", debug,
                            DO_GRAPH_NODE_VALIDATIONS, graphConfigs), err);

  VALIDATE(addTensor_x(model), err);
  VALIDATE(addTensor_w(model), err);
  VALIDATE(addTensor_b(model), err);
  VALIDATE(addNode_mm(model), err);
  VALIDATE(addTensor_w4(model), err);
  VALIDATE(addNode_mm4(model), err);

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
