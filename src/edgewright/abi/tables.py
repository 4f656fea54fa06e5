"""The function tables of QNN's providers: the order of the functions and their arguments."""

from __future__ import annotations

from ctypes import POINTER, c_char_p, c_void_p
from ctypes import c_uint32 as u32
from ctypes import c_uint64 as u64

from edgewright.abi.structs import Config, EventData, OpConfig, OperationName, Tensor
from edgewright.abi.system_structs import BinaryInfo

# Defined as in typing, without importing it: a process that only composes must start fast.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BACKEND_TABLE: tuple[str, ...] = (
    "propertyHasCapability",
    "backendCreate",
    "backendSetConfig",
    "backendGetApiVersion",
    "backendGetBuildId",
    "backendRegisterOpPackage",
    "backendGetSupportedOperations",
    "backendValidateOpConfig",
    "backendFree",
    "contextCreate",
    "contextSetConfig",
    "contextGetBinarySize",
    "contextGetBinary",
    "contextCreateFromBinary",
    "contextFree",
    "graphCreate",
    "graphCreateSubgraph",
    "graphSetConfig",
    "graphAddNode",
    "graphFinalize",
    "graphRetrieve",
    "graphExecute",
    "graphExecuteAsync",
    "tensorCreateContextTensor",
    "tensorCreateGraphTensor",
    "logCreate",
    "logSetLogLevel",
    "logFree",
    "profileCreate",
    "profileSetConfig",
    "profileGetEvents",
    "profileGetSubEvents",
    "profileGetEventData",
    "profileGetExtendedEventData",
    "profileFree",
    "memRegister",
    "memDeRegister",
    "deviceGetPlatformInfo",
    "deviceFreePlatformInfo",
    "deviceGetInfrastructure",
    "deviceCreate",
    "deviceSetConfig",
    "deviceGetInfo",
    "deviceFree",
    "signalCreate",
    "signalSetConfig",
    "signalTrigger",
    "signalFree",
    "errorGetMessage",
    "errorGetVerboseMessage",
    "errorFreeVerboseMessage",
    "graphPrepareExecutionEnvironment",
    "graphReleaseExecutionEnvironment",
    "graphGetProperty",
    "contextValidateBinary",
    "contextCreateFromBinaryWithSignal",
    "contextCreateFromBinaryListAsync",
    "tensorUpdateGraphTensors",
    "tensorUpdateContextTensors",
    "contextGetBinarySectionSize",
    "contextGetBinarySection",
    "contextApplyBinarySection",
    "backendGetProperty",
    "contextGetProperty",
    "contextGetIncrementalBinary",
    "contextReleaseIncrementalBinary",
    "contextFinalize",
    "globalConfigSet",
    "contextCreateFromBinaryWithCallback",
)
SYSTEM_TABLE: tuple[str, ...] = (
    "systemContextCreate",
    "systemContextGetBinaryInfo",
    "systemContextGetMetaData",
    "systemContextFree",
    "systemTensorGetMemoryFootprint",
    "systemLogCreate",
    "systemLogSetLogLevel",
    "systemLogFree",
    "systemDlcCreateFromFile",
    "systemDlcCreateFromBinary",
    "systemDlcComposeGraphs",
    "systemDlcGetOpMappings",
    "systemDlcFree",
)
_HANDLE = c_void_p
_HANDLES = POINTER(c_void_p)
_CONFIGS = POINTER(POINTER(Config))
_EVENTS = (POINTER(POINTER(u64)), POINTER(u32))

# Arguments of the functions that are called; every one returns a 64-bit error handle.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "logCreate": (c_void_p, u32, _HANDLES),
    "logFree": (_HANDLE,),
    "backendCreate": (_HANDLE, _CONFIGS, _HANDLES),
    "backendFree": (_HANDLE,),
    "backendGetBuildId": (POINTER(c_char_p),),
    "backendGetSupportedOperations": (_HANDLE, POINTER(u32), POINTER(POINTER(OperationName))),
    "backendValidateOpConfig": (_HANDLE, OpConfig),
    "deviceCreate": (_HANDLE, _CONFIGS, _HANDLES),
    "deviceFree": (_HANDLE,),
    "contextCreate": (_HANDLE, _HANDLE, _CONFIGS, _HANDLES),
    "contextGetBinarySize": (_HANDLE, POINTER(u64)),
    "contextGetBinary": (_HANDLE, c_void_p, u64, POINTER(u64)),
    "contextCreateFromBinary": (_HANDLE, _HANDLE, _CONFIGS, c_void_p, u64, _HANDLES, _HANDLE),
    "contextFree": (_HANDLE, _HANDLE),
    "graphCreate": (_HANDLE, c_char_p, _CONFIGS, _HANDLES),
    "graphAddNode": (_HANDLE, OpConfig),
    "graphFinalize": (_HANDLE, _HANDLE, _HANDLE),
    "graphRetrieve": (_HANDLE, c_char_p, _HANDLES),
    "graphExecute": (_HANDLE, POINTER(Tensor), u32, POINTER(Tensor), u32, _HANDLE, _HANDLE),
    "tensorCreateGraphTensor": (_HANDLE, POINTER(Tensor)),
    "profileCreate": (_HANDLE, u32, _HANDLES),
    "profileSetConfig": (_HANDLE, _CONFIGS),
    "profileGetEvents": (_HANDLE, *_EVENTS),
    "profileGetSubEvents": (u64, *_EVENTS),
    "profileGetEventData": (u64, POINTER(EventData)),
    "profileFree": (_HANDLE,),
    "errorGetMessage": (u64, POINTER(c_char_p)),
    "systemContextCreate": (_HANDLES,),
    "systemContextGetMetaData": (_HANDLE, c_void_p, u64, POINTER(POINTER(BinaryInfo))),
    "systemContextFree": (_HANDLE,),
    "systemDlcCreateFromFile": (_HANDLE, c_char_p, _HANDLES),
    "systemDlcFree": (_HANDLE,),
}
