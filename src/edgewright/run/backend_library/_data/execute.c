// SPDX-License-Identifier: Apache-2.0
// Executions: inputs into the memory of a channel, one request, outputs out of it.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define MOST_TENSORS 65536u
#define MOST_UNDER_WAY 64

typedef struct {
  Code error;
} NotifyStatus;
typedef void (*Notify)(void* argument, NotifyStatus status);

// One execution: what the client gave, copied.
typedef struct {
  Graph* graph;
  Profile* profile;
  Qnn_Tensor_t *inputs, *outputs;
  uint32_t inputs_count, outputs_count;
  Notify notify;
  void* argument;
} Run;

static const Record* find_given(const Run* run, const Qnn_Tensor_t* tensor, uint32_t type, Code* code) {
  const Graph* graph = run->graph;
  Log* log = log_of(&graph->object);
  const uint32_t id = tensor->v1.id;
  if (tensor->version != QNN_TENSOR_VERSION_1 && tensor->version != QNN_TENSOR_VERSION_2) {
    *code = refuse(log, GRAPH_TENSOR, "a tensor of the execution has version %u", (unsigned)tensor->version);
    return NULL;
  }
  if (id < 1 || id > graph->count || graph->records[id - 1].type != type) {
    *code = refuse(log, GRAPH_TENSOR, "tensor id %u is no %s of graph '%s'", id, type == QNN_TENSOR_TYPE_APP_WRITE ? "input" : "output", graph->name);
    return NULL;
  }
  return &graph->records[id - 1];
}

static bool move_bytes(const Qnn_TensorV1_t* tensor, const Record* record, Channel* channel, Code* code, Log* log) {
  const bool is_input = record->type == QNN_TENSOR_TYPE_APP_WRITE;
  uint64_t size = tensor->clientBuf.dataSize;
  const uint64_t place = record->place;
  Memory* memory = NULL;
  bool is_moved = false;
  if (tensor->memType == QNN_TENSORMEMTYPE_MEMHANDLE) {
    memory = hold(tensor->memHandle, MEMORY);
    size = memory == NULL ? 0 : memory->bytes;
  }
  const bool is_known = memory != NULL || tensor->memType == QNN_TENSORMEMTYPE_RAW;
  if (!is_known) *code = refuse(log, GRAPH_TENSOR, "the memory of tensor '%s' is unknown", record->name);
  else if (size < record->bytes) *code = refuse(log, GRAPH_TENSOR, "the buffer of tensor '%s' has %" PRIu64 " bytes, expected %" PRIu64, record->name, size, record->bytes);
  else if (memory != NULL) is_moved = is_input ? copy_file(memory->file, channel->memory, record->bytes, 0, place) : copy_file(channel->memory, memory->file, record->bytes, place, 0);
  else is_moved = is_input ? write_file(channel->memory, tensor->clientBuf.data, record->bytes, place) : read_file(channel->memory, tensor->clientBuf.data, record->bytes, place);
  if (!is_moved && *code == 0) *code = refuse(log, GRAPH_TENSOR, "the buffer of tensor '%s' cannot be %s", record->name, is_input ? "read" : "written");
  drop(memory);
  return is_moved;
}

static Code move_all(const Run* run, Channel* channel, uint32_t type) {
  const bool is_input = type == QNN_TENSOR_TYPE_APP_WRITE;
  const Qnn_Tensor_t* tensors = is_input ? run->inputs : run->outputs;
  const uint32_t count = is_input ? run->inputs_count : run->outputs_count;
  Code code = 0;
  for (uint32_t i = 0; code == 0 && i < count; ++i) {
    const Record* record = find_given(run, &tensors[i], type, &code);
    if (record == NULL) break;
    move_bytes(&tensors[i].v1, record, channel, &code, log_of(&run->graph->object));
  }
  return code;
}

// Every input must be given, once; outputs that nobody wants are left out.
static Code check_given(const Run* run) {
  const Graph* graph = run->graph;
  Log* log = log_of(&graph->object);
  Code code = 0;
  const uint32_t wanted = graph->inputs_count;
  if (run->inputs_count != wanted) return refuse(log, GRAPH_TENSOR, "%u inputs are given, graph '%s' has %u", run->inputs_count, graph->name, wanted);
  for (uint32_t i = 0; code == 0 && i < run->outputs_count; ++i) find_given(run, &run->outputs[i], QNN_TENSOR_TYPE_APP_READ, &code);
  for (uint32_t i = 0; code == 0 && i < run->inputs_count; ++i) {
    if (find_given(run, &run->inputs[i], QNN_TENSOR_TYPE_APP_WRITE, &code) == NULL) break;
    for (uint32_t other = 0; other < i; ++other) {
      if (run->inputs[other].v1.id == run->inputs[i].v1.id) code = refuse(log, GRAPH_TENSOR, "input id %u is given twice", run->inputs[i].v1.id);
    }
  }
  return code;
}

