// Loads a model library, gives it a backend that prints every call, and prints the graphs it describes.
#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "QnnModel.hpp"

using namespace qnn_wrapper_api;

namespace {

typedef ModelError_t (*ComposeGraphs)(Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE, Qnn_ContextHandle_t,
                                      const GraphConfigInfo_t**, const uint32_t, GraphInfoPtr_t**, uint32_t*, bool,
                                      QnnLog_Callback_t, QnnLog_Level_t);
typedef ModelError_t (*FreeGraphsInfo)(GraphInfoPtr_t**, uint32_t);

uint32_t nextId = 1;
char graphHandle, backendHandle, contextHandle;
const char* refusedNode = nullptr;

void printTensor(const char* word, const Qnn_Tensor_t& tensor) {
  const Qnn_TensorV2_t& t = tensor.v2;
  std::printf("%s %u %s version=%d type=%d dtype=%d dims=[", word, t.id, t.name, tensor.version, t.type, t.dataType);
  for (uint32_t i = 0; i < t.rank; ++i) std::printf("%s%u", i ? "," : "", t.dimensions[i]);
  const Qnn_QuantizeParams_t& q = t.quantizeParams;
  std::printf("] encoding=%d", q.encodingDefinition == QNN_DEFINITION_DEFINED ? q.quantizationEncoding : -1);
  if (q.encodingDefinition == QNN_DEFINITION_DEFINED) {
    if (q.quantizationEncoding == 0) {
      std::printf(" %.9g:%d", q.scaleOffsetEncoding.scale, q.scaleOffsetEncoding.offset);
    } else if (q.quantizationEncoding == 1) {
      for (uint32_t i = 0; i < q.axisScaleOffsetEncoding.numScaleOffsets; ++i) {
        const Qnn_ScaleOffset_t& step = q.axisScaleOffsetEncoding.scaleOffset[i];
        std::printf(" %d/%.9g:%d", q.axisScaleOffsetEncoding.axis, step.scale, step.offset);
      }
    } else if (q.quantizationEncoding == 2) {
      const Qnn_BwScaleOffset_t& step = q.bwScaleOffsetEncoding;
      std::printf(" %ub%.9g:%d", step.bitwidth, step.scale, step.offset);
    } else if (q.quantizationEncoding == 3) {
      const Qnn_BwAxisScaleOffset_t& steps = q.bwAxisScaleOffsetEncoding;
      for (uint32_t i = 0; i < steps.numElements; ++i) {
        std::printf(" %ub%d/%.9g:%d", steps.bitwidth, steps.axis, steps.scales[i], steps.offsets[i]);
      }
    }
  }
  std::printf(" data=");
  const unsigned char* bytes = static_cast<const unsigned char*>(t.clientBuf.data);
  for (uint32_t i = 0; i < t.clientBuf.dataSize; ++i) std::printf("%02x", bytes[i]);
  std::printf("\n");
}

Qnn_ErrorHandle_t graphCreate(Qnn_ContextHandle_t context, const char* name, const QnnGraph_Config_t** config,
                              Qnn_GraphHandle_t* graph) {
  std::printf("graph %s context=%d config=%d\n", name, context == &contextHandle, config != nullptr);
  *graph = &graphHandle;
  return QNN_SUCCESS;
}

Qnn_ErrorHandle_t createTensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t* tensor) {
  if (graph != &graphHandle) return 6000;
  tensor->v2.id = nextId++;
  printTensor("tensor", *tensor);
  return QNN_SUCCESS;
}

Qnn_ErrorHandle_t validate(Qnn_BackendHandle_t backend, Qnn_OpConfig_t config) {
  if (backend != &backendHandle) return 4000;
  return refusedNode != nullptr && std::strcmp(config.v1.name, refusedNode) == 0 ? 3110 : QNN_SUCCESS;
}

Qnn_ErrorHandle_t addNode(Qnn_GraphHandle_t graph, Qnn_OpConfig_t config) {
  if (graph != &graphHandle) return 6000;
  const Qnn_OpConfigV1_t& op = config.v1;
  std::printf("node %s %s %s inputs=", op.name, op.packageName, op.typeName);
  for (uint32_t i = 0; i < op.numOfInputs; ++i) std::printf("%s:%u ", op.inputTensors[i].v2.name, op.inputTensors[i].v2.id);
  std::printf("outputs=");
  for (uint32_t i = 0; i < op.numOfOutputs; ++i) {
    std::printf("%s:%u ", op.outputTensors[i].v2.name, op.outputTensors[i].v2.id);
  }
  std::printf("\n");
  for (uint32_t i = 0; i < op.numOfParams; ++i) {
    const Qnn_Param_t& param = op.params[i];
    if (param.paramType == QNN_PARAMTYPE_TENSOR) {
      std::printf("param %s tensor %s:%u\n", param.name, param.tensorParam.v2.name, param.tensorParam.v2.id);
    } else if (param.scalarParam.dataType == QNN_DATATYPE_STRING) {
      std::printf("param %s text ", param.name);
      for (const char* c = param.scalarParam.stringValue; *c; ++c) std::printf("%02x", static_cast<unsigned char>(*c));
      std::printf("\n");
    } else {
      std::printf("param %s scalar %d %016" PRIx64 "\n", param.name, param.scalarParam.dataType, param.scalarParam.uint64Value);
    }
  }
  return QNN_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const std::string prefix = argv[2];
  const bool debug = std::strcmp(argv[3], "debug") == 0;
  if (argc > 4) refusedNode = argv[4];
  ComposeGraphs compose = reinterpret_cast<ComposeGraphs>(dlsym(library, (prefix + "_composeGraphs").c_str()));
  FreeGraphsInfo release = reinterpret_cast<FreeGraphsInfo>(dlsym(library, (prefix + "_freeGraphsInfo").c_str()));
  const char** version = static_cast<const char**>(dlsym(library, "QNN_SDK_VERSION"));
  if (compose == nullptr || release == nullptr || version == nullptr) return 3;
  std::printf("sdk %s\n", *version);

  QNN_INTERFACE_VER_TYPE table{};
  table.graphCreate = graphCreate;
  table.tensorCreateGraphTensor = createTensor;
  table.backendValidateOpConfig = validate;
  table.graphAddNode = addNode;
  GraphInfoPtr_t* graphs = nullptr;
  uint32_t count = 0;
  const ModelError_t error = compose(&backendHandle, table, &contextHandle, nullptr, 0, &graphs, &count, debug, nullptr,
                                     QNN_LOG_LEVEL_ERROR);
  std::printf("composed %d graphs=%u\n", error, count);
  if (error != MODEL_NO_ERROR) return 0;
  for (uint32_t g = 0; g < count; ++g) {
    const GraphInfo_t& info = *graphs[g];
    std::printf("info %s\n", info.graphName);
    for (uint32_t i = 0; i < info.numInputTensors; ++i) printTensor("input", info.inputTensors[i]);
    for (uint32_t i = 0; i < info.numOutputTensors; ++i) printTensor("output", info.outputTensors[i]);
  }
  std::printf("freed %d\n", release(&graphs, count));
  return graphs == nullptr ? 0 : 4;
}
