// SPDX-License-Identifier: Apache-2.0
// The graph builder that a generated model.cpp calls: it turns tensors and nodes into calls of a QNN backend.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "QnnInterface.h"
#include "QnnWrapperUtils.hpp"

namespace qnn_wrapper_api {

class QnnModel {
 public:
  QnnModel() = default;
  ~QnnModel() { freeCachedTensors(); }
  QnnModel(const QnnModel&) = delete;
  QnnModel& operator=(const QnnModel&) = delete;

  // Creates the graph in its context. With debug, every intermediate tensor becomes a graph output.
  ModelError_t initialize(const Qnn_BackendHandle_t& backendHandle,
                          const QNN_INTERFACE_VER_TYPE& qnnInterface,
                          const Qnn_ContextHandle_t& context,
                          const char* graphName,
                          bool debug,
                          uint8_t doNodeValidations = 1,
                          const QnnGraph_Config_t** graphConfigs = nullptr);

  // Creates a tensor of the graph and, unless save is false, remembers it under its name.
  ModelError_t addTensor(const char* nodeName, Qnn_Tensor_t* tensor, bool save = true);
  ModelError_t addTensor(const char* nodeName, Qnn_Tensor_t tensor, bool save = true);

  // Looks a remembered tensor up; the caller does not own what the result points to.
  ModelError_t getQnnTensor(const char* nodeName, const char* tensorName, Qnn_Tensor_t& tensor) const;

  // Creates the node's parameter and output tensors, then the node; inputs are remembered tensors.
  ModelError_t addNode(Qnn_OpConfigVersion_t version,
                       const char* name,
                       const char* packageName,
                       const char* type,
                       Qnn_Param_t* params,
                       uint32_t numOfParams,
                       const char** inputNames,
                       uint32_t numOfInputs,
                       Qnn_Tensor_t* outputTensors,
                       uint32_t numOfOutputs);

  ModelError_t finalize(Qnn_ProfileHandle_t profile = nullptr, Qnn_SignalHandle_t signal = nullptr);
  ModelError_t freeCachedTensors();

  Qnn_GraphHandle_t getQnnGraph() const { return m_graph; }
  std::string getQnnGraphName() const { return m_graphName; }
  std::vector<Qnn_Tensor_t> getGraphInputTensors() const { return tensorsNamed(m_inputNames); }
  std::vector<Qnn_Tensor_t> getGraphOutputTensors() const { return tensorsNamed(m_outputNames); }
  std::map<std::string, std::vector<std::string>> getOutputTensorMap() const { return m_outputsOfNode; }

 private:
  ModelError_t addParams(const char* nodeName, Qnn_Param_t* params, uint32_t count, std::vector<Qnn_Param_t>& added);
  ModelError_t addOutputs(const char* nodeName, Qnn_Tensor_t* outputs, uint32_t count, std::vector<Qnn_Tensor_t>& added);
  ModelError_t createNode(const Qnn_OpConfig_t& config);
  ModelError_t remember(const Qnn_Tensor_t& tensor);
  std::vector<Qnn_Tensor_t> tensorsNamed(const std::vector<std::string>& names) const;

  Qnn_BackendHandle_t m_backend = nullptr;
  Qnn_GraphHandle_t m_graph = nullptr;
  QNN_INTERFACE_VER_TYPE m_interface{};
  std::string m_graphName;
  bool m_debug = false;
  bool m_doNodeValidations = true;
  std::unordered_map<std::string, Qnn_Tensor_t> m_tensors;
  std::vector<std::string> m_inputNames;
  std::vector<std::string> m_outputNames;
  std::map<std::string, std::vector<std::string>> m_outputsOfNode;
};

// Describes finished graphs to the caller, who frees the records with freeGraphsInfo.
ModelError_t getGraphInfoFromModels(QnnModel* models, uint32_t numModels, GraphInfoPtr_t** graphsInfo);

}  // namespace qnn_wrapper_api
