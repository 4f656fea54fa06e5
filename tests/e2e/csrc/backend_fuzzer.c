// SPDX-License-Identifier: Apache-2.0
// Calls a backend library at random: backend_fuzzer LIBRARY SEED CALLS THREADS [wild]
// Handles are valid, freed, of another kind or made up; tensors are right or spoiled; "wild" adds pointers to nowhere.
// It must neither crash nor hang, and a right graph must still compute what it should. Exit code 0: it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "QnnLog.h"
#include "QnnTypes.h"

typedef Qnn_ErrorHandle_t Code;
typedef void* Any;
#define CALL(index, types, ...) ((Code(*) types)table[index])(__VA_ARGS__)

static Any* table;
static Any* system_table;
static int is_wild = 0;

// ---- randomness: one state for each thread

static _Thread_local uint64_t state;
static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return below == 0 ? 0 : (uint32_t)(state >> 33) % below;
}

// ---- handles, shared by the threads

enum { LOGS, BACKENDS, DEVICES, CONTEXTS, GRAPHS, PROFILES, MEMORIES, SYSTEMS, KINDS };
#define KEPT 64
static Any handles[KINDS][KEPT];
static unsigned counts[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(int kind, Any handle) {
  pthread_mutex_lock(&lock);
  handles[kind][counts[kind]++ % KEPT] = handle;
  pthread_mutex_unlock(&lock);
}

// Mostly one of the kind, alive or not; sometimes of another kind, nothing, or a number.
static Any pick(int kind) {
  const uint32_t way = draw(20);
  if (way == 0) return NULL;
  if (way == 1) return (Any)(uintptr_t)draw(UINT32_MAX);
  if (way == 2) kind = (int)draw(KINDS);
  pthread_mutex_lock(&lock);
  const unsigned held = counts[kind] < KEPT ? counts[kind] : KEPT;
  Any found = held == 0 ? NULL : handles[kind][draw(held)];
  pthread_mutex_unlock(&lock);
  return found;
}

// A pointer to nowhere in place of a right one, now and then.
static Any spoil(const void* pointer) {
  static const uintptr_t nowhere[] = {0, 1, 8, 0xdead0000, 0x7fffffffffff000, ~0ull - 4096};
  if (draw(25) == 0) return NULL;
  if (is_wild && draw(12) == 0) return (Any)nowhere[draw(6)];
  return (Any)pointer;
}

static void quiet_log(const char* format, QnnLog_Level_t level, uint64_t time, va_list arguments) {
  char words[64];
  (void)level, (void)time;
  vsnprintf(words, sizeof(words), format, arguments);
}

// ---- tensors and ops

typedef struct {
  char name[24];
  uint32_t dims[4];
  uint8_t* data;
  Qnn_ScaleOffset_t steps[4];
  float scales[4];
  uint8_t dynamic[4];
  Qnn_Tensor_t tensor;
} Made;

// Buffers are as long as they say: a sanitizer sees the first byte that is read behind them.
static Made* make_tensor(const char* name, uint32_t type) {
  static const uint32_t kinds[] = {0x232, 0x408, 0x308, 0x416, 0x132, 0x508, 0x332, 0x216};
  Made* made = calloc(1, sizeof(Made));
  Qnn_TensorV1_t* t = &made->tensor.v1;
  snprintf(made->name, sizeof(made->name), "%s", name);
  made->tensor.version = draw(6) == 0 ? (Qnn_TensorVersion_t)draw(4) : draw(2) ? QNN_TENSOR_VERSION_1 : QNN_TENSOR_VERSION_2;
  if (made->tensor.version == 2 && draw(2)) {
    made->dynamic[0] = draw(4) == 0;
    made->tensor.v2.isDynamicDimensions = spoil(made->dynamic);
  }
  for (int i = 0; i < 4; ++i) made->dims[i] = draw(30) == 0 ? draw(UINT32_MAX) : 1 + draw(4);
  t->name = spoil(made->name);
  t->id = draw(40) == 0 ? draw(UINT32_MAX) : 0;
  t->type = (Qnn_TensorType_t)(draw(20) == 0 ? draw(16) : type);
  t->dataType = (Qnn_DataType_t)(draw(30) == 0 ? draw(0x700) : draw(3) == 0 ? kinds[draw(8)] : 0x232);
  t->rank = draw(30) == 0 ? draw(200) : draw(5);
  if (t->rank > 4 && draw(2)) t->rank = 4;
  t->dimensions = t->rank <= 4 ? spoil(made->dims) : NULL;
  uint64_t bytes = t->dataType == 0x232 || t->dataType == 0x132 ? 4 : t->dataType == 0x416 || t->dataType == 0x216 ? 2 : 1;
  for (uint32_t i = 0; i < t->rank && i < 4; ++i) bytes = bytes * made->dims[i] > 65536 ? 65536 : bytes * made->dims[i];
  if (draw(10) == 0) bytes = draw(64);
  made->data = malloc(bytes > 0 ? bytes : 1);
  for (uint64_t i = 0; i < bytes; ++i) made->data[i] = (uint8_t)draw(256);
  t->clientBuf.data = spoil(made->data);
  t->clientBuf.dataSize = (uint32_t)(t->clientBuf.data == made->data ? bytes : draw(1000));
  t->memType = (Qnn_TensorMemType_t)(draw(15) == 0 ? draw(3) : 0);
  if (t->memType == 1) t->memHandle = pick(MEMORIES);
  t->quantizeParams.encodingDefinition = draw(3) == 0 ? QNN_DEFINITION_DEFINED : QNN_DEFINITION_UNDEFINED;
  t->quantizeParams.quantizationEncoding = (Qnn_QuantizationEncoding_t)draw(8);
  for (int i = 0; i < 4; ++i) made->steps[i] = (Qnn_ScaleOffset_t){draw(10) == 0 ? -1.0f : 0.1f, -(int32_t)draw(256)}, made->scales[i] = 0.1f;
  switch ((uint32_t)t->quantizeParams.quantizationEncoding) {
    case 0: t->quantizeParams.scaleOffsetEncoding = made->steps[0]; break;
    case 1: t->quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){(int32_t)draw(6) - 1, 1 + draw(4), spoil(made->steps)}; break;
    case 3: t->quantizeParams.bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){4, (int32_t)draw(4), 1 + draw(4), spoil(made->scales), NULL}; break;
    default: break;
  }
  return made;
}

