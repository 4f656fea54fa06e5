// SPDX-License-Identifier: Apache-2.0
// Nodes: an op configuration as JSON, for a graph or for validation alone.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define LONGEST_NAME 4096
#define MOST_PARAMS 4096
#define MOST_TENSORS (1u << 16)

typedef struct {
  Graph* graph;
  Log* log;
  // An op that is validated brings its tensors with it.
  bool is_alone;
} Target;

static bool add_client_text(Text* text, const char* from) {
  char* words = read_client_text(from, LONGEST_NAME);
  const bool is_fit = words != NULL && words[0] != 0 && add_quoted(text, words);
  free(words);
  return is_fit;
}

static Record* create_alone(const Target* target, const Qnn_Tensor_t* given, Code* code) {
  Record record;
  *code = read_record(target->log, given, target->graph->file, &target->graph->file_bytes, false, &record);
  if (*code != 0) return NULL;
  Record* added = add_record(target->graph, record);
  if (added == NULL) {
    free_record(&record);
    *code = NO_MEMORY;
  }
  return added;
}

// Tensors are known by their names, which are unique; an id that is given must be that tensor's.
static Record* find_tensor(const Target* target, const Qnn_Tensor_t* given, Code* code) {
  Graph* graph = target->graph;
  char* name = read_client_text(given->v1.name, LONGEST_NAME);
  Record* found = name == NULL ? NULL : find_record(graph, name);
  if (!target->is_alone && name == NULL && given->v1.id >= 1 && given->v1.id <= graph->count) found = &graph->records[given->v1.id - 1];
  if (!target->is_alone && found != NULL && given->v1.id != 0 && given->v1.id != found->id) {
    *code = refuse(target->log, GRAPH_TENSOR, "tensor '%s' has id %u, expected %u", found->name, given->v1.id, found->id);
    found = NULL;
  } else if (found == NULL && !target->is_alone) {
    *code = refuse(target->log, GRAPH_TENSOR, "tensor '%s' is not one of graph '%s'", name == NULL ? "?" : name, graph->name);
  }
  free(name);
  return found;
}

static Record* find_input(const Target* target, Qnn_Tensor_t given, Code* code) {
  Record* found = find_tensor(target, &given, code);
  if (found == NULL && target->is_alone) {
    // What another node computes, or a constant whose values are not told: an input of this one.
    const bool is_constant = given.v1.type == QNN_TENSOR_TYPE_STATIC && given.v1.memType == QNN_TENSORMEMTYPE_RAW && given.v1.clientBuf.data != NULL;
    if (!is_constant && given.v1.type != QNN_TENSOR_TYPE_NULL) given.v1.type = QNN_TENSOR_TYPE_APP_WRITE;
    found = create_alone(target, &given, code);
  }
  if (found == NULL) return NULL;
  const bool is_made_here = found->type == QNN_TENSOR_TYPE_NATIVE || found->type == QNN_TENSOR_TYPE_APP_READ;
  if (!is_made_here || found->is_written) return found;
  *code = refuse(target->log, NODE_ORDER, "tensor '%s' is read before a node writes it", found->name);
  return NULL;
}

static Record* find_output(const Target* target, Qnn_Tensor_t given, Code* code) {
  Record* found = find_tensor(target, &given, code);
  if (found == NULL && target->is_alone) {
    given.v1.type = QNN_TENSOR_TYPE_APP_READ;
    found = create_alone(target, &given, code);
  }
  if (found == NULL) return NULL;
  const bool is_made_here = found->type == QNN_TENSOR_TYPE_NATIVE || found->type == QNN_TENSOR_TYPE_APP_READ;
  if (is_made_here && !found->is_written) {
    found->is_written = true;
    return found;
  }
  *code = refuse(target->log, OP_CONFIG, "tensor '%s' cannot be written by this node: %s", found->name,
                 is_made_here ? "another one writes it" : "it is no result");
  return NULL;
}

static Code add_tensors(const Target* target, const char* key, const Qnn_Tensor_t* client, uint32_t count, bool is_input, Text* text) {
  Code code = 0;
  if (count > MOST_TENSORS) return refuse(target->log, OP_CONFIG, "the op has %u %s", count, key);
  Qnn_Tensor_t* tensors = read_client_array(client, count, sizeof(Qnn_Tensor_t));
  if (tensors == NULL) return refuse(target->log, OP_CONFIG, "the %s of the op cannot be read", key);
  add_text(text, ",\"%s\":[", key);
  for (uint32_t i = 0; code == 0 && i < count; ++i) {
    const Record* found = is_input ? find_input(target, tensors[i], &code) : find_output(target, tensors[i], &code);
    if (i > 0) add_bytes(text, ",", 1);
    if (found != NULL) add_quoted(text, found->name);
  }
  add_text(text, "]");
  free(tensors);
  return code;
}

static Code add_tensor_param(const Target* target, const Qnn_Tensor_t* given, Text* text) {
  char* name = read_client_text(given->v1.name, LONGEST_NAME);
  Record* created = name == NULL ? NULL : find_record(target->graph, name);
  free(name);
  if (created != NULL && created->type == QNN_TENSOR_TYPE_STATIC) {
    created->is_param = true;
    add_bytes(text, created->json, strlen(created->json));
    return 0;
  }
  Record own;
  const Code code = read_record(target->log, given, target->graph->file, &target->graph->file_bytes, true, &own);
  if (code != 0) return code;
  add_bytes(text, own.json, strlen(own.json));
  const bool is_static = own.type == QNN_TENSOR_TYPE_STATIC;
  free_record(&own);
  return is_static ? 0 : refuse(target->log, OP_CONFIG, "a tensor parameter is not static");
}

