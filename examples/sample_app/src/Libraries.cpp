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

Backend::Backend(const std::string& path, const std::vector<std::string>& opPackages) {
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
  for (const std::string& named : opPackages) registerOpPackage(named);
  // Not every backend has devices: those that do not say so.
  if (qnn().deviceCreate != nullptr) (void)qnn().deviceCreate(nullptr, nullptr, &m_device);
}

void Backend::registerOpPackage(const std::string& named) {
  const size_t colon = named.find(':');
  if (colon == std::string::npos) throw QnnError("op package " + named + " is not PATH:PROVIDER");
  const std::string path = named.substr(0, colon), rest = named.substr(colon + 1);
  const size_t second = rest.find(':');
  const std::string target = second == std::string::npos ? "" : rest.substr(second + 1);
  check(qnn().backendRegisterOpPackage(m_backend, path.c_str(), rest.substr(0, second).c_str(),
                                       target.empty() ? nullptr : target.c_str()),
        "backendRegisterOpPackage");
}

void Backend::makeContext() { check(qnn().contextCreate(m_backend, m_device, nullptr, &m_context), "contextCreate"); }

void Backend::loadContext(const std::vector<uint8_t>& binary) {
  check(qnn().contextCreateFromBinary(m_backend, m_device, nullptr, binary.data(), binary.size(), &m_context, nullptr),
        "contextCreateFromBinary");
}

std::vector<uint8_t> Backend::contextBinary() const {
  uint64_t size = 0, written = 0;
  check(qnn().contextGetBinarySize(m_context, &size), "contextGetBinarySize");
  std::vector<uint8_t> binary(size);
  check(qnn().contextGetBinary(m_context, binary.data(), binary.size(), &written), "contextGetBinary");
  binary.resize(written);
  return binary;
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

Graph Model::graph(uint32_t index) const {
  const auto& found = *m_graphs[index];
  return {found.graphName, found.graph, found.inputTensors, found.numInputTensors, found.outputTensors, found.numOutputTensors};
}

SavedContext::SavedContext(const std::string& systemPath, const std::vector<uint8_t>& binary) {
  const QnnSystemInterface_t** providers = nullptr;
  uint32_t count = 0;
  auto getProviders = symbol<QnnSystemInterface_GetProviders_Fn_t>(opened(systemPath), "QnnSystemInterface_getProviders");
  check(getProviders(&providers, &count), "QnnSystemInterface_getProviders");
  if (count == 0 || providers[0]->systemApiVersion.major != 1) throw QnnError(systemPath + " has no interface of version 1");
  m_provider = providers[0];
  check(m_provider->v1.systemContextCreate(&m_system), "systemContextCreate");
  check(m_provider->v1.systemContextGetMetaData(m_system, binary.data(), binary.size(), &m_info), "systemContextGetMetaData");
}

SavedContext::~SavedContext() {
  if (m_system != nullptr) m_provider->v1.systemContextFree(m_system);
}

Graph SavedContext::graph(const Backend& backend) const {
  const auto& info = m_info->contextBinaryInfoV3;
  if (info.numGraphs == 0) throw QnnError("the context binary has no graph");
  const auto& found = info.graphs[0].graphInfoV3;
  Graph graph{found.graphName, nullptr, found.graphInputs, found.numGraphInputs, found.graphOutputs, found.numGraphOutputs};
  check(backend.qnn().graphRetrieve(backend.context(), found.graphName, &graph.handle), "graphRetrieve");
  return graph;
}
