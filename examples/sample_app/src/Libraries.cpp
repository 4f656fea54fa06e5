// SPDX-License-Identifier: Apache-2.0
#include "Libraries.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace {

// Libraries stay loaded until the process ends: backends keep threads that run in their code.
void* opened(const std::string& path) {
  // A bare name means a file of this folder first, and one that the system knows after that.
  const std::filesystem::path here = std::filesystem::absolute(path);
  const std::string name = std::filesystem::exists(here) ? here.string() : path;
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw QnnError(dlerror());
  return library;
}

template <typename Function>
Function symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw QnnError(dlerror());
  return reinterpret_cast<Function>(found);
}

}  // namespace

void check(Qnn_ErrorHandle_t error, const std::string& call) {
  if (error != QNN_SUCCESS) throw QnnError(call + " answered " + std::to_string(error & 0xFFFF));
}

Backend::Backend(const std::string& path) {
  const QnnInterface_t** providers = nullptr;
  uint32_t count = 0;
  auto getProviders = symbol<QnnInterface_GetProviders_Fn_t>(opened(path), "QnnInterface_getProviders");
  check(getProviders(&providers, &count), "QnnInterface_getProviders");
  for (uint32_t i = 0; i < count && m_provider == nullptr; ++i) {
    // The table only grows within one major version: one that is newer begins with what we know.
    const Qnn_Version_t& version = providers[i]->apiVersion.coreApiVersion;
    if (version.major == QNN_API_VERSION_MAJOR && version.minor >= QNN_API_VERSION_MINOR) m_provider = providers[i];
  }
  if (m_provider == nullptr) throw QnnError(path + " has no interface of version 2.15 or newer");
  check(qnn().backendCreate(nullptr, nullptr, &m_backend), "backendCreate");
  // Not every backend has devices: those that do not say so.
  if (qnn().deviceCreate != nullptr) (void)qnn().deviceCreate(nullptr, nullptr, &m_device);
  check(qnn().contextCreate(m_backend, m_device, nullptr, &m_context), "contextCreate");
}

Backend::~Backend() {
  if (m_context != nullptr) qnn().contextFree(m_context, nullptr);
  if (m_device != nullptr) qnn().deviceFree(m_device);
  if (m_backend != nullptr) qnn().backendFree(m_backend);
}

std::string Backend::name() const {
  const char* build = nullptr;
  if (qnn().backendGetBuildId == nullptr || qnn().backendGetBuildId(&build) != QNN_SUCCESS) build = "unknown build";
  return std::string(m_provider->providerName) + ", " + build;
}

Model::Model(const std::string& path, const Backend& backend) {
  using Compose = qnn_wrapper_api::ModelError_t (*)(Qnn_BackendHandle_t,
                                                    QNN_INTERFACE_VER_TYPE,
                                                    Qnn_ContextHandle_t,
                                                    const qnn_wrapper_api::GraphConfigInfo_t**,
                                                    const uint32_t,
                                                    qnn_wrapper_api::GraphInfoPtr_t**,
                                                    uint32_t*,
                                                    bool,
                                                    QnnLog_Callback_t,
                                                    QnnLog_Level_t);
  void* library = opened(path);
  auto compose = symbol<Compose>(library, "QnnModel_composeGraphs");
  m_free = symbol<Free>(library, "QnnModel_freeGraphsInfo");
  const auto error = compose(backend.handle(), backend.qnn(), backend.context(), nullptr, 0, &m_graphs, &m_count,
                             false, nullptr, QNN_LOG_LEVEL_ERROR);
  if (error != qnn_wrapper_api::MODEL_NO_ERROR) throw QnnError("composeGraphs gave error " + std::to_string(error));
  for (uint32_t i = 0; i < m_count; ++i) {
    check(backend.qnn().graphFinalize(m_graphs[i]->graph, nullptr, nullptr), "graphFinalize");
  }
}

Model::~Model() {
  if (m_graphs != nullptr) m_free(&m_graphs, m_count);
}