static void free_tensor(Made* made) {
  free(made->data);
  free(made);
}

static const char* const NAMES[] = {"x", "y", "z", "w", "a", "b", "", "\xff", "\xe4\xbd\xa0", "quote\"d"};
static const char* const OPS[] = {"Relu", "ElementWiseAdd", "Conv2d", "Reshape", "Concat", "Softmax", "NoSuchOp", "Transpose", "Gather", "TopK"};

static void use_op(int is_validating) {
  Made* tensors[4];
  Qnn_Tensor_t inputs[2], outputs[2];
  for (int i = 0; i < 4; ++i) {
    tensors[i] = make_tensor(NAMES[draw(10)], i < 2 ? 0 : 3);
    if (i < 2) inputs[i] = tensors[i]->tensor;
    else outputs[i - 2] = tensors[i]->tensor;
  }
  Made* value = make_tensor("perm", 4);
  Qnn_Param_t params[2];
  memset(params, 0, sizeof(params));
  params[0].paramType = (Qnn_ParamType_t)(draw(20) == 0 ? draw(5) : 0);
  params[0].name = spoil("axis");
  params[0].scalarParam.dataType = (Qnn_DataType_t)(draw(6) == 0 ? draw(0x700) : 0x132);
  params[0].scalarParam.uint64Value = draw(4);
  // A text is behind a pointer, too.
  if ((uint32_t)params[0].scalarParam.dataType == 0x608 || draw(30) == 0) {
    params[0].scalarParam.dataType = QNN_DATATYPE_STRING;
    params[0].scalarParam.stringValue = spoil("text");
  }
  params[1].paramType = QNN_PARAMTYPE_TENSOR;
  params[1].name = spoil("perm");
  params[1].tensorParam = value->tensor;
  Qnn_OpConfig_t op;
  memset(&op, 0, sizeof(op));
  op.version = (Qnn_OpConfigVersion_t)(draw(20) == 0 ? draw(4) : 1);
  op.v1 = (Qnn_OpConfigV1_t){spoil("node"), spoil(draw(9) ? "qti.aisw" : "own"), spoil(OPS[draw(10)]), draw(3), spoil(params), draw(3), spoil(inputs), draw(3), spoil(outputs)};
  if (op.v1.params == NULL || op.v1.inputTensors == NULL || op.v1.outputTensors == NULL) op.v1.numOfInputs = draw(UINT32_MAX);
  if (op.v1.inputTensors == inputs && op.v1.numOfInputs > 2) op.v1.numOfInputs = 2;
  if (is_validating) CALL(7, (Any, Qnn_OpConfig_t), pick(BACKENDS), op);
  else CALL(18, (Any, Qnn_OpConfig_t), pick(GRAPHS), op);
  for (int i = 0; i < 4; ++i) free_tensor(tensors[i]);
  free_tensor(value);
}

