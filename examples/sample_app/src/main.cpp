// SPDX-License-Identifier: Apache-2.0
// Runs a model library on a QNN backend: qnn-sample-app BACKEND.so MODEL.so OUTPUT_DIR INPUT.raw [INPUT.raw ...]
#include <filesystem>
#include <iostream>

#include "Libraries.hpp"
#include "Tensors.hpp"

namespace {

void run(const Backend& backend, const qnn_wrapper_api::GraphInfo_t& graph, char** files, const std::string& folder) {
  Tensors inputs(graph.inputTensors, graph.numInputTensors);
  Tensors outputs(graph.outputTensors, graph.numOutputTensors);
  for (uint32_t i = 0; i < inputs.size(); ++i) inputs.write(i, readFile(files[i], inputs.elements(i)));
  check(backend.qnn().graphExecute(graph.graph, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr,
                                   nullptr),
        "graphExecute");
  std::filesystem::create_directories(folder);
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const std::string path = folder + "/" + outputs.name(i) + ".raw";
    writeFile(path, outputs.read(i));
    std::cout << "wrote " << path << "\n";
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::cerr << "usage: qnn-sample-app BACKEND.so MODEL.so OUTPUT_DIR INPUT.raw [INPUT.raw ...]\n";
    return 2;
  }
  try {
    const Backend backend(words[1]);
    std::cout << "backend " << backend.name() << "\n";
    const Model model(words[2], backend);
    const auto& graph = model.graph(0);
    std::cout << "graph " << graph.graphName << "\n";
    if (static_cast<uint32_t>(count - 4) != graph.numInputTensors) {
      throw std::runtime_error("the graph has " + std::to_string(graph.numInputTensors) + " inputs, " +
                               std::to_string(count - 4) + " files are given");
    }
    run(backend, graph, words + 4, words[3]);
  } catch (const std::exception& problem) {
    std::cerr << "error: " << problem.what() << "\n";
    return 1;
  }
  return 0;
}
