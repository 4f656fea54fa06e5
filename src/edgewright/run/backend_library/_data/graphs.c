// SPDX-License-Identifier: Apache-2.0
// Graphs: their tensors, and how they are finished.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define LONGEST_NAME 4096
#define MOST_TENSORS (1u << 22)

// A client's log function may call the library again while a lock is held.
void make_lock(pthread_mutex_t* lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void clear_graph(Graph* graph) {
  for (uint32_t i = 0; i < graph->count; ++i) free_record(&graph->records[i]);
  free(graph->records);
  free(graph->index);
  free(graph->name);
  free_text(&graph->nodes);
  if (graph->file >= 0) close(graph->file);
  pthread_mutex_destroy(&graph->lock);
}

static void destroy_graph(Object* object) {
  clear_graph((Graph*)object);
}

Graph* make_graph(Context* context, const char* name) {
  char* copy = strdup(name);
  const int file = make_memory("edgewright-graph");
  Graph* graph = copy == NULL || file < 0 ? NULL : make_object(sizeof(Graph), GRAPH, &context->object, NULL);
  if (graph == NULL) {
    free(copy);
    if (file >= 0) close(file);
    return NULL;
  }
  make_lock(&graph->lock);
  graph->name = copy;
  graph->file = file;
  graph->remote = graph->object.number;
  graph->object.destroy = destroy_graph;
  return graph;
}

// ---- tensors by name

static uint32_t hash_name(const char* name) {
  uint32_t hash = 2166136261u;
  for (; *name != 0; ++name) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return hash;
}

static uint32_t* find_place(const Graph* graph, const char* name) {
  uint32_t place = hash_name(name) & (graph->index_room - 1);
  while (graph->index[place] != 0 && strcmp(graph->records[graph->index[place] - 1].name, name) != 0) {
    place = (place + 1) & (graph->index_room - 1);
  }
  return &graph->index[place];
}

Record* find_record(Graph* graph, const char* name) {
  if (graph->index_room == 0) return NULL;
  const uint32_t number = *find_place(graph, name);
  return number == 0 ? NULL : &graph->records[number - 1];
}

static bool make_room(Graph* graph) {
  if (graph->count < graph->room) return true;
  const uint32_t room = graph->room == 0 ? 64 : graph->room * 2;
  Record* records = realloc(graph->records, room * sizeof(Record));
  if (records == NULL) return false;
  graph->records = records;
  graph->room = room;
  uint32_t* index = calloc(room * 4u, sizeof(uint32_t));
  if (index == NULL) return false;
  free(graph->index);
  graph->index = index;
  graph->index_room = room * 4;
  for (uint32_t i = 0; i < graph->count; ++i) *find_place(graph, graph->records[i].name) = i + 1;
  return true;
}

Record* add_record(Graph* graph, Record record) {
  if (graph->count >= MOST_TENSORS || !make_room(graph)) return NULL;
  record.id = graph->count + 1;
  graph->records[graph->count] = record;
  *find_place(graph, record.name) = ++graph->count;
  return &graph->records[graph->count - 1];
}

static Code create_in(Graph* graph, Qnn_Tensor_t* tensor) {
  Record record;
  Log* log = log_of(&graph->object);
  if (graph->state != OPEN) return refuse(log, GRAPH_FINALIZED, "graph '%s' is finalized: it takes no tensors", graph->name);
  Code code = read_record(log, tensor, graph->file, &graph->file_bytes, true, &record);
  if (code != 0) return code;
  if (find_record(graph, record.name) != NULL) {
    code = refuse(log, TENSOR_NAME, "graph '%s' has a tensor '%s' already", graph->name, record.name);
  } else {
    const Record* added = add_record(graph, record);
    if (added != NULL) {
      tensor->v1.id = added->id;
      return 0;
    }
    code = NO_MEMORY;
  }
  free_record(&record);
  return code;
}

static Code create_graph_tensor(const void* handle, Qnn_Tensor_t* tensor) {
  Qnn_Tensor_t given;
  Graph* graph = hold(handle, GRAPH);
  if (graph == NULL) return refuse(NULL, GRAPH_HANDLE, "tensorCreateGraphTensor: the graph handle is invalid");
  Code code = 0;
  if (!read_client(&given, tensor, sizeof(given))) {
    code = refuse(log_of(&graph->object), TENSOR_ARGUMENT, "tensorCreateGraphTensor: the tensor cannot be read");
  } else {
    pthread_mutex_lock(&graph->lock);
    code = create_in(graph, &given);
    pthread_mutex_unlock(&graph->lock);
  }
  if (code == 0 && !write_client(&tensor->v1.id, &given.v1.id, sizeof(uint32_t))) {
    code = refuse(log_of(&graph->object), TENSOR_ARGUMENT, "tensorCreateGraphTensor: the id cannot be written");
  }
  drop(graph);
  return code;
}

// ---- graphs by name

typedef struct {
  const char* name;
  Graph* found;
} Search;

static void match_name(Object* object, void* argument) {
  Search* search = argument;
  if (search->found != NULL || strcmp(((Graph*)object)->name, search->name) != 0) return;
  search->found = (Graph*)object;
  ++object->references;
}

static Graph* hold_named(const Context* context, const char* name) {
  Search search = {name, NULL};
  visit_children(&context->object, GRAPH, match_name, &search);
  return search.found;
}

static Code create_graph_in(Context* context, const char* name, void** handle) {
  Log* log = log_of(&context->object);
  Text quoted = {0};
  const bool is_fit = name != NULL && name[0] != 0 && add_quoted(&quoted, name);
  free_text(&quoted);
  if (!is_fit) return refuse(log, GRAPH_NAME, "a graph needs a name of 1 to %d bytes of UTF-8", LONGEST_NAME);
  // Under the lock of the context: two threads may not make graphs of one name.
  pthread_mutex_lock(&context->lock);
  Graph* taken = hold_named(context, name);
  Graph* graph = taken != NULL ? NULL : make_graph(context, name);
  Code code = graph == NULL ? NO_MEMORY : give_handle(graph, handle, GRAPH_ARGUMENT, "graphCreate");
  if (code == 0 && context->binary >= 0) {
    close(context->binary);
    context->binary = -1;
  }
  pthread_mutex_unlock(&context->lock);
  drop(taken);
  return taken != NULL ? refuse(log, GRAPH_NAME, "the context has a graph '%s' already", name) : code;
}

static Code create_graph(const void* context_handle, const char* client_name, const void** config, void** handle) {
  Context* context = hold(context_handle, CONTEXT);
  (void)config;
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "graphCreate: the context handle is invalid");
  char* name = read_client_text(client_name, LONGEST_NAME);
  const Code code = create_graph_in(context, name, handle);
  free(name);
  drop(context);
  return code;
}