static void execute_something(void) {
  Made *in = make_tensor("x", 0), *out = make_tensor("y", 1);
  in->tensor.v1.id = 1 + draw(3);
  out->tensor.v1.id = 1 + draw(4);
  const uint32_t given = draw(10) == 0 ? 0 : 1;
  CALL(21, (Any, Any, uint32_t, Any, uint32_t, Any, Any), pick(GRAPHS), spoil(&in->tensor), given, spoil(&out->tensor), 1, draw(3) ? NULL : pick(PROFILES), draw(20) ? NULL : (Any)7);
  free_tensor(in);
  free_tensor(out);
}

// ---- a graph that must work

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  int is_ended;
  Code code;
} Waiting;

static void end_waiting(void* argument, Code code) {
  Waiting* waiting = argument;
  pthread_mutex_lock(&waiting->lock);
  waiting->code = code;
  waiting->is_ended = 1;
  pthread_cond_signal(&waiting->ended);
  pthread_mutex_unlock(&waiting->lock);
}

static Code execute_and_wait(Any graph, Qnn_Tensor_t* x, Qnn_Tensor_t* y) {
  Waiting waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
  const Code code = CALL(22, (Any, Any, uint32_t, Any, uint32_t, Any, Any, Any, Any), graph, x, 1, y, 1, NULL, NULL, (Any)end_waiting, &waiting);
  if (code) return code;
  pthread_mutex_lock(&waiting.lock);
  while (!waiting.is_ended) pthread_cond_wait(&waiting.ended, &waiting.lock);
  pthread_mutex_unlock(&waiting.lock);
  return waiting.code;
}

// The same execution with the input in shared memory.
static Code execute_shared(Any context, Any graph, const Qnn_Tensor_t* x, Qnn_Tensor_t* y) {
  Qnn_Tensor_t shared = *x;
  Any memory = NULL;
  struct {
    uint32_t rank;
    Any dims, config;
    uint32_t type, kind;
    int32_t file;
    Any data;
  } described = {1, x->v1.dimensions, NULL, 0x232, 1, memfd_create("x", 0), NULL};
  if (ftruncate(described.file, 16) || pwrite(described.file, x->v1.clientBuf.data, 16, 0) != 16) return 77;
  const Code code = CALL(35, (Any, Any, uint32_t, Any*), context, &described, 1, &memory);
  close(described.file);
  if (code) return code;
  shared.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
  shared.v1.memHandle = memory;
  const Code executed = CALL(21, (Any, Any, uint32_t, Any, uint32_t, Any, Any), graph, &shared, 1, y, 1, NULL, NULL);
  keep(MEMORIES, memory);
  return executed;
}

static int check_profile(Any profile) {
  const uint64_t* ids = NULL;
  uint32_t count = 0;
  struct {
    uint32_t type, unit;
    uint64_t value;
    const char* name;
  } data = {0};
  if (CALL(30, (Any, Any, Any), profile, &ids, &count) || count != 1) return 1;
  if (CALL(32, (uint64_t, Any), ids[0], &data) || data.type != 400 || strcmp(data.name, "work") != 0) return 2;
  return CALL(31, (uint64_t, Any, Any), ids[0], &ids, &count) ? 3 : 0;
}

