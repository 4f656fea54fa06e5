// SPDX-License-Identifier: Apache-2.0
// The interface of an op package (version 1.4), written from the published layout of its structs.
#ifndef EDGEWRIGHT_QNN_OP_PACKAGE_H
#define EDGEWRIGHT_QNN_OP_PACKAGE_H

#include "QnnLog.h"
#include "QnnTypes.h"

#define QNN_OP_PACKAGE_API_VERSION_MAJOR 1
#define QNN_OP_PACKAGE_API_VERSION_MINOR 4
#define QNN_OP_PACKAGE_API_VERSION_PATCH 0

#define QNN_OP_PACKAGE_NO_ERROR 0
#define QNN_OP_PACKAGE_ERROR_GENERAL 8000
#define QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE 8001
#define QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED 8002
#define QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED 8003
#define QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE 8004
#define QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT 8005
#define QNN_OP_PACKAGE_ERROR_INVALID_INFO 8006

// What these point to belongs to each backend.
typedef void* QnnOpPackage_GlobalInfrastructure_t;
typedef void* QnnOpPackage_GraphInfrastructure_t;
typedef void* QnnOpPackage_Node_t;
typedef void* QnnOpPackage_OpImpl_t;

typedef struct {
  const char* packageName;
  const char** operationNames;
  const void* operationInfo;
  uint32_t numOperations;
  const void* optimizations;
  uint32_t numOptimizations;
  const char* sdkBuildId;
  const Qnn_ApiVersion_t* sdkApiVersion;
  const void* packageInfo;
  const Qnn_Version_t* opsetVersion;
  size_t reserved[7];
} QnnOpPackage_Info_t;

typedef struct {
  Qnn_ErrorHandle_t (*init)(QnnOpPackage_GlobalInfrastructure_t infrastructure);
  Qnn_ErrorHandle_t (*terminate)();
  Qnn_ErrorHandle_t (*getInfo)(const QnnOpPackage_Info_t** info);
  Qnn_ErrorHandle_t (*validateOpConfig)(Qnn_OpConfig_t opConfig);
  Qnn_ErrorHandle_t (*createOpImpl)(QnnOpPackage_GraphInfrastructure_t graphInfrastructure,
                                    QnnOpPackage_Node_t node,
                                    QnnOpPackage_OpImpl_t* opImpl);
  Qnn_ErrorHandle_t (*freeOpImpl)(QnnOpPackage_OpImpl_t opImpl);
  Qnn_ErrorHandle_t (*logInitialize)(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel);
  Qnn_ErrorHandle_t (*logSetLevel)(QnnLog_Level_t maxLogLevel);
  Qnn_ErrorHandle_t (*logTerminate)();
} QnnOpPackage_ImplementationV1_4_t;

typedef struct {
  Qnn_Version_t interfaceVersion;
  union {
    QnnOpPackage_ImplementationV1_4_t v1_4;
  };
} QnnOpPackage_Interface_t;

// The type of the function that a package exports as <PackageName>InterfaceProvider.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_InterfaceProvider_t)(QnnOpPackage_Interface_t* interface);

#endif  // EDGEWRIGHT_QNN_OP_PACKAGE_H
