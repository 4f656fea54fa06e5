// SPDX-License-Identifier: Apache-2.0
// The two libraries of an application: a backend, and a model that was compiled for it.
#pragma once

#include <stdexcept>
#include <string>

#include "QnnInterface.h"
#include "QnnWrapperUtils.hpp"

// Raised for everything that a library answers but success.
struct QnnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(Qnn_ErrorHandle_t error, const std::string& call);

// A backend library such as libQnnHtp.so, with its function table.
class Backend {
 public:
  explicit Backend(const std::string& path);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const QNN_INTERFACE_VER_TYPE& qnn() const { return m_provider->QNN_INTERFACE_VER_NAME; }
  std::string name() const;
  Qnn_BackendHandle_t handle() const { return m_backend; }
  Qnn_ContextHandle_t context() const { return m_context; }

 private:
  const QnnInterface_t* m_provider = nullptr;
  Qnn_BackendHandle_t m_backend = nullptr;
  Qnn_DeviceHandle_t m_device = nullptr;
  Qnn_ContextHandle_t m_context = nullptr;
};

// A model library: what qnn-model-lib-generator made. Its graphs live in the backend's context.
class Model {
 public:
  Model(const std::string& path, const Backend& backend);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  uint32_t size() const { return m_count; }
  const qnn_wrapper_api::GraphInfo_t& graph(uint32_t index) const { return *m_graphs[index]; }

 private:
  using Free = qnn_wrapper_api::ModelError_t (*)(qnn_wrapper_api::GraphInfoPtr_t**, uint32_t);
  Free m_free = nullptr;
  qnn_wrapper_api::GraphInfoPtr_t* m_graphs = nullptr;
  uint32_t m_count = 0;
};
