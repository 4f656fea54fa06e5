// SPDX-License-Identifier: Apache-2.0
// Runs a model library, or a context that was saved, on a QNN backend.
#include <filesystem>
#include <iostream>
#include <memory>

#include "Libraries.hpp"
#include "Tensors.hpp"

namespace {

const char kUsage[] =
    "usage: qnn-sample-app [options] BACKEND.so MODEL OUTPUT_DIR INPUT.raw [INPUT.raw ...]\n"
    "  MODEL                    a model library (.so), or a context binary (.bin)\n"
    "  --op_package PATH:PROVIDER[:TARGET]   register an op package\n"
    "  --save_context FILE      save the context with its finalized graph\n"
    "  --system LIBRARY         describes a context binary; libQnnSystem.so beside the backend otherwise\n";

struct Options {
  std::vector<std::string> opPackages;
  std::string saved, system;
  std::vector<std::string> words;
};

Options readOptions(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool isOption = word.rfind("--", 0) == 0;
    if (isOption && i + 1 == count) throw std::invalid_argument(word + " needs a value");
    if (word == "--op_package") options.opPackages.emplace_back(words[++i]);
    else if (word == "--save_context") options.saved = words[++i];
    else if (word == "--system") options.system = words[++i];
    else if (isOption) throw std::invalid_argument("option " + word + " is unknown");
    else options.words.push_back(word);
  }
  if (options.words.size() < 4) throw std::invalid_argument("a backend, a model, a folder and its inputs are needed");
  if (options.system.empty()) {
    options.system = (std::filesystem::path(options.words[0]).parent_path() / "libQnnSystem.so").string();
  }
  return options;
}

void run(const Backend& backend, const Graph& graph, const Options& options) {
  const size_t given = options.words.size() - 3;
  std::cout << "graph " << graph.name << "\n";
  if (given != graph.numInputs) {
    throw std::runtime_error("the graph has " + std::to_string(graph.numInputs) + " inputs, " + std::to_string(given) +
                             " files are given");
  }
  Tensors inputs(graph.inputs, graph.numInputs);
  Tensors outputs(graph.outputs, graph.numOutputs);
  for (uint32_t i = 0; i < inputs.size(); ++i) inputs.write(i, readFile(options.words[3 + i], inputs.elements(i)));
  check(backend.qnn().graphExecute(graph.handle, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr, nullptr),
        "graphExecute");
  std::filesystem::create_directories(options.words[2]);
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const std::string path = options.words[2] + "/" + outputs.name(i) + ".raw";
    writeFile(path, outputs.read(i));
    std::cout << "wrote " << path << "\n";
  }
}

void runAll(const Options& options) {
  Backend backend(options.words[0], options.opPackages);
  std::cout << "backend " << backend.name() << "\n";
  if (std::filesystem::path(options.words[1]).extension() == ".bin") {
    const std::vector<uint8_t> binary = readBytes(options.words[1]);
    const SavedContext context(options.system, binary);
    backend.loadContext(binary);
    run(backend, context.graph(backend), options);
    return;
  }
  backend.makeContext();
  const Model model(options.words[1], backend);
  run(backend, model.graph(0), options);
  if (!options.saved.empty()) {
    writeBytes(options.saved, backend.contextBinary());
    std::cout << "wrote " << options.saved << "\n";
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    runAll(readOptions(count, words));
  } catch (const std::invalid_argument& problem) {
    std::cerr << "error: " << problem.what() << "\n" << kUsage;
    return 2;
  } catch (const std::exception& problem) {
    std::cerr << "error: " << problem.what() << "\n";
    return 1;
  }
  return 0;
}
