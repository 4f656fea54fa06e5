// Compiles only if every struct has the published layout of SDK 2.22 on a 64-bit machine.
#include <cstddef>

#include "QnnModel.hpp"
#include "QnnOpDef.h"

using namespace qnn_wrapper_api;

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has another size")
#define AT(type, field, bytes) static_assert(offsetof(type, field) == (bytes), #type "." #field " is elsewhere")

SIZE(Qnn_ScaleOffset_t, 8);
SIZE(Qnn_BwScaleOffset_t, 12);
SIZE(Qnn_AxisScaleOffset_t, 16);
SIZE(Qnn_BwAxisScaleOffset_t, 32);
AT(Qnn_BwAxisScaleOffset_t, scales, 16);
SIZE(Qnn_QuantizeParams_t, 40);
AT(Qnn_QuantizeParams_t, scaleOffsetEncoding, 8);
SIZE(Qnn_ClientBuffer_t, 16);
SIZE(Qnn_SparseParams_t, 12);
SIZE(Qnn_Scalar_t, 16);
AT(Qnn_Scalar_t, uint32Value, 8);

SIZE(Qnn_TensorV1_t, 112);
AT(Qnn_TensorV1_t, id, 0);
AT(Qnn_TensorV1_t, name, 8);
AT(Qnn_TensorV1_t, type, 16);
AT(Qnn_TensorV1_t, dataFormat, 20);
AT(Qnn_TensorV1_t, dataType, 24);
AT(Qnn_TensorV1_t, quantizeParams, 32);
AT(Qnn_TensorV1_t, rank, 72);
AT(Qnn_TensorV1_t, dimensions, 80);
AT(Qnn_TensorV1_t, memType, 88);
AT(Qnn_TensorV1_t, clientBuf, 96);
SIZE(Qnn_TensorV2_t, 136);
AT(Qnn_TensorV2_t, clientBuf, 96);
AT(Qnn_TensorV2_t, isDynamicDimensions, 112);
AT(Qnn_TensorV2_t, sparseParams, 120);
AT(Qnn_TensorV2_t, isProduced, 132);
SIZE(Qnn_Tensor_t, 144);
AT(Qnn_Tensor_t, v2, 8);

SIZE(Qnn_Param_t, 160);
AT(Qnn_Param_t, name, 8);
AT(Qnn_Param_t, scalarParam, 16);
AT(Qnn_Param_t, tensorParam, 16);
SIZE(Qnn_OpConfigV1_t, 72);
SIZE(Qnn_OpConfig_t, 80);

SIZE(QNN_INTERFACE_VER_TYPE, 56 * 8);
AT(QNN_INTERFACE_VER_TYPE, backendValidateOpConfig, 7 * 8);
AT(QNN_INTERFACE_VER_TYPE, graphCreate, 15 * 8);
AT(QNN_INTERFACE_VER_TYPE, graphAddNode, 18 * 8);
AT(QNN_INTERFACE_VER_TYPE, graphFinalize, 19 * 8);
AT(QNN_INTERFACE_VER_TYPE, graphRetrieve, 20 * 8);
AT(QNN_INTERFACE_VER_TYPE, graphExecute, 21 * 8);
AT(QNN_INTERFACE_VER_TYPE, tensorCreateGraphTensor, 24 * 8);
AT(QNN_INTERFACE_VER_TYPE, logCreate, 25 * 8);
AT(QNN_INTERFACE_VER_TYPE, profileCreate, 28 * 8);
AT(QNN_INTERFACE_VER_TYPE, memRegister, 35 * 8);
AT(QNN_INTERFACE_VER_TYPE, deviceGetPlatformInfo, 37 * 8);
AT(QNN_INTERFACE_VER_TYPE, signalCreate, 44 * 8);
AT(QNN_INTERFACE_VER_TYPE, errorGetMessage, 48 * 8);
AT(QNN_INTERFACE_VER_TYPE, contextCreateFromBinaryWithSignal, 55 * 8);
SIZE(QnnInterface_t, 488);
AT(QnnInterface_t, providerName, 8);
AT(QnnInterface_t, apiVersion, 16);
AT(QnnInterface_t, QNN_INTERFACE_VER_NAME, 40);

SIZE(GraphInfo_t, 48);
SIZE(GraphConfigInfo_t, 16);
SIZE(QnnGraph_Config_t, 16);
static_assert(QNN_DATATYPE_UFIXED_POINT_16 == 1046 && QNN_DATATYPE_BOOL_8 == 1288, "codes of data types");
