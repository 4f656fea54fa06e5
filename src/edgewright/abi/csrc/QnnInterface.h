// SPDX-License-Identifier: Apache-2.0
// The function table of a QNN backend as SDK 2.22 lays it out: 56 pointers, QnnInterface_t of 488 bytes.
#ifndef EDGEWRIGHT_QNN_INTERFACE_H
#define EDGEWRIGHT_QNN_INTERFACE_H

#include "QnnGraph.h"
#include "QnnLog.h"
#include "QnnTypes.h"

#define QNN_API_VERSION_MAJOR 2
#define QNN_API_VERSION_MINOR 15
#define QNN_API_VERSION_PATCH 0

// Entries that neither a model library nor a plain application calls keep their place without a signature.
typedef void (*QnnInterface_Uncalled_Fn_t)(void);

// Configurations are arrays of pointers that end with NULL; NULL itself asks for the defaults.
typedef Qnn_ErrorHandle_t (*QnnBackend_Create_Fn_t)(Qnn_LogHandle_t logger,
                                                    const void** config,
                                                    Qnn_BackendHandle_t* backend);
typedef Qnn_ErrorHandle_t (*QnnBackend_Free_Fn_t)(Qnn_BackendHandle_t backend);
typedef Qnn_ErrorHandle_t (*QnnBackend_GetBuildId_Fn_t)(const char** id);
typedef Qnn_ErrorHandle_t (*QnnBackend_RegisterOpPackage_Fn_t)(Qnn_BackendHandle_t backend,
                                                               const char* packagePath,
                                                               const char* interfaceProvider,
                                                               const char* target);
typedef Qnn_ErrorHandle_t (*QnnDevice_Create_Fn_t)(Qnn_LogHandle_t logger,
                                                   const void** config,
                                                   Qnn_DeviceHandle_t* device);
typedef Qnn_ErrorHandle_t (*QnnDevice_Free_Fn_t)(Qnn_DeviceHandle_t device);
typedef Qnn_ErrorHandle_t (*QnnContext_Create_Fn_t)(Qnn_BackendHandle_t backend,
                                                    Qnn_DeviceHandle_t device,
                                                    const void** config,
                                                    Qnn_ContextHandle_t* context);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySize_Fn_t)(Qnn_ContextHandle_t context, uint64_t* binarySize);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinary_Fn_t)(Qnn_ContextHandle_t context,
                                                       void* binary,
                                                       uint64_t binarySize,
                                                       uint64_t* writtenSize);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinary_Fn_t)(Qnn_BackendHandle_t backend,
                                                              Qnn_DeviceHandle_t device,
                                                              const void** config,
                                                              const void* binary,
                                                              uint64_t binarySize,
                                                              Qnn_ContextHandle_t* context,
                                                              Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnContext_Free_Fn_t)(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnBackend_ValidateOpConfig_Fn_t)(Qnn_BackendHandle_t backend, Qnn_OpConfig_t opConfig);
typedef Qnn_ErrorHandle_t (*QnnGraph_Create_Fn_t)(Qnn_ContextHandle_t context,
                                                  const char* graphName,
                                                  const QnnGraph_Config_t** config,
                                                  Qnn_GraphHandle_t* graph);
typedef Qnn_ErrorHandle_t (*QnnGraph_AddNode_Fn_t)(Qnn_GraphHandle_t graph, Qnn_OpConfig_t opConfig);
typedef Qnn_ErrorHandle_t (*QnnGraph_Finalize_Fn_t)(Qnn_GraphHandle_t graph,
                                                    Qnn_ProfileHandle_t profile,
                                                    Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnGraph_Retrieve_Fn_t)(Qnn_ContextHandle_t context,
                                                    const char* graphName,
                                                    Qnn_GraphHandle_t* graph);
typedef Qnn_ErrorHandle_t (*QnnGraph_Execute_Fn_t)(Qnn_GraphHandle_t graph,
                                                   const Qnn_Tensor_t* inputs,
                                                   uint32_t numInputs,
                                                   Qnn_Tensor_t* outputs,
                                                   uint32_t numOutputs,
                                                   Qnn_ProfileHandle_t profile,
                                                   Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnTensor_CreateGraphTensor_Fn_t)(Qnn_GraphHandle_t graph, Qnn_Tensor_t* tensor);
typedef Qnn_ErrorHandle_t (*QnnError_GetMessage_Fn_t)(Qnn_ErrorHandle_t error, const char** message);