static int work(Any backend) {
  Any context = NULL, graph = NULL, profile = NULL;
  uint32_t dims[1] = {4};
  float given[4] = {-1, 2, -3, 4}, found[4] = {9, 9, 9, 9};
  Qnn_Tensor_t x, y;
  memset(&x, 0, sizeof(x));
  x.version = QNN_TENSOR_VERSION_1;
  x.v1.name = "x";
  x.v1.dataType = QNN_DATATYPE_FLOAT_32;
  x.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_UNDEFINED;
  x.v1.rank = 1;
  x.v1.dimensions = dims;
  y = x;
  y.v1.name = "y";
  y.v1.type = QNN_TENSOR_TYPE_APP_READ;
  if (CALL(9, (Any, Any, Any, Any*), backend, NULL, NULL, &context)) return 1;
  if (CALL(15, (Any, const char*, Any, Any*), context, "work", NULL, &graph)) return 2;
  if (CALL(24, (Any, Qnn_Tensor_t*), graph, &x) || CALL(24, (Any, Qnn_Tensor_t*), graph, &y)) return 3;
  Qnn_OpConfig_t op;
  memset(&op, 0, sizeof(op));
  op.version = QNN_OPCONFIG_VERSION_1;
  op.v1 = (Qnn_OpConfigV1_t){"relu", "qti.aisw", "Relu", 0, NULL, 1, &x, 1, &y};
  if (CALL(7, (Any, Qnn_OpConfig_t), backend, op)) return 4;
  if (CALL(18, (Any, Qnn_OpConfig_t), graph, op)) return 5;
  if (CALL(19, (Any, Any, Any), graph, NULL, NULL)) return 6;
  x.v1.clientBuf.data = given;
  y.v1.clientBuf.data = found;
  x.v1.clientBuf.dataSize = y.v1.clientBuf.dataSize = sizeof(given);
  if (CALL(21, (Any, Any, uint32_t, Any, uint32_t, Any, Any), graph, &x, 1, &y, 1, NULL, NULL)) return 7;
  if (CALL(28, (Any, uint32_t, Any*), backend, 1 + (draw(8) == 0), &profile)) return 10;
  if (CALL(21, (Any, Any, uint32_t, Any, uint32_t, Any, Any), graph, &x, 1, &y, 1, profile, NULL)) return 11;
  if (check_profile(profile)) return 13;
  keep(PROFILES, profile);
  memset(found, 0, sizeof(found));
  const Code executed = draw(2) ? execute_and_wait(graph, &x, &y) : execute_shared(context, graph, &x, &y);
  if (executed != 0 && executed != 6025) return 12;
  if (executed == 6025) CALL(21, (Any, Any, uint32_t, Any, uint32_t, Any, Any), graph, &x, 1, &y, 1, NULL, NULL);
  if (found[0] != 0 || found[1] != 2 || found[2] != 0 || found[3] != 4) return 8;
  keep(GRAPHS, graph);
  keep(CONTEXTS, context);
  if (draw(2)) return 0;
  return CALL(14, (Any, Any), context, NULL) ? 9 : 0;
}

// ---- one call at random

static void make_something(void) {
  Any made = NULL;
  switch (draw(7)) {
    case 0: if (!CALL(25, (Any, uint32_t, Any*), draw(2) ? (Any)quiet_log : NULL, draw(7), spoil(&made)) && made) keep(LOGS, made); break;
    case 1: if (!CALL(1, (Any, Any, Any*), pick(LOGS), NULL, spoil(&made)) && made) keep(BACKENDS, made); break;
    case 2: if (!CALL(40, (Any, Any, Any*), NULL, NULL, spoil(&made)) && made) keep(DEVICES, made); break;
    case 3: if (!CALL(9, (Any, Any, Any, Any*), pick(BACKENDS), draw(2) ? NULL : pick(DEVICES), NULL, spoil(&made)) && made) keep(CONTEXTS, made); break;
    case 4: if (!CALL(15, (Any, const char*, Any, Any*), pick(CONTEXTS), spoil(NAMES[draw(10)]), NULL, spoil(&made)) && made) keep(GRAPHS, made); break;
    case 5: if (!CALL(28, (Any, uint32_t, Any*), pick(BACKENDS), draw(4), spoil(&made)) && made) keep(PROFILES, made); break;
    default: if (!((Code(*)(Any*))system_table[0])(spoil(&made)) && made) keep(SYSTEMS, made); break;
  }
}

