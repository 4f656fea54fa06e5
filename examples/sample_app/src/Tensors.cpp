// SPDX-License-Identifier: Apache-2.0
#include "Tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace {

template <typename T>
void quantize(const std::vector<float>& values, const Qnn_ScaleOffset_t& step, uint8_t* memory) {
  T* stored = reinterpret_cast<T*>(memory);
  for (size_t i = 0; i < values.size(); ++i) {
    const double whole = std::nearbyint(values[i] / step.scale) - step.offset;
    const double low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
    stored[i] = static_cast<T>(std::clamp(whole, low, high));
  }
}

template <typename T>
void dequantize(const uint8_t* memory, const Qnn_ScaleOffset_t& step, std::vector<float>& values) {
  const T* stored = reinterpret_cast<const T*>(memory);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((static_cast<double>(stored[i]) + step.offset) * step.scale);
  }
}

size_t bytesOf(Qnn_DataType_t type) {
  switch (type) {
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8: return 1;
    case QNN_DATATYPE_UFIXED_POINT_16:
    case QNN_DATATYPE_SFIXED_POINT_16: return 2;
    case QNN_DATATYPE_FLOAT_32: return 4;
    default: throw std::runtime_error("a tensor has data type " + std::to_string(type) + ", expected float or fixed point");
  }
}

}  // namespace

Tensors::Tensors(const Qnn_Tensor_t* described, uint32_t count) : m_tensors(described, described + count) {
  for (uint32_t i = 0; i < count; ++i) {
    m_memory.emplace_back(elements(i) * bytesOf(m_tensors[i].v1.dataType));
    m_tensors[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
    m_tensors[i].v1.clientBuf = {m_memory[i].data(), static_cast<uint32_t>(m_memory[i].size())};
  }
}

size_t Tensors::elements(uint32_t index) const {
  size_t count = 1;
  for (uint32_t i = 0; i < m_tensors[index].v1.rank; ++i) count *= m_tensors[index].v1.dimensions[i];
  return count;
}

void Tensors::write(uint32_t index, const std::vector<float>& values) {
  const Qnn_ScaleOffset_t& step = m_tensors[index].v1.quantizeParams.scaleOffsetEncoding;
  uint8_t* memory = m_memory[index].data();
  switch (m_tensors[index].v1.dataType) {
    case QNN_DATATYPE_UFIXED_POINT_8: return quantize<uint8_t>(values, step, memory);
    case QNN_DATATYPE_SFIXED_POINT_8: return quantize<int8_t>(values, step, memory);
    case QNN_DATATYPE_UFIXED_POINT_16: return quantize<uint16_t>(values, step, memory);
    case QNN_DATATYPE_SFIXED_POINT_16: return quantize<int16_t>(values, step, memory);
    default: std::memcpy(memory, values.data(), values.size() * sizeof(float));
  }
}

std::vector<float> Tensors::read(uint32_t index) const {
  const Qnn_ScaleOffset_t& step = m_tensors[index].v1.quantizeParams.scaleOffsetEncoding;
  const uint8_t* memory = m_memory[index].data();
  std::vector<float> values(elements(index));
  switch (m_tensors[index].v1.dataType) {
    case QNN_DATATYPE_UFIXED_POINT_8: dequantize<uint8_t>(memory, step, values); break;
    case QNN_DATATYPE_SFIXED_POINT_8: dequantize<int8_t>(memory, step, values); break;
    case QNN_DATATYPE_UFIXED_POINT_16: dequantize<uint16_t>(memory, step, values); break;
    case QNN_DATATYPE_SFIXED_POINT_16: dequantize<int16_t>(memory, step, values); break;
    default: std::memcpy(values.data(), memory, values.size() * sizeof(float));
  }
  return values;
}

std::vector<uint8_t> readBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void writeBytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path);
}

std::vector<float> readFile(const std::string& path, size_t elements) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> values(elements);
  const auto wanted = static_cast<std::streamsize>(elements * sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()), wanted);
  if (file.gcount() != wanted || file.peek() != EOF) {
    throw std::runtime_error(path + " does not hold the " + std::to_string(elements) + " float32 values of the input");
  }
  return values;
}

void writeFile(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!file) throw std::runtime_error("cannot write " + path);
}