static Code add_params(const Target* target, const Qnn_Param_t* params, uint32_t count, uint32_t kind, Text* text) {
  Code code = 0;
  bool is_first = true;
  for (uint32_t i = 0; code == 0 && i < count; ++i) {
    if ((uint32_t)params[i].paramType > QNN_PARAMTYPE_TENSOR) return refuse(target->log, OP_CONFIG, "a parameter has kind %u", (unsigned)params[i].paramType);
    if ((uint32_t)params[i].paramType != kind) continue;
    if (!is_first) add_bytes(text, ",", 1);
    is_first = false;
    if (!add_client_text(text, params[i].name)) return refuse(target->log, OP_CONFIG, "a parameter has no name");
    add_bytes(text, ":", 1);
    code = kind == QNN_PARAMTYPE_SCALAR ? read_scalar(target->log, &params[i].scalarParam, text)
                                        : add_tensor_param(target, &params[i].tensorParam, text);
  }
  return code;
}

static Code write_params(const Target* target, const Qnn_OpConfigV1_t* op, Text* text) {
  if (op->numOfParams > MOST_PARAMS) return refuse(target->log, OP_CONFIG, "the op has %u parameters", op->numOfParams);
  Qnn_Param_t* params = read_client_array(op->params, op->numOfParams, sizeof(Qnn_Param_t));
  if (params == NULL) return refuse(target->log, OP_CONFIG, "the parameters of the op cannot be read");
  add_text(text, ",\"scalars\":{");
  Code code = add_params(target, params, op->numOfParams, QNN_PARAMTYPE_SCALAR, text);
  add_text(text, "},\"params\":{");
  if (code == 0) code = add_params(target, params, op->numOfParams, QNN_PARAMTYPE_TENSOR, text);
  add_text(text, "}");
  free(params);
  return code;
}

static Code write_node(const Target* target, const Qnn_OpConfig_t* config, Text* text) {
  const Qnn_OpConfigV1_t* op = &config->v1;
  if (config->version != QNN_OPCONFIG_VERSION_1) return refuse(target->log, OP_CONFIG, "the op configuration has version %u", (unsigned)config->version);
  const char* const names[] = {op->name, op->packageName, op->typeName};
  const char* const keys[] = {"{\"name\":", ",\"package\":", ",\"type\":"};
  for (int i = 0; i < 3; ++i) {
    add_text(text, "%s", keys[i]);
    if (!add_client_text(text, names[i])) return refuse(target->log, OP_CONFIG, "an op needs a name, a package and a type");
  }
  Code code = write_params(target, op, text);
  if (code == 0) code = add_tensors(target, "inputs", op->inputTensors, op->numOfInputs, true, text);
  if (code == 0) code = add_tensors(target, "outputs", op->outputTensors, op->numOfOutputs, false, text);
  add_text(text, ",\"macs\":0}");
  return code != 0 ? code : text->is_failed ? NO_MEMORY : 0;
}

static Code add_to(const Target* target, const Qnn_OpConfig_t* config) {
  Graph* graph = target->graph;
  Text text = {0};
  const Code code = write_node(target, config, &text);
  if (code == 0) {
    if (graph->nodes_count++ > 0) add_bytes(&graph->nodes, ",", 1);
    add_bytes(&graph->nodes, text.bytes, text.size);
  }
  free_text(&text);
  return code != 0 ? code : graph->nodes.is_failed ? NO_MEMORY : 0;
}

Code add_node(const void* handle, Qnn_OpConfig_t config) {
  Graph* graph = hold(handle, GRAPH);
  if (graph == NULL) return refuse(NULL, GRAPH_HANDLE, "graphAddNode: the graph handle is invalid");
  const Target target = {graph, log_of(&graph->object), false};
  pthread_mutex_lock(&graph->lock);
  const Code code = graph->state == OPEN ? add_to(&target, &config)
                                         : refuse(target.log, GRAPH_FINALIZED, "graph '%s' is finalized: it takes no nodes", graph->name);
  pthread_mutex_unlock(&graph->lock);
  drop(graph);
  return code;
}

static Code ask_about(Log* log, Graph* graph) {
  Text text = write_graph(graph);
  Code code = text.is_failed || ftruncate(graph->file, (off_t)(graph->file_bytes + 64)) != 0 ? NO_MEMORY : 0;
  Head head = {.request = ASK_VALIDATE, .bytes = text.size};
  if (code == 0) code = ask_worker(log, &head, text.bytes, graph->file, NULL, NULL);
  free_text(&text);
  return code;
}

Code validate_op(const void* handle, Qnn_OpConfig_t config) {
  Backend* backend = hold(handle, BACKEND);
  if (backend == NULL) return refuse(NULL, BACKEND_HANDLE, "backendValidateOpConfig: the handle is invalid");
  Graph alone = {.name = strdup("op"), .file = make_memory("edgewright-op")};
  make_lock(&alone.lock);
  const Target target = {&alone, backend->log, true};
  Code code = alone.name == NULL || alone.file < 0 ? NO_MEMORY : add_to(&target, &config);
  if (code == 0) code = ask_about(backend->log, &alone);
  clear_graph(&alone);
  drop(backend);
  return code;
}
