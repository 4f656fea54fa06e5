// SPDX-License-Identifier: Apache-2.0
// A client's tensors and scalars as records: copied, checked, and written as the JSON of a context binary.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define LONGEST_NAME 4096
#define LARGEST_RANK 32
#define LARGEST_TENSOR (1ull << 40)
#define ALIGNMENT 64
#define MOST_SCALES (1u << 24)

uint64_t measure_element(uint32_t data_type) {
  switch (data_type) {
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

static bool is_fixed_point(uint32_t data_type) { return data_type >= 0x300 && data_type < 0x500; }

static void add_number(Text* text, double value, int digits) {
  if (isnan(value)) add_text(text, "\"nan\"");
  else if (isinf(value)) add_text(text, value > 0 ? "\"inf\"" : "\"-inf\"");
  else add_text(text, "%.*g", digits, value);
}

// ---- encodings

typedef struct {
  uint32_t bits, count;
  int32_t axis;  // -1: one step for the whole tensor
  Qnn_ScaleOffset_t* steps;
  uint32_t blocks;  // 0: none
  uint8_t* factors;
} Steps;

static void free_steps(Steps* steps) {
  free(steps->steps);
  free(steps->factors);
}

static bool set_single(Steps* steps, uint32_t bits, float scale, int32_t offset) {
  steps->steps = malloc(sizeof(Qnn_ScaleOffset_t));
  if (steps->steps == NULL) return false;
  *steps->steps = (Qnn_ScaleOffset_t){scale, offset};
  steps->bits = bits;
  steps->count = 1;
  steps->axis = -1;
  return true;
}

static bool read_separate(Steps* steps, const Qnn_BwAxisScaleOffset_t* many) {
  float* scales = read_client_array(many->scales, many->numElements, sizeof(float));
  int32_t* offsets = many->offsets == NULL ? calloc(many->numElements + 1u, sizeof(int32_t))
                                           : read_client_array(many->offsets, many->numElements, sizeof(int32_t));
  steps->steps = scales == NULL || offsets == NULL ? NULL : calloc(many->numElements + 1u, sizeof(Qnn_ScaleOffset_t));
  for (uint32_t i = 0; steps->steps != NULL && i < many->numElements; ++i) {
    steps->steps[i] = (Qnn_ScaleOffset_t){scales[i], offsets[i]};
  }
  free(scales);
  free(offsets);
  *steps = (Steps){many->bitwidth, many->numElements, many->axis, steps->steps, 0, NULL};
  return steps->steps != NULL;
}

static bool read_expansion(Steps* steps, const void* from, const Record* record) {
  Qnn_BlockwiseExpansion_t found;
  if (!read_client(&found, from, sizeof(found)) || found.axis < 0 || (uint32_t)found.axis >= record->rank) return false;
  const uint32_t count = record->dims[found.axis];
  if (found.blockScaleStorageType != 0 || found.blockScaleBitwidth != 4 || found.numBlocksPerAxis == 0) return false;
  if ((uint64_t)count * found.numBlocksPerAxis > MOST_SCALES) return false;
  *steps = (Steps){4, count, found.axis, read_client_array(found.scaleOffsets, count, sizeof(Qnn_ScaleOffset_t)),
                   found.numBlocksPerAxis, read_client_array(found.blocksScale8, (uint64_t)count * found.numBlocksPerAxis, 1)};
  return steps->steps != NULL && steps->factors != NULL;
}

static bool read_steps(Steps* steps, const Qnn_QuantizeParams_t* given, const Record* record) {
  const uint32_t bits = (uint32_t)measure_element(record->data_type) * 8;
  const Qnn_AxisScaleOffset_t* along = &given->axisScaleOffsetEncoding;
  switch ((uint32_t)given->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
      return set_single(steps, bits, given->scaleOffsetEncoding.scale, given->scaleOffsetEncoding.offset);
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
      return set_single(steps, given->bwScaleOffsetEncoding.bitwidth, given->bwScaleOffsetEncoding.scale,
                        given->bwScaleOffsetEncoding.offset);
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
      if (along->numScaleOffsets > MOST_SCALES) return false;
      *steps = (Steps){bits, along->numScaleOffsets, along->axis,
                       read_client_array(along->scaleOffset, along->numScaleOffsets, sizeof(Qnn_ScaleOffset_t)), 0, NULL};
      return steps->steps != NULL;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
      return given->bwAxisScaleOffsetEncoding.numElements <= MOST_SCALES && read_separate(steps, &given->bwAxisScaleOffsetEncoding);
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION: return read_expansion(steps, given->blockwiseExpansion, record);
    default: return false;
  }
}

static bool are_possible(const Steps* steps, const Record* record) {
  const bool is_along = steps->axis >= 0 && (uint32_t)steps->axis < record->rank;
  if (steps->axis < -1 || (steps->axis >= 0 && !is_along) || steps->count != (is_along ? record->dims[steps->axis] : 1)) return false;
  for (uint32_t i = 0; i < steps->count; ++i) {
    if (!isfinite(steps->steps[i].scale) || steps->steps[i].scale < 0) return false;
  }
  return steps->bits >= 1 && steps->bits <= measure_element(record->data_type) * 8;
}

// Blocks lie along the other of the last two axes, and are of one size.
static bool add_blocks(Text* text, const Steps* steps, const Record* record) {
  const uint32_t axis = (uint32_t)steps->axis, last = record->rank - 1;
  if (record->rank < 2 || axis + 1 < last) return false;
  const uint32_t along = axis == last ? last - 1 : last;
  if (record->dims[along] == 0 || record->dims[along] % steps->blocks != 0) return false;
  add_text(text, ",\"blocks\":{\"axis\":%u,\"size\":%u,\"scales\":[", along, record->dims[along] / steps->blocks);
  for (uint64_t i = 0; i < (uint64_t)steps->count * steps->blocks; ++i) add_text(text, i ? ",%u" : "%u", steps->factors[i]);
  add_text(text, "]}");
  return true;
}

static bool add_encoding(Text* text, const Qnn_QuantizeParams_t* given, Record* record) {
  Steps steps = {0};
  bool is_fit = read_steps(&steps, given, record) && are_possible(&steps, record);
  if (is_fit) {
    add_text(text, ",\"encoding\":{\"bitwidth\":%u,\"scales\":[", steps.bits);
    for (uint32_t i = 0; i < steps.count; ++i) {
      if (i) add_bytes(text, ",", 1);
      add_number(text, steps.steps[i].scale, 9);
    }
    add_text(text, "],\"offsets\":[");
    for (uint32_t i = 0; i < steps.count; ++i) add_text(text, i ? ",%" PRId32 : "%" PRId32, steps.steps[i].offset);
    add_text(text, "]");
    if (steps.axis >= 0) add_text(text, ",\"axis\":%" PRId32, steps.axis);
    if (steps.blocks > 0) is_fit = add_blocks(text, &steps, record);
    add_text(text, "}");
  }
  free_steps(&steps);
  return is_fit;
}

// ---- tensors

static Code read_shape(Log* log, const Qnn_TensorV1_t* given, Record* record) {
  const uint64_t element = measure_element(given->dataType);
  if (given->type == QNN_TENSOR_TYPE_NULL) return 0;
  if (element == 0) return refuse(log, TENSOR_REFUSED, "tensor '%s' has data type 0x%x", record->name, (unsigned)given->dataType);
  if (given->rank > LARGEST_RANK) return refuse(log, TENSOR_REFUSED, "tensor '%s' has %u dimensions", record->name, given->rank);
  record->dims = read_client_array(given->dimensions, given->rank, sizeof(uint32_t));
  if (record->dims == NULL) return refuse(log, TENSOR_ARGUMENT, "the dimensions of tensor '%s' cannot be read", record->name);
  record->rank = given->rank;
  record->bytes = element;
  for (uint32_t i = 0; i < given->rank; ++i) {
    if (record->dims[i] == 0) return refuse(log, TENSOR_REFUSED, "dimension %u of tensor '%s' is 0", i, record->name);
    if (__builtin_mul_overflow(record->bytes, (uint64_t)record->dims[i], &record->bytes) || record->bytes > LARGEST_TENSOR) {
      return refuse(log, TENSOR_REFUSED, "tensor '%s' is too large", record->name);
    }
  }
  return 0;
}

static Code check_version(Log* log, const Qnn_Tensor_t* tensor, const char* name) {
  const Qnn_TensorV2_t* newer = &tensor->v2;
  if (tensor->version == QNN_TENSOR_VERSION_1) return 0;
  if (tensor->version != QNN_TENSOR_VERSION_2) return refuse(log, TENSOR_REFUSED, "tensor '%s' has version %u", name, (unsigned)tensor->version);
  if (newer->rank > LARGEST_RANK || newer->isDynamicDimensions == NULL) return 0;
  uint8_t* flags = read_client_array(newer->isDynamicDimensions, newer->rank, 1);
  bool is_dynamic = false;
  for (uint32_t i = 0; flags != NULL && i < newer->rank; ++i) is_dynamic = is_dynamic || flags[i] != 0;
  const bool is_read = flags != NULL;
  free(flags);
  if (!is_read) return refuse(log, TENSOR_ARGUMENT, "the dynamic dimensions of tensor '%s' cannot be read", name);
  return is_dynamic ? refuse(log, TENSOR_REFUSED, "tensor '%s' has dynamic dimensions", name) : 0;
}

static Code read_data(Log* log, const Qnn_TensorV1_t* given, int file, uint64_t* at, bool is_needed, Record* record, Text* text) {
  if (given->memType != QNN_TENSORMEMTYPE_RAW) return refuse(log, TENSOR_REFUSED, "static tensor '%s' is no raw memory", record->name);
  if (given->clientBuf.data == NULL && !is_needed) return 0;
  if (given->clientBuf.dataSize != record->bytes) {
    return refuse(log, TENSOR_REFUSED, "static tensor '%s' has %u bytes, expected %" PRIu64, record->name, given->clientBuf.dataSize,
                  record->bytes);
  }
  if (given->clientBuf.data == NULL || !write_file(file, given->clientBuf.data, record->bytes, *at)) {
    return refuse(log, TENSOR_ARGUMENT, "the data of static tensor '%s' cannot be read", record->name);
  }
  add_text(text, ",\"data\":%" PRIu64, *at);
  *at += (record->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return 0;
}

static Code describe(Log* log, const Qnn_TensorV1_t* given, int file, uint64_t* at, bool is_data_needed, Record* record, Text* text) {
  Code code = read_shape(log, given, record);
  if (code != 0) return code;
  add_text(text, "{\"name\":");
  if (!add_quoted(text, record->name)) return refuse(log, TENSOR_NAME, "the name of a tensor is not UTF-8");
  // A tensor that stands for nothing has a type, too: any.
  const uint32_t data_type = given->type == QNN_TENSOR_TYPE_NULL ? (uint32_t)QNN_DATATYPE_FLOAT_32 : given->dataType;
  add_text(text, ",\"kind\":%u,\"dtype\":%u,\"dims\":[", record->type, data_type);
  for (uint32_t i = 0; i < record->rank; ++i) add_text(text, i ? ",%u" : "%u", record->dims[i]);
  add_text(text, "]");
  if (is_fixed_point(data_type) && given->quantizeParams.encodingDefinition == QNN_DEFINITION_DEFINED &&
      !add_encoding(text, &given->quantizeParams, record)) {
    return refuse(log, TENSOR_REFUSED, "the encoding of tensor '%s' (kind %u) is not one that is known, finite and as long as its axis",
                  record->name, (unsigned)given->quantizeParams.quantizationEncoding);
  }
  if (record->type == QNN_TENSOR_TYPE_STATIC) code = read_data(log, given, file, at, is_data_needed, record, text);
  add_text(text, "}");
  return code != 0 ? code : text->is_failed ? NO_MEMORY : 0;
}

Code read_record(Log* log, const Qnn_Tensor_t* tensor, int file, uint64_t* at, bool is_data_needed, Record* record) {
  const Qnn_TensorV1_t* given = &tensor->v1;
  Text text = {0};
  memset(record, 0, sizeof(*record));
  record->name = read_client_text(given->name, LONGEST_NAME);
  if (record->name == NULL || record->name[0] == 0) {
    free_record(record);
    return refuse(log, TENSOR_NAME, "a tensor has no name of 1 to %d bytes", LONGEST_NAME);
  }
  record->type = given->type;
  record->data_type = given->dataType;
  Code code = check_version(log, tensor, record->name);
  const bool is_known = record->type <= QNN_TENSOR_TYPE_NULL && record->type != QNN_TENSOR_TYPE_APP_READWRITE;
  if (code == 0 && !is_known) code = refuse(log, TENSOR_REFUSED, "tensor '%s' has type %u", record->name, record->type);
  if (code == 0) code = describe(log, given, file, at, is_data_needed, record, &text);
  record->json = text.bytes;
  if (code != 0) free_record(record);
  return code;
}

void free_record(Record* record) {
  free(record->name);
  free(record->json);
  free(record->dims);
  memset(record, 0, sizeof(*record));
}

// ---- scalars

Code read_scalar(Log* log, const Qnn_Scalar_t* scalar, Text* text) {
  add_text(text, "[%u,", (unsigned)scalar->dataType);
  switch ((uint32_t)scalar->dataType) {
    case QNN_DATATYPE_INT_8: add_text(text, "%d", scalar->int8Value); break;
    case QNN_DATATYPE_INT_16: add_text(text, "%d", scalar->int16Value); break;
    case QNN_DATATYPE_INT_32: add_text(text, "%" PRId32, scalar->int32Value); break;
    case QNN_DATATYPE_INT_64: add_text(text, "%" PRId64, scalar->int64Value); break;
    case QNN_DATATYPE_UINT_8: add_text(text, "%u", scalar->uint8Value); break;
    case QNN_DATATYPE_UINT_16: add_text(text, "%u", scalar->uint16Value); break;
    case QNN_DATATYPE_UINT_32: add_text(text, "%" PRIu32, scalar->uint32Value); break;
    case QNN_DATATYPE_UINT_64: add_text(text, "%" PRIu64, scalar->uint64Value); break;
    case QNN_DATATYPE_BOOL_8: add_text(text, scalar->bool8Value ? "true" : "false"); break;
    case QNN_DATATYPE_FLOAT_32: add_number(text, scalar->floatValue, 9); break;
    case QNN_DATATYPE_FLOAT_64: add_number(text, scalar->doubleValue, 17); break;
    case QNN_DATATYPE_STRING: {
      char* words = read_client_text(scalar->stringValue, LONGEST_NAME);
      const bool is_fit = words != NULL && add_quoted(text, words);
      free(words);
      if (!is_fit) return refuse(log, OP_CONFIG, "a text parameter cannot be read");
      break;
    }
    default: return refuse(log, OP_CONFIG, "a scalar parameter has data type 0x%x", (unsigned)scalar->dataType);
  }
  add_text(text, "]");
  return 0;
}