typedef struct {
  QnnInterface_Uncalled_Fn_t propertyHasCapability;
  QnnBackend_Create_Fn_t backendCreate;
  QnnInterface_Uncalled_Fn_t backendSetConfig;
  QnnInterface_Uncalled_Fn_t backendGetApiVersion;
  QnnBackend_GetBuildId_Fn_t backendGetBuildId;
  QnnBackend_RegisterOpPackage_Fn_t backendRegisterOpPackage;
  QnnInterface_Uncalled_Fn_t backendGetSupportedOperations;
  QnnBackend_ValidateOpConfig_Fn_t backendValidateOpConfig;
  QnnBackend_Free_Fn_t backendFree;
  QnnContext_Create_Fn_t contextCreate;
  QnnInterface_Uncalled_Fn_t contextSetConfig;
  QnnContext_GetBinarySize_Fn_t contextGetBinarySize;
  QnnContext_GetBinary_Fn_t contextGetBinary;
  QnnContext_CreateFromBinary_Fn_t contextCreateFromBinary;
  QnnContext_Free_Fn_t contextFree;
  QnnGraph_Create_Fn_t graphCreate;
  QnnInterface_Uncalled_Fn_t graphCreateSubgraph;
  QnnInterface_Uncalled_Fn_t graphSetConfig;
  QnnGraph_AddNode_Fn_t graphAddNode;
  QnnGraph_Finalize_Fn_t graphFinalize;
  QnnGraph_Retrieve_Fn_t graphRetrieve;
  QnnGraph_Execute_Fn_t graphExecute;
  QnnInterface_Uncalled_Fn_t graphExecuteAsync;
  QnnInterface_Uncalled_Fn_t tensorCreateContextTensor;
  QnnTensor_CreateGraphTensor_Fn_t tensorCreateGraphTensor;
  QnnInterface_Uncalled_Fn_t logCreate;
  QnnInterface_Uncalled_Fn_t logSetLogLevel;
  QnnInterface_Uncalled_Fn_t logFree;
  QnnInterface_Uncalled_Fn_t profileCreate;
  QnnInterface_Uncalled_Fn_t profileSetConfig;
  QnnInterface_Uncalled_Fn_t profileGetEvents;
  QnnInterface_Uncalled_Fn_t profileGetSubEvents;
  QnnInterface_Uncalled_Fn_t profileGetEventData;
  QnnInterface_Uncalled_Fn_t profileGetExtendedEventData;
  QnnInterface_Uncalled_Fn_t profileFree;
  QnnInterface_Uncalled_Fn_t memRegister;
  QnnInterface_Uncalled_Fn_t memDeRegister;
  QnnInterface_Uncalled_Fn_t deviceGetPlatformInfo;
  QnnInterface_Uncalled_Fn_t deviceFreePlatformInfo;
  QnnInterface_Uncalled_Fn_t deviceGetInfrastructure;
  QnnDevice_Create_Fn_t deviceCreate;
  QnnInterface_Uncalled_Fn_t deviceSetConfig;
  QnnInterface_Uncalled_Fn_t deviceGetInfo;
  QnnDevice_Free_Fn_t deviceFree;
  QnnInterface_Uncalled_Fn_t signalCreate;
  QnnInterface_Uncalled_Fn_t signalSetConfig;
  QnnInterface_Uncalled_Fn_t signalTrigger;
  QnnInterface_Uncalled_Fn_t signalFree;
  QnnError_GetMessage_Fn_t errorGetMessage;
  QnnInterface_Uncalled_Fn_t errorGetVerboseMessage;
  QnnInterface_Uncalled_Fn_t errorFreeVerboseMessage;
  QnnInterface_Uncalled_Fn_t graphPrepareExecutionEnvironment;
  QnnInterface_Uncalled_Fn_t graphReleaseExecutionEnvironment;
  QnnInterface_Uncalled_Fn_t graphGetProperty;
  QnnInterface_Uncalled_Fn_t contextValidateBinary;
  QnnInterface_Uncalled_Fn_t contextCreateFromBinaryWithSignal;
} QnnInterface_ImplementationV2_15_t;

#define QNN_INTERFACE_VER_TYPE QnnInterface_ImplementationV2_15_t
#define QNN_INTERFACE_VER_NAME v2_15

typedef struct {
  uint32_t backendId;
  const char* providerName;
  Qnn_ApiVersion_t apiVersion;
  union {
    QnnInterface_ImplementationV2_15_t v2_15;
  };
} QnnInterface_t;

// The type of QnnInterface_getProviders, which every backend library exports.
typedef Qnn_ErrorHandle_t (*QnnInterface_GetProviders_Fn_t)(const QnnInterface_t*** providers, uint32_t* count);

#endif  // EDGEWRIGHT_QNN_INTERFACE_H