static Code retrieve_graph(const void* context_handle, const char* client_name, void** handle) {
  Context* context = hold(context_handle, CONTEXT);
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "graphRetrieve: the context handle is invalid");
  char* name = read_client_text(client_name, LONGEST_NAME);
  Graph* graph = name == NULL ? NULL : hold_named(context, name);
  void* number = graph == NULL ? NULL : handle_of(graph);
  Code code = 0;
  if (name == NULL) code = refuse(log_of(&context->object), GRAPH_NAME, "graphRetrieve: the name cannot be read");
  else if (graph == NULL) code = refuse(log_of(&context->object), NO_SUCH_GRAPH, "the context has no graph '%s'", name);
  else if (!write_client(handle, &number, sizeof(number))) code = refuse(NULL, GRAPH_ARGUMENT, "graphRetrieve: no place for the handle");
  free(name);
  drop(graph);
  drop(context);
  return code;
}

static Code set_graph_config(const void* handle, const void** config) {
  Graph* graph = hold(handle, GRAPH);
  (void)config;
  if (graph == NULL) return refuse(NULL, GRAPH_HANDLE, "graphSetConfig: the handle is invalid");
  drop(graph);
  return 0;
}

// ---- finalizing

#define ALIGNMENT 64

void place_tensors(Graph* graph) {
  graph->io_bytes = 0;
  graph->inputs_count = 0;
  for (int type = QNN_TENSOR_TYPE_APP_WRITE; type <= QNN_TENSOR_TYPE_APP_READ; ++type) {
    for (uint32_t i = 0; i < graph->count; ++i) {
      Record* record = &graph->records[i];
      if (record->type != (uint32_t)type) continue;
      record->place = graph->io_bytes;
      graph->io_bytes += (record->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      graph->inputs_count += type == QNN_TENSOR_TYPE_APP_WRITE;
    }
  }
}

Text write_graph(const Graph* graph) {
  Text text = {0};
  bool is_first = true;
  add_bytes(&text, "{\"name\":", 8);
  add_quoted(&text, graph->name);
  add_text(&text, ",\"tensors\":[");
  for (uint32_t i = 0; i < graph->count; ++i) {
    // A tensor parameter belongs to its node.
    if (graph->records[i].is_param) continue;
    if (!is_first) add_bytes(&text, ",", 1);
    is_first = false;
    add_bytes(&text, graph->records[i].json, strlen(graph->records[i].json));
  }
  add_text(&text, "],\"nodes\":[");
  if (graph->nodes.size > 0) add_bytes(&text, graph->nodes.bytes, graph->nodes.size);
  add_text(&text, "],\"source_names\":{},\"forms\":{}}");
  return text;
}

static Code begin_finalizing(Graph* graph, Text* text) {
  Code code = 0;
  pthread_mutex_lock(&graph->lock);
  if (graph->state != OPEN) {
    code = refuse(log_of(&graph->object), GRAPH_FINALIZED, "graph '%s' was finalized before", graph->name);
  } else if (graph->nodes_count == 0) {
    code = refuse(log_of(&graph->object), FINALIZE_FAILED, "graph '%s' has no nodes", graph->name);
  } else {
    *text = write_graph(graph);
    if (text->is_failed || ftruncate(graph->file, (off_t)(graph->file_bytes + 64)) != 0) code = NO_MEMORY;
    else __atomic_store_n(&graph->state, FINALIZING, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&graph->lock);
  return code;
}

static Code finalize_held(Graph* graph, Profile* profile) {
  Text text = {0};
  const uint64_t start = read_clock();
  Code code = begin_finalizing(graph, &text);
  if (code == 0) {
    Head head = {.request = ASK_FINALIZE, .bytes = text.size, .first = graph->object.parent->number, .second = graph->remote};
    code = ask_worker(log_of(&graph->object), &head, text.bytes, graph->file, NULL, NULL);
    pthread_mutex_lock(&graph->lock);
    place_tensors(graph);
    __atomic_store_n(&graph->state, code == 0 ? READY : FAILED, __ATOMIC_RELEASE);
    // The worker has mapped the data.
    close(graph->file);
    graph->file = -1;
    free_text(&graph->nodes);
    pthread_mutex_unlock(&graph->lock);
    if (code == 0 && profile != NULL) record_event(profile, 300, read_clock() - start, graph->name, NULL);
  }
  free_text(&text);
  return code;
}

static Code finalize_graph(const void* handle, const void* profile_handle, const void* signal) {
  if (signal != NULL) return refuse(NULL, NOT_SUPPORTED, "graphFinalize: signals are not supported");
  Profile* profile = profile_handle == NULL ? NULL : hold(profile_handle, PROFILE);
  if (profile_handle != NULL && profile == NULL) return refuse(NULL, PROFILE_HANDLE, "graphFinalize: the profile handle is invalid");
  Graph* graph = hold(handle, GRAPH);
  Code code = graph == NULL ? refuse(NULL, GRAPH_HANDLE, "graphFinalize: the handle is invalid") : finalize_held(graph, profile);
  drop(graph);
  drop(profile);
  return code;
}

extern Code add_node(const void* handle, Qnn_OpConfig_t config);

const Function GRAPH_FUNCTIONS[] = {(Function)create_graph,   (Function)set_graph_config, (Function)add_node,
                                    (Function)finalize_graph, (Function)retrieve_graph,   (Function)create_graph_tensor};