static Code execute_in(const Run* run, Channel* channel, bool* is_broken) {
  const uint64_t start = read_clock();
  Log* log = log_of(&run->graph->object);
  if (!widen(channel, run->graph->io_bytes)) {
    *is_broken = true;
    return refuse(log, WORKER_LOST, "there is no memory for the tensors, or the process that computes has ended");
  }
  Code code = move_all(run, channel, QNN_TENSOR_TYPE_APP_WRITE);
  if (code != 0) return code;
  char* said = NULL;
  const bool is_detailed = run->profile != NULL && level_of(run->profile) > 1;
  Head head = {.request = ASK_EXECUTE, .code = is_detailed, .first = run->graph->object.parent->number, .second = run->graph->remote};
  code = ask(channel, &head, NULL, -1, &said, NULL);
  *is_broken = code == WORKER_LOST;
  if (*is_broken) refuse(log, code, "the process that computes ended during the execution");
  else if (code != 0) refuse(log, code, "%s", said);
  if (code == 0) code = move_all(run, channel, QNN_TENSOR_TYPE_APP_READ);
  // With nodes timed, the graph was prepared for this run alone: only the run itself counts.
  const uint64_t spent = is_detailed ? head.first : read_clock() - start;
  if (code == 0 && run->profile != NULL) record_event(run->profile, 400, spent, run->graph->name, said);
  free(said);
  return code;
}

static Code execute_run(const Run* run) {
  bool is_broken = false;
  const Code code = check_given(run);
  if (code != 0) return code;
  Channel* channel = take_channel();
  if (channel == NULL) return refuse(log_of(&run->graph->object), WORKER_LOST, "the process that computes has ended");
  const Code done = execute_in(run, channel, &is_broken);
  give_channel(channel, is_broken);
  return done;
}

static void free_run(Run* run) {
  drop(run->graph);
  drop(run->profile);
  free(run->inputs);
  free(run->outputs);
}

static Code begin_run(Run* run, const void* handle, const Qnn_Tensor_t* inputs, uint32_t inputs_count, const Qnn_Tensor_t* outputs,
                      uint32_t outputs_count, const void* profile, const void* signal) {
  memset(run, 0, sizeof(*run));
  if (signal != NULL) return refuse(NULL, NOT_SUPPORTED, "an execution: signals are not supported");
  if (inputs_count > MOST_TENSORS || outputs_count > MOST_TENSORS) return refuse(NULL, GRAPH_ARGUMENT, "an execution has too many tensors");
  run->graph = hold(handle, GRAPH);
  if (run->graph == NULL) return refuse(NULL, GRAPH_HANDLE, "an execution: the graph handle is invalid");
  Log* log = log_of(&run->graph->object);
  if (__atomic_load_n(&run->graph->state, __ATOMIC_ACQUIRE) != READY) return refuse(log, GRAPH_OPEN, "graph '%s' is not finalized", run->graph->name);
  run->profile = profile == NULL ? NULL : hold(profile, PROFILE);
  if (profile != NULL && run->profile == NULL) return refuse(log, PROFILE_HANDLE, "an execution: the profile handle is invalid");
  run->inputs = read_client_array(inputs, inputs_count, sizeof(Qnn_Tensor_t));
  run->outputs = read_client_array(outputs, outputs_count, sizeof(Qnn_Tensor_t));
  run->inputs_count = inputs_count;
  run->outputs_count = outputs_count;
  return run->inputs != NULL && run->outputs != NULL ? 0 : refuse(log, GRAPH_TENSOR, "the tensors of an execution cannot be read");
}

static Code execute(const void* graph, const Qnn_Tensor_t* inputs, uint32_t inputs_count, Qnn_Tensor_t* outputs, uint32_t outputs_count,
                    const void* profile, const void* signal) {
  Run run;
  Code code = begin_run(&run, graph, inputs, inputs_count, outputs, outputs_count, profile, signal);
  if (code == 0) code = execute_run(&run);
  free_run(&run);
  return code;
}

// ---- without waiting

static unsigned under_way = 0;

static void* run_alone(void* argument) {
  Run* run = argument;
  const NotifyStatus status = {execute_run(run)};
  const Notify notify = run->notify;
  void* client = run->argument;
  free_run(run);
  free(run);
  __atomic_sub_fetch(&under_way, 1, __ATOMIC_ACQ_REL);
  if (notify != NULL) notify(client, status);
  return NULL;
}

static Code start_thread(Run* run) {
  pthread_t thread;
  pthread_attr_t attributes;
  if (__atomic_add_fetch(&under_way, 1, __ATOMIC_ACQ_REL) > MOST_UNDER_WAY) {
    __atomic_sub_fetch(&under_way, 1, __ATOMIC_ACQ_REL);
    return refuse(log_of(&run->graph->object), QUEUE_FULL, "%d executions are under way", MOST_UNDER_WAY);
  }
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int error = pthread_create(&thread, &attributes, run_alone, run);
  pthread_attr_destroy(&attributes);
  if (error == 0) return 0;
  __atomic_sub_fetch(&under_way, 1, __ATOMIC_ACQ_REL);
  return refuse(log_of(&run->graph->object), NO_MEMORY, "no thread for an execution: %s", strerror(error));
}

static Code execute_async(const void* graph, const Qnn_Tensor_t* inputs, uint32_t inputs_count, Qnn_Tensor_t* outputs, uint32_t outputs_count,
                          const void* profile, const void* signal, Notify notify, void* argument) {
  Run* run = malloc(sizeof(Run));
  if (run == NULL) return NO_MEMORY;
  Code code = begin_run(run, graph, inputs, inputs_count, outputs, outputs_count, profile, signal);
  run->notify = notify;
  run->argument = argument;
  if (code == 0) code = check_given(run);
  if (code == 0) code = start_thread(run);
  if (code == 0) return 0;
  free_run(run);
  free(run);
  return code;
}

const Function EXECUTE_FUNCTIONS[] = {(Function)execute, (Function)execute_async};
