// SPDX-License-Identifier: Apache-2.0
// Builds a QNN graph through a backend's function table.
#include "QnnModel.hpp"

#include <cstdlib>
#include <cstring>

namespace qnn_wrapper_api {
namespace {

ModelError_t fail(ModelError_t error, const std::string& what, const std::string& where) {
  reportModelError(what.c_str(), error, where.c_str());
  return error;
}

// Bytes of one element; 0 for types whose size the element count does not tell (packed 4-bit, strings).
uint64_t elementSize(Qnn_DataType_t type) {
  switch (type) {
    case QNN_DATATYPE_INT_8:
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_BOOL_8: return 1;
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_UINT_16:
    case QNN_DATATYPE_FLOAT_16:
    case QNN_DATATYPE_BFLOAT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16: return 2;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_UINT_32:
    case QNN_DATATYPE_FLOAT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
    case QNN_DATATYPE_UFIXED_POINT_32: return 4;
    case QNN_DATATYPE_INT_64:
    case QNN_DATATYPE_UINT_64:
    case QNN_DATATYPE_FLOAT_64: return 8;
    default: return 0;
  }
}

// Backends do not compare a static buffer with its dimensions, and a short one would be read past its end.
bool holdsItsData(const Qnn_TensorV1_t& tensor) {
  if (tensor.type != QNN_TENSOR_TYPE_STATIC) return true;
  uint64_t expected = elementSize(tensor.dataType);
  if (expected == 0) return tensor.clientBuf.data != nullptr;
  for (uint32_t i = 0; i < tensor.rank; ++i) expected *= tensor.dimensions[i];
  return tensor.clientBuf.dataSize == expected && (expected == 0 || tensor.clientBuf.data != nullptr);
}

ModelError_t describe(const QnnModel& model, GraphInfo_t& info);

}  // namespace

ModelError_t QnnModel::initialize(const Qnn_BackendHandle_t& backendHandle,
                                  const QNN_INTERFACE_VER_TYPE& qnnInterface,
                                  const Qnn_ContextHandle_t& context,
                                  const char* graphName,
                                  bool debug,
                                  uint8_t doNodeValidations,
                                  const QnnGraph_Config_t** graphConfigs) {
  if (graphName == nullptr) return fail(MODEL_GRAPH_ERROR, "initialize", "a graph needs a name");
  if (m_graph != nullptr) return fail(MODEL_GRAPH_ERROR, "initialize", "graph " + m_graphName + " exists already");
  if (qnnInterface.graphCreate == nullptr || qnnInterface.tensorCreateGraphTensor == nullptr ||
      qnnInterface.graphAddNode == nullptr) {
    return fail(MODEL_SETUP_ERROR, "initialize", "the backend lacks graphCreate, tensorCreateGraphTensor or graphAddNode");
  }
  m_backend = backendHandle;
  m_interface = qnnInterface;
  m_graphName = graphName;
  m_debug = debug;
  m_doNodeValidations = doNodeValidations != 0;
  if (m_interface.graphCreate(context, graphName, graphConfigs, &m_graph) != QNN_SUCCESS || m_graph == nullptr) {
    return fail(MODEL_GRAPH_ERROR, "graphCreate", m_graphName);
  }
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::addTensor(const char* nodeName, Qnn_Tensor_t* tensor, bool save) {
  if (nodeName == nullptr || tensor == nullptr || tensor->v1.name == nullptr) {
    return fail(MODEL_TENSOR_ERROR, "addTensor", "a tensor and its node need a name");
  }
  const std::string where = std::string("tensor ") + tensor->v1.name + " of node " + nodeName;
  if (tensor->version != QNN_TENSOR_VERSION_1 && tensor->version != QNN_TENSOR_VERSION_2) {
    return fail(MODEL_TENSOR_ERROR, "addTensor: unknown tensor version", where);
  }
  if (tensor->v1.rank > 0 && tensor->v1.dimensions == nullptr) {
    return fail(MODEL_TENSOR_ERROR, "addTensor: dimensions are missing", where);
  }
  if (m_tensors.count(tensor->v1.name) != 0) {
    return fail(MODEL_TENSOR_ERROR, "addTensor: the name is taken", where);
  }
  if (!holdsItsData(tensor->v1)) {
    return fail(MODEL_TENSOR_ERROR, "addTensor: the data does not fill the dimensions", where);
  }
  if (m_debug && tensor->v1.type == QNN_TENSOR_TYPE_NATIVE) tensor->v1.type = QNN_TENSOR_TYPE_APP_READ;
  if (m_interface.tensorCreateGraphTensor(m_graph, tensor) != QNN_SUCCESS) {
    return fail(MODEL_TENSOR_ERROR, "tensorCreateGraphTensor", where);
  }
  return save ? remember(*tensor) : MODEL_NO_ERROR;
}

ModelError_t QnnModel::addTensor(const char* nodeName, Qnn_Tensor_t tensor, bool save) {
  return addTensor(nodeName, &tensor, save);
}

ModelError_t QnnModel::remember(const Qnn_Tensor_t& tensor) {
  Qnn_Tensor_t copy;
  const ModelError_t error = copyTensor(tensor, copy);
  if (error != MODEL_NO_ERROR) return error;
  m_tensors.emplace(copy.v1.name, copy);
  if (copy.v1.type == QNN_TENSOR_TYPE_APP_WRITE) m_inputNames.emplace_back(copy.v1.name);
  if (copy.v1.type == QNN_TENSOR_TYPE_APP_READ) m_outputNames.emplace_back(copy.v1.name);
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::getQnnTensor(const char* nodeName, const char* tensorName, Qnn_Tensor_t& tensor) const {
  if (nodeName == nullptr || tensorName == nullptr) return MODEL_INVALID_ARGUMENT_ERROR;
  const auto found = m_tensors.find(tensorName);
  if (found == m_tensors.end()) {
    return fail(MODEL_TENSOR_ERROR, "getQnnTensor: no such tensor", std::string(tensorName) + " of node " + nodeName);
  }
  tensor = found->second;
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::addNode(Qnn_OpConfigVersion_t version,
                               const char* name,
                               const char* packageName,
                               const char* type,
                               Qnn_Param_t* params,
                               uint32_t numOfParams,
                               const char** inputNames,
                               uint32_t numOfInputs,
                               Qnn_Tensor_t* outputTensors,
                               uint32_t numOfOutputs) {
  if (version != QNN_OPCONFIG_VERSION_1 || name == nullptr || packageName == nullptr || type == nullptr) {
    return fail(MODEL_NODES_ERROR, "addNode", "needs op config version 1, a name, a package and a type");
  }
  std::vector<Qnn_Param_t> nodeParams;
  std::vector<Qnn_Tensor_t> inputs(numOfInputs);
  std::vector<Qnn_Tensor_t> outputs;
  ModelError_t error = addParams(name, params, numOfParams, nodeParams);
  for (uint32_t i = 0; error == MODEL_NO_ERROR && i < numOfInputs; ++i) {
    error = getQnnTensor(name, inputNames[i], inputs[i]);
  }
  if (error == MODEL_NO_ERROR) error = addOutputs(name, outputTensors, numOfOutputs, outputs);
  if (error != MODEL_NO_ERROR) return error;

  Qnn_OpConfig_t config;
  std::memset(&config, 0, sizeof(config));
  config.version = version;
  config.v1.name = name;
  config.v1.packageName = packageName;
  config.v1.typeName = type;
  config.v1.numOfParams = numOfParams;
  config.v1.params = nodeParams.data();
  config.v1.numOfInputs = numOfInputs;
  config.v1.inputTensors = inputs.data();
  config.v1.numOfOutputs = numOfOutputs;
  config.v1.outputTensors = outputs.data();
  return createNode(config);
}

ModelError_t QnnModel::addParams(const char* nodeName,
                                 Qnn_Param_t* params,
                                 uint32_t count,
                                 std::vector<Qnn_Param_t>& added) {
  if (count > 0 && params == nullptr) return fail(MODEL_PARAMS_ERROR, "addNode: params are missing", nodeName);
  added.assign(params, params + count);
  for (Qnn_Param_t& param : added) {
    if (param.paramType == QNN_PARAMTYPE_SCALAR) continue;
    if (param.paramType != QNN_PARAMTYPE_TENSOR) return fail(MODEL_PARAMS_ERROR, "addNode: unknown param type", nodeName);
    // A backend wants parameter tensors created first; only their own node refers to them.
    const ModelError_t error = addTensor(nodeName, &param.tensorParam, false);
    if (error != MODEL_NO_ERROR) return error;
  }
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::addOutputs(const char* nodeName,
                                  Qnn_Tensor_t* outputs,
                                  uint32_t count,
                                  std::vector<Qnn_Tensor_t>& added) {
  if (count > 0 && outputs == nullptr) return fail(MODEL_NODES_ERROR, "addNode: outputs are missing", nodeName);
  std::vector<std::string>& names = m_outputsOfNode[nodeName];
  for (uint32_t i = 0; i < count; ++i) {
    ModelError_t error = addTensor(nodeName, outputs[i]);
    if (error != MODEL_NO_ERROR) return error;
    added.emplace_back();
    error = getQnnTensor(nodeName, outputs[i].v1.name, added.back());
    if (error != MODEL_NO_ERROR) return error;
    names.emplace_back(outputs[i].v1.name);
  }
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::createNode(const Qnn_OpConfig_t& config) {
  if (m_doNodeValidations && m_interface.backendValidateOpConfig != nullptr &&
      m_interface.backendValidateOpConfig(m_backend, config) != QNN_SUCCESS) {
    return fail(MODEL_GRAPH_OP_VALIDATION_ERROR, "backendValidateOpConfig", config.v1.name);
  }
  if (m_interface.graphAddNode(m_graph, config) != QNN_SUCCESS) {
    return fail(MODEL_GRAPH_ERROR, "graphAddNode", config.v1.name);
  }
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::finalize(Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal) {
  if (m_graph == nullptr || m_interface.graphFinalize == nullptr) return MODEL_SETUP_ERROR;
  if (m_interface.graphFinalize(m_graph, profile, signal) != QNN_SUCCESS) {
    return fail(MODEL_GRAPH_ERROR, "graphFinalize", m_graphName);
  }
  return MODEL_NO_ERROR;
}

ModelError_t QnnModel::freeCachedTensors() {
  for (auto& entry : m_tensors) freeTensor(entry.second);
  m_tensors.clear();
  m_inputNames.clear();
  m_outputNames.clear();
  return MODEL_NO_ERROR;
}

std::vector<Qnn_Tensor_t> QnnModel::tensorsNamed(const std::vector<std::string>& names) const {
  std::vector<Qnn_Tensor_t> tensors;
  for (const std::string& name : names) tensors.push_back(m_tensors.at(name));
  return tensors;
}

ModelError_t getGraphInfoFromModels(QnnModel* models, uint32_t numModels, GraphInfoPtr_t** graphsInfo) {
  if (models == nullptr || numModels == 0 || graphsInfo == nullptr) return MODEL_INVALID_ARGUMENT_ERROR;
  *graphsInfo = static_cast<GraphInfoPtr_t*>(std::calloc(numModels, sizeof(GraphInfoPtr_t)));
  if (*graphsInfo == nullptr) return MODEL_MEMORY_ALLOCATE_ERROR;
  GraphInfo_t* records = static_cast<GraphInfo_t*>(std::calloc(numModels, sizeof(GraphInfo_t)));
  ModelError_t error = records == nullptr ? MODEL_MEMORY_ALLOCATE_ERROR : MODEL_NO_ERROR;
  for (uint32_t i = 0; records != nullptr && i < numModels; ++i) (*graphsInfo)[i] = &records[i];
  for (uint32_t i = 0; error == MODEL_NO_ERROR && i < numModels; ++i) error = describe(models[i], records[i]);
  if (error != MODEL_NO_ERROR) freeGraphsInfo(graphsInfo, numModels);
  return error;
}

namespace {

ModelError_t copyTensors(const std::vector<Qnn_Tensor_t>& source, Qnn_Tensor_t*& copies, uint32_t& count) {
  count = 0;
  copies = static_cast<Qnn_Tensor_t*>(std::calloc(source.size() + 1, sizeof(Qnn_Tensor_t)));
  if (copies == nullptr) return MODEL_MEMORY_ALLOCATE_ERROR;
  for (const Qnn_Tensor_t& tensor : source) {
    const ModelError_t error = copyTensor(tensor, copies[count]);
    if (error != MODEL_NO_ERROR) return error;
    ++count;
  }
  return MODEL_NO_ERROR;
}

ModelError_t describe(const QnnModel& model, GraphInfo_t& info) {
  const std::string name = model.getQnnGraphName();
  info.graph = model.getQnnGraph();
  info.graphName = static_cast<char*>(std::calloc(name.size() + 1, 1));
  if (info.graphName == nullptr) return MODEL_MEMORY_ALLOCATE_ERROR;
  std::memcpy(info.graphName, name.c_str(), name.size());
  const ModelError_t error = copyTensors(model.getGraphInputTensors(), info.inputTensors, info.numInputTensors);
  if (error != MODEL_NO_ERROR) return error;
  return copyTensors(model.getGraphOutputTensors(), info.outputTensors, info.numOutputTensors);
}

}  // namespace
}  // namespace qnn_wrapper_api
