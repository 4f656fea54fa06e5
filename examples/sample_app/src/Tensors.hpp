// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a graph between float32 files and what the graph stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "QnnTypes.h"

// Tensors with memory of their own, ready for graphExecute.
class Tensors {
 public:
  Tensors(const Qnn_Tensor_t* described, uint32_t count);

  Qnn_Tensor_t* data() { return m_tensors.data(); }
  uint32_t size() const { return static_cast<uint32_t>(m_tensors.size()); }
  std::string name(uint32_t index) const { return m_tensors[index].v1.name; }
  // Real numbers, quantized as the tensor says.
  void write(uint32_t index, const std::vector<float>& values);
  std::vector<float> read(uint32_t index) const;
  size_t elements(uint32_t index) const;

 private:
  std::vector<Qnn_Tensor_t> m_tensors;
  std::vector<std::vector<uint8_t>> m_memory;
};

std::vector<float> readFile(const std::string& path, size_t elements);
void writeFile(const std::string& path, const std::vector<float>& values);
std::vector<uint8_t> readBytes(const std::string& path);
void writeBytes(const std::string& path, const std::vector<uint8_t>& bytes);
