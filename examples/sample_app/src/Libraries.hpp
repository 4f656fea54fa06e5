// SPDX-License-Identifier: Apache-2.0
// The libraries of an application: a backend, and a model that was compiled for it, or a context that was saved.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "QnnInterface.h"
#include "QnnSystemInterface.h"
#include "QnnWrapperUtils.hpp"

// Raised for everything that a library answers but success.
struct QnnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(Qnn_ErrorHandle_t error, const std::string& call);

// A backend library such as libQnnHtp.so, with its function table.
class Backend {
 public:
  // Each op package is PATH:PROVIDER or PATH:PROVIDER:TARGET.
  Backend(const std::string& path, const std::vector<std::string>& opPackages);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const QNN_INTERFACE_VER_TYPE& qnn() const { return m_provider->QNN_INTERFACE_VER_NAME; }
  std::string name() const;
  Qnn_BackendHandle_t handle() const { return m_backend; }
  Qnn_ContextHandle_t context() const { return m_context; }

  // A context is made empty, or of a binary that was saved before.
  void makeContext();
  void loadContext(const std::vector<uint8_t>& binary);
  std::vector<uint8_t> contextBinary() const;

 private:
  void registerOpPackage(const std::string& named);

  const QnnInterface_t* m_provider = nullptr;
  Qnn_BackendHandle_t m_backend = nullptr;
  Qnn_DeviceHandle_t m_device = nullptr;
  Qnn_ContextHandle_t m_context = nullptr;
};

// One graph that is ready: its handle, and what goes in and out.
struct Graph {
  std::string name;
  Qnn_GraphHandle_t handle = nullptr;
  const Qnn_Tensor_t* inputs = nullptr;
  uint32_t numInputs = 0;
  const Qnn_Tensor_t* outputs = nullptr;
  uint32_t numOutputs = 0;
};

// A model library: what qnn-model-lib-generator made. Its graphs live in the backend's context.
class Model {
 public:
  Model(const std::string& path, const Backend& backend);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Graph graph(uint32_t index) const;

 private:
  using Free = qnn_wrapper_api::ModelError_t (*)(qnn_wrapper_api::GraphInfoPtr_t**, uint32_t);
  Free m_free = nullptr;
  qnn_wrapper_api::GraphInfoPtr_t* m_graphs = nullptr;
  uint32_t m_count = 0;
};

// A context binary, which the System library describes; the backend has loaded it.
class SavedContext {
 public:
  SavedContext(const std::string& systemPath, const std::vector<uint8_t>& binary);
  ~SavedContext();
  SavedContext(const SavedContext&) = delete;
  SavedContext& operator=(const SavedContext&) = delete;

  Graph graph(const Backend& backend) const;

 private:
  const QnnSystemInterface_t* m_provider = nullptr;
  QnnSystemContext_Handle_t m_system = nullptr;
  const QnnSystemContext_BinaryInfo_t* m_info = nullptr;
};