static void free_something(void) {
  Any one = pick(MEMORIES);
  switch (draw(12)) {
    case 0: CALL(27, (Any), pick(LOGS)); break;
    case 1: CALL(8, (Any), pick(BACKENDS)); break;
    case 2: CALL(43, (Any), pick(DEVICES)); break;
    case 3: CALL(14, (Any, Any), pick(CONTEXTS), NULL); break;
    case 4: CALL(34, (Any), pick(PROFILES)); break;
    case 5: CALL(36, (Any, uint32_t), spoil(&one), 1); break;
    case 6: ((Code(*)(Any))system_table[3])(pick(SYSTEMS)); break;
    default: break;
  }
}

static void use_binary(void) {
  uint64_t size = 0, written = 0;
  Any made = NULL, info = NULL, context = pick(CONTEXTS);
  if (CALL(11, (Any, Any), context, spoil(&size)) || size == 0 || size > 1 << 24) return;
  const uint64_t room = draw(5) == 0 ? draw((uint32_t)size) : size;
  uint8_t* bytes = calloc(1, room > 0 ? room : 1);
  CALL(12, (Any, Any, uint64_t, Any), context, spoil(bytes), room, spoil(&written));
  if (draw(2) && room > 0) bytes[draw((uint32_t)room)] ^= (uint8_t)(1 + draw(255));
  if (!CALL(13, (Any, Any, Any, Any, uint64_t, Any*, Any), pick(BACKENDS), NULL, NULL, spoil(bytes), room, spoil(&made), NULL) && made) keep(CONTEXTS, made);
  ((Code(*)(Any, Any, uint64_t, Any*))system_table[2])(pick(SYSTEMS), spoil(bytes), room, spoil(&info));
  free(bytes);
}

static void ask_something(void) {
  const char* words = NULL;
  const uint64_t* ids = NULL;
  uint32_t count = 0;
  Any graph = NULL, list = NULL;
  char room[64];
  switch (draw(14)) {
    case 10: CALL(2, (Any, Any), pick(BACKENDS), NULL); break;
    case 11: CALL(10, (Any, Any), pick(CONTEXTS), NULL); break;
    case 12: CALL(17, (Any, Any), pick(GRAPHS), NULL); break;
    case 13: CALL(39, (Any), spoil(&list)); break;
    case 0: CALL(0, (uint32_t), draw(2500)); break;
    case 1: CALL(48, (Code, Any), draw(31000), spoil(&words)); break;
    case 2: if (!CALL(49, (Code, Any), draw(2) ? 6004 : draw(31000), spoil(&words))) CALL(50, (Any), (Any)words); break;
    case 3: CALL(4, (Any), spoil(&words)); break;
    case 4: CALL(20, (Any, const char*, Any*), pick(CONTEXTS), spoil("work"), spoil(&graph)); break;
    case 5: CALL(6, (Any, Any, Any), pick(BACKENDS), spoil(&count), spoil(&list)); break;
    case 6: CALL(5, (Any, Any, Any, Any), pick(BACKENDS), spoil("/nowhere/libPackage.so"), spoil("Provider"), NULL); break;
    case 7: CALL(26, (Any, uint32_t), pick(LOGS), draw(8)); break;
    case 8: CALL(3, (Any), spoil(room)); break;
    default:
      if (CALL(30, (Any, Any, Any), pick(PROFILES), spoil(&ids), spoil(&count)) || ids == NULL || count == 0) break;
      CALL(32, (uint64_t, Any), ids[0], spoil(room));
      CALL(33, (uint64_t, Any), ids[0] + draw(3), spoil(room));
      CALL(31, (uint64_t, Any, Any), draw(2) ? ids[0] : draw(99), spoil(&ids), spoil(&count));
  }
}

