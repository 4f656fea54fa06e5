// SPDX-License-Identifier: Apache-2.0
// The worker's description of a context binary as QNN's structs, whose memory lives as long as the description.
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define MOST_GRAPHS 1000u
#define MOST_TENSORS 65536u
#define LARGEST_RANK 32u
#define NO_ENCODING 0xFFFFFFFFu

struct Block {
  Block* next;
  char bytes[];
};
typedef struct {
  const char* at;
  uint64_t left;
  Info* info;
  bool is_failed;
} Cursor;

static void* reserve(Cursor* cursor, uint64_t count, size_t element) {
  Block* block = cursor->is_failed ? NULL : calloc(1, sizeof(Block) + count * element + 1);
  if (block == NULL) {
    cursor->is_failed = true;
    return NULL;
  }
  block->next = cursor->info->blocks;
  cursor->info->blocks = block;
  return block->bytes;
}

static bool take_bytes(Cursor* cursor, void* to, uint64_t bytes) {
  if (cursor->is_failed || to == NULL || bytes > cursor->left) {
    cursor->is_failed = true;
    return false;
  }
  memcpy(to, cursor->at, bytes);
  cursor->at += bytes;
  cursor->left -= bytes;
  return true;
}

static uint32_t take_number(Cursor* cursor, uint32_t most) {
  uint32_t number = 0;
  if (!take_bytes(cursor, &number, sizeof(number))) return 0;
  if (number > most && number != NO_ENCODING) cursor->is_failed = true;
  return cursor->is_failed ? 0 : number;
}

static const char* take_words(Cursor* cursor) {
  const uint32_t length = take_number(cursor, 1u << 20);
  char* words = reserve(cursor, length, 1);
  take_bytes(cursor, words, length);
  return words;
}

static void take_encoding(Cursor* cursor, Qnn_QuantizeParams_t* params, uint32_t full_bits) {
  const uint32_t kind = take_number(cursor, 3);
  if (kind == NO_ENCODING) {
    params->encodingDefinition = QNN_DEFINITION_UNDEFINED;
    params->quantizationEncoding = QNN_QUANTIZATION_ENCODING_UNDEFINED;
    return;
  }
  const uint32_t bits = take_number(cursor, full_bits), axis = take_number(cursor, LARGEST_RANK), count = take_number(cursor, 1u << 24);
  Qnn_ScaleOffset_t* steps = reserve(cursor, count + 1ull, sizeof(Qnn_ScaleOffset_t));
  if (!take_bytes(cursor, steps, (uint64_t)count * sizeof(Qnn_ScaleOffset_t))) return;
  params->encodingDefinition = QNN_DEFINITION_DEFINED;
  params->quantizationEncoding = (Qnn_QuantizationEncoding_t)kind;
  if (kind == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET) params->scaleOffsetEncoding = steps[0];
  else if (kind == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET) params->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){bits, steps[0].scale, steps[0].offset};
  else params->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){(int32_t)axis, count, steps};
}

static void take_tensor(Cursor* cursor, Qnn_Tensor_t* tensor) {
  Qnn_TensorV1_t* given = &tensor->v1;
  tensor->version = QNN_TENSOR_VERSION_1;
  given->name = take_words(cursor);
  given->id = take_number(cursor, UINT32_MAX - 1);
  given->type = (Qnn_TensorType_t)take_number(cursor, 5);
  given->dataType = (Qnn_DataType_t)take_number(cursor, 0xFFFF);
  given->rank = take_number(cursor, LARGEST_RANK);
  given->dimensions = reserve(cursor, given->rank, sizeof(uint32_t));
  take_bytes(cursor, given->dimensions, (uint64_t)given->rank * sizeof(uint32_t));
  take_encoding(cursor, &given->quantizeParams, (uint32_t)measure_element(given->dataType) * 8);
}

static Qnn_Tensor_t* take_tensors(Cursor* cursor, uint32_t* count) {
  *count = take_number(cursor, MOST_TENSORS);
  Qnn_Tensor_t* tensors = reserve(cursor, *count, sizeof(Qnn_Tensor_t));
  for (uint32_t i = 0; !cursor->is_failed && i < *count; ++i) take_tensor(cursor, &tensors[i]);
  return tensors;
}

Info* read_info(const char* blob, uint64_t bytes) {
  Info* info = calloc(1, sizeof(Info));
  if (info == NULL) return NULL;
  Cursor cursor = {blob, bytes, info, false};
  QnnSystemContext_BinaryInfoV3_t* binary = &info->binary.contextBinaryInfoV3;
  info->binary.version = 3;
  binary->backendId = take_number(&cursor, 100);
  binary->buildId = take_words(&cursor);
  binary->socVersion = "";
  binary->coreApiVersion = (Qnn_Version_t){2, 40, 0};
  binary->backendApiVersion = (Qnn_Version_t){1, 0, 0};
  binary->contextBlobVersion = (Qnn_Version_t){1, 0, 0};
  binary->socModel = take_number(&cursor, 0xFFFF);
  binary->numGraphs = take_number(&cursor, MOST_GRAPHS);
  binary->graphs = reserve(&cursor, binary->numGraphs, sizeof(QnnSystemContext_GraphInfo_t));
  for (uint32_t i = 0; !cursor.is_failed && i < binary->numGraphs; ++i) {
    QnnSystemContext_GraphInfoV3_t* graph = &binary->graphs[i].graphInfoV3;
    binary->graphs[i].version = 3;
    graph->graphName = take_words(&cursor);
    graph->graphInputs = take_tensors(&cursor, &graph->numGraphInputs);
    graph->graphOutputs = take_tensors(&cursor, &graph->numGraphOutputs);
  }
  if (!cursor.is_failed) return info;
  free_info(info);
  return NULL;
}

void free_info(Info* info) {
  for (Block *block = info->blocks, *next; block != NULL; block = next) {
    next = block->next;
    free(block);
  }
  free(info);
}

// ---- graphs of a binary that is loaded

static bool add_io(Graph* graph, const Qnn_Tensor_t* tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const Qnn_TensorV1_t* given = &tensors[i].v1;
    Record record = {.name = strdup(given->name), .type = given->type, .data_type = given->dataType};
    record.bytes = measure_element(given->dataType);
    for (uint32_t axis = 0; axis < given->rank; ++axis) record.bytes *= given->dimensions[axis];
    Record* added = record.name == NULL ? NULL : add_record(graph, record);
    if (added == NULL || added->id != given->id) {
      if (added == NULL) free_record(&record);
      return false;
    }
  }
  return true;
}

Code read_graphs(Context* context, const char* blob, uint64_t bytes) {
  Info* info = read_info(blob, bytes);
  if (info == NULL) return refuse(log_of(&context->object), BAD_BINARY, "the description of the binary cannot be read");
  bool is_fit = true;
  for (uint32_t i = 0; is_fit && i < info->binary.contextBinaryInfoV3.numGraphs; ++i) {
    const QnnSystemContext_GraphInfoV3_t* found = &info->binary.contextBinaryInfoV3.graphs[i].graphInfoV3;
    Graph* graph = make_graph(context, found->graphName);
    is_fit = graph != NULL && add_io(graph, found->graphInputs, found->numGraphInputs) &&
             add_io(graph, found->graphOutputs, found->numGraphOutputs);
    if (!is_fit) {
      drop(graph);
      break;
    }
    graph->remote = i;
    place_tensors(graph);
    __atomic_store_n(&graph->state, READY, __ATOMIC_RELEASE);
    publish(graph);
  }
  free_info(info);
  return is_fit ? 0 : NO_MEMORY;
}
