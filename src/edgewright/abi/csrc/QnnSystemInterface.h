// SPDX-License-Identifier: Apache-2.0
// What the System library tells of a context binary: its graphs with their inputs and outputs.
#ifndef EDGEWRIGHT_QNN_SYSTEM_INTERFACE_H
#define EDGEWRIGHT_QNN_SYSTEM_INTERFACE_H

#include "QnnTypes.h"

typedef void* QnnSystemContext_Handle_t;

// Versions 1 to 3 start alike, up to the outputs.
typedef struct {
  const char* graphName;
  uint32_t numGraphInputs;
  Qnn_Tensor_t* graphInputs;
  uint32_t numGraphOutputs;
  Qnn_Tensor_t* graphOutputs;
  uint32_t numUpdateableTensors;
  Qnn_Tensor_t* updateableTensors;
  uint32_t graphBlobInfoSize;
  void* graphBlobInfo;
  uint32_t startOpIndex;
  uint32_t endOpIndex;
} QnnSystemContext_GraphInfoV3_t;

typedef struct {
  uint32_t version;
  union {
    QnnSystemContext_GraphInfoV3_t graphInfoV3;
  };
} QnnSystemContext_GraphInfo_t;

// Versions 1 to 3 start alike, up to the graphs.
typedef struct {
  uint32_t backendId;
  const char* buildId;
  Qnn_Version_t coreApiVersion;
  Qnn_Version_t backendApiVersion;
  const char* socVersion;
  Qnn_Version_t contextBlobVersion;
  uint64_t contextBlobSize;
  uint32_t numContextTensors;
  Qnn_Tensor_t* contextTensors;
  uint32_t numGraphs;
  QnnSystemContext_GraphInfo_t* graphs;
  void* hwInfoBlob;
  uint32_t contextMetadataSize;
  void* contextMetadata;
  uint32_t socModel;
} QnnSystemContext_BinaryInfoV3_t;

typedef struct {
  uint32_t version;
  union {
    QnnSystemContext_BinaryInfoV3_t contextBinaryInfoV3;
  };
} QnnSystemContext_BinaryInfo_t;

typedef Qnn_ErrorHandle_t (*QnnSystemContext_Create_Fn_t)(QnnSystemContext_Handle_t* context);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetBinaryInfo_Fn_t)(QnnSystemContext_Handle_t context,
                                                                 void* binary,
                                                                 uint64_t binarySize,
                                                                 const QnnSystemContext_BinaryInfo_t** info,
                                                                 uint64_t* infoSize);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetMetaData_Fn_t)(QnnSystemContext_Handle_t context,
                                                               const void* binary,
                                                               uint64_t binarySize,
                                                               const QnnSystemContext_BinaryInfo_t** info);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_Free_Fn_t)(QnnSystemContext_Handle_t context);

// The table only grows within one major version; its beginning is what applications call.
typedef struct {
  QnnSystemContext_Create_Fn_t systemContextCreate;
  QnnSystemContext_GetBinaryInfo_Fn_t systemContextGetBinaryInfo;
  QnnSystemContext_GetMetaData_Fn_t systemContextGetMetaData;
  QnnSystemContext_Free_Fn_t systemContextFree;
} QnnSystemInterface_ImplementationV1_t;

typedef struct {
  uint32_t backendId;
  const char* providerName;
  Qnn_Version_t systemApiVersion;
  // Aligned for pointers.
  QnnSystemInterface_ImplementationV1_t v1;
} QnnSystemInterface_t;

typedef Qnn_ErrorHandle_t (*QnnSystemInterface_GetProviders_Fn_t)(const QnnSystemInterface_t*** providers, uint32_t* count);

#endif  // EDGEWRIGHT_QNN_SYSTEM_INTERFACE_H