static void share_memory(void) {
  uint32_t dims[1] = {1 + draw(64)};
  struct {
    uint32_t rank;
    Any dims, config;
    uint32_t type, kind;
    int32_t file;
    Any data;
  } described = {1, spoil(dims), NULL, 0x232, draw(5), memfd_create("m", 0), NULL};
  Any made = NULL;
  if (ftruncate(described.file, draw(4) ? 4096 : 8)) return;
  const int file = described.file;
  if (draw(10) == 0) described.file = (int32_t)draw(500) - 5;
  if (!CALL(35, (Any, Any, uint32_t, Any*), pick(CONTEXTS), spoil(&described), draw(8) ? 1 : 0, spoil(&made)) && made) keep(MEMORIES, made);
  close(file);
}

static void add_tensor(void) {
  static const uint32_t types[] = {0, 1, 3, 4};
  Made* made = make_tensor(NAMES[draw(10)], types[draw(4)]);
  CALL(24, (Any, Any), pick(GRAPHS), spoil(&made->tensor));
  free_tensor(made);
}

static Any main_backend;
static uint32_t calls;
static int failure = 0;

static void* run(void* seed) {
  state = (uint64_t)(uintptr_t)seed * 7919 + 1;
  for (uint32_t i = 0; i < calls && failure == 0; ++i) {
    switch (draw(14)) {
      case 0: case 1: make_something(); break;
      case 2: free_something(); break;
      case 3: case 4: add_tensor(); break;
      case 5: use_op(1); break;
      case 6: case 7: use_op(0); break;
      case 8: CALL(19, (Any, Any, Any), pick(GRAPHS), draw(3) ? NULL : pick(PROFILES), NULL); break;
      case 9: case 10: execute_something(); break;
      case 11: use_binary(); break;
      case 12: ask_something(); break;
      default: share_memory(); break;
    }
    if (i % 100 == 99) {
      const int failed = work(main_backend);
      if (failed) failure = failed;
    }
  }
  return NULL;
}

int main(int count, char** words) {
  if (count < 5) return 2;
  Any library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 3;
  Any* providers = NULL;
  uint32_t found = 0;
  Code (*get)(Any, Any) = (Code(*)(Any, Any))dlsym(library, "QnnInterface_getProviders");
  Code (*get_system)(Any, Any) = (Code(*)(Any, Any))dlsym(library, "QnnSystemInterface_getProviders");
  if (get(NULL, NULL) == 0 || get(&providers, NULL) == 0 || get(&providers, &found) || found != 1) return 4;
  table = (Any*)((char*)providers[0] + 40);
  if (get_system(&providers, &found) || found != 1) return 4;
  system_table = (Any*)((char*)providers[0] + 32);
  Any log = NULL;
  is_wild = count > 5;
  calls = (uint32_t)atoi(words[3]);
  if (CALL(25, (Any, uint32_t, Any*), (Any)quiet_log, 5, &log) || CALL(1, (Any, Any, Any*), log, NULL, &main_backend)) return 5;
  keep(LOGS, log);
  pthread_t threads[16];
  const int many = atoi(words[4]) > 16 ? 16 : atoi(words[4]);
  // The errors of handles that no log belongs to are told on standard error.
  if (freopen("/dev/null", "w", stderr) == NULL) return 6;
  for (long i = 0; i < many; ++i) pthread_create(&threads[i], NULL, run, (Any)(atol(words[2]) * 100 + i));
  for (int i = 0; i < many; ++i) pthread_join(threads[i], NULL);
  // A child of fork has none of these handles, but can make its own.
  const pid_t child = fork();
  if (child == 0) {
    Any own = NULL;
    const int is_known = CALL(8, (Any), main_backend) == 0;
    _exit(is_known ? 60 : CALL(1, (Any, Any, Any*), NULL, NULL, &own) ? 61 : work(own));
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("failure %d, child %d, objects %u\n", failure, status, counts[GRAPHS]);
  return failure || status ? 1 : 0;
}
