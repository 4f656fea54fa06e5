// SPDX-License-Identifier: Apache-2.0
// Backends, devices, properties and memory that a client shares.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"

#define LONGEST_PATH 4096
#define LARGEST_RANK 32u
#define MOST_MEMORIES 4096u

enum { MEMORY_ION = 1, MEMORY_DMA_BUF = 3 };
typedef struct {
  const char *package, *name, *target;
} OperationName;
typedef struct {
  uint32_t rank;
  const uint32_t* dims;
  const void* config;
  uint32_t data_type, kind;
  int32_t file;
  void* data;
} MemoryDescriptor;

// ---- properties

// What clients ask for: the groups of functions are there, the rest is named here.
static Code has_capability(uint32_t key) {
  static const uint32_t groups[] = {1, 101, 201, 301, 401, 501, 1001, 1101, 1301, 1401, 1501};
  static const uint32_t present[] = {2, 102, 103, 202, 203, 303, 304, 1000 + 500};
  static const uint32_t absent[] = {1200, 1201};
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
    if (key == groups[i] || key == groups[i] - 1) return 0;
  }
  for (size_t i = 0; i < sizeof(present) / sizeof(present[0]); ++i) {
    if (key == present[i]) return 0;
  }
  for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); ++i) {
    if (key == absent[i]) return NOT_SUPPORTED;
  }
  return key < 2000 ? NOT_SUPPORTED : UNKNOWN_PROPERTY;
}

// ---- backends

static void destroy_backend(Object* object) {
  Backend* backend = (Backend*)object;
  drop(backend->log);
  free(backend->operations);
  leave_worker();
}

static Code create_backend(const void* log_handle, const void** config, void** handle) {
  Log* log = log_handle == NULL ? NULL : hold(log_handle, LOG);
  (void)config;
  if (log_handle != NULL && log == NULL) return refuse(NULL, BACKEND_ARGUMENT, "backendCreate: the log handle is invalid");
  const Code code = use_worker(log);
  Backend* backend = code == 0 ? make_object(sizeof(Backend), BACKEND, NULL, NULL) : NULL;
  if (backend == NULL) {
    if (code == 0) leave_worker();
    drop(log);
    return code != 0 ? code : NO_MEMORY;
  }
  backend->log = log;
  backend->object.destroy = destroy_backend;
  return give_handle(backend, handle, BACKEND_ARGUMENT, "backendCreate");
}

static Code set_backend_config(const void* handle, const void** config) {
  Backend* backend = hold(handle, BACKEND);
  (void)config;
  if (backend == NULL) return refuse(NULL, BACKEND_HANDLE, "backendSetConfig: the handle is invalid");
  drop(backend);
  return 0;
}

static Code get_api_version(Qnn_ApiVersion_t* version) {
  const Qnn_ApiVersion_t ours = {{2, 40, 0}, {1, 0, 0}};
  return write_client(version, &ours, sizeof(ours)) ? 0 : refuse(NULL, BACKEND_ARGUMENT, "backendGetApiVersion: no place for the version");
}

static Code get_build_id(const char** id) {
  static const char build[] = "edgewright " EDGEWRIGHT_VERSION " (" EDGEWRIGHT_KIND ")";
  const char* found = build;
  return write_client(id, &found, sizeof(found)) ? 0 : refuse(NULL, BACKEND_ARGUMENT, "backendGetBuildId: no place for the text");
}

static Code register_package(const void* handle, const char* path, const char* provider, const char* target) {
  Backend* backend = hold(handle, BACKEND);
  if (backend == NULL) return refuse(NULL, BACKEND_HANDLE, "backendRegisterOpPackage: the handle is invalid");
  const char* const given[] = {path, provider, target == NULL ? "CPU" : target};
  Text text = {0};
  bool is_fit = true;
  for (int i = 0; i < 3; ++i) {
    char* words = read_client_text(given[i], LONGEST_PATH);
    is_fit = is_fit && words != NULL && words[0] != 0;
    if (words != NULL) add_bytes(&text, words, strlen(words) + 1);
    free(words);
  }
  Head head = {.request = ASK_PACKAGE, .bytes = text.size};
  const Code code = !is_fit ? refuse(backend->log, BACKEND_ARGUMENT, "backendRegisterOpPackage needs a path and a provider")
                            : ask_worker(backend->log, &head, text.bytes, -1, NULL, NULL);
  free_text(&text);
  drop(backend);
  return code;
}

// The names come one after the other, each ends with a zero; the array before them points to them.
static OperationName* list_operations(const char* names, uint64_t bytes, uint32_t* count) {
  for (uint64_t i = *count = 0; i < bytes; ++i) *count += names[i] == 0;
  OperationName* listed = malloc((*count + 1u) * sizeof(OperationName) + bytes + 1);
  if (listed == NULL) return NULL;
  char* kept = (char*)(listed + *count + 1);
  memcpy(kept, names, bytes);
  for (uint32_t i = 0; i < *count; ++i) {
    listed[i] = (OperationName){"qti.aisw", kept, "CPU"};
    kept += strlen(kept) + 1;
  }
  return listed;
}

static Code get_operations(const void* handle, uint32_t* count, const OperationName** operations) {
  Backend* backend = hold(handle, BACKEND);
  if (backend == NULL) return refuse(NULL, BACKEND_HANDLE, "backendGetSupportedOperations: the handle is invalid");
  char* names = NULL;
  uint32_t found = 0;
  Head head = {.request = ASK_OPS};
  Code code = ask_worker(backend->log, &head, NULL, -1, &names, NULL);
  OperationName* listed = code == 0 ? list_operations(names, head.bytes, &found) : NULL;
  if (code == 0 && listed == NULL) code = NO_MEMORY;
  if (listed != NULL) {
    // The list of the first call is kept for all: what was given out stays valid until the backend is freed.
    void* expected = NULL;
    if (!__atomic_compare_exchange_n(&backend->operations, &expected, listed, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      free(listed);
      listed = expected;
    }
    if (!write_client(count, &found, sizeof(found)) || !write_client(operations, &listed, sizeof(listed))) {
      code = refuse(backend->log, BACKEND_ARGUMENT, "backendGetSupportedOperations: no place for the list");
    }
  }
  free(names);
  drop(backend);
  return code;
}

static Code free_backend(const void* handle) {
  return release(handle, BACKEND) ? 0 : refuse(NULL, BACKEND_HANDLE, "backendFree: the handle is invalid");
}

// ---- devices: this machine

static Code create_device(const void* log_handle, const void** config, void** handle) {
  Log* log = log_handle == NULL ? NULL : hold(log_handle, LOG);
  (void)config;
  drop(log);
  if (log_handle != NULL && log == NULL) return refuse(NULL, DEVICE_HANDLE, "deviceCreate: the log handle is invalid");
  Object* device = make_object(sizeof(Object), DEVICE, NULL, NULL);
  if (device == NULL) return NO_MEMORY;
  return give_handle(device, handle, BAD_ARGUMENT, "deviceCreate");
}

static Code free_device(const void* handle) {
  return release(handle, DEVICE) ? 0 : refuse(NULL, DEVICE_HANDLE, "deviceFree: the handle is invalid");
}

// How fast a processor runs: a client may say, but there is none. QNN's struct for HTP: a kind, and four functions.
static Code create_power_config(uint32_t device, uint32_t core, uint32_t* id) {
  const uint32_t only = 1;
  (void)device, (void)core;
  return write_client(id, &only, sizeof(only)) ? 0 : BAD_ARGUMENT;
}
static Code accept_settings(void) { return 0; }

static Code get_infrastructure(const void** infrastructure) {
  static const struct {
    uint32_t kind;
    Function create, destroy, set_power, set_memory;
  } performance = {0, (Function)create_power_config, (Function)accept_settings, (Function)accept_settings, (Function)accept_settings};
  const void* found = &performance;
  if (EDGEWRIGHT_BACKEND_ID != 6) return NOT_SUPPORTED;
  return write_client(infrastructure, &found, sizeof(found)) ? 0 : refuse(NULL, BAD_ARGUMENT, "deviceGetInfrastructure: no place for it");
}

// ---- memory that a client shares by a file descriptor

static void destroy_memory(Object* object) { close(((Memory*)object)->file); }

static Code measure_memory(Log* log, const MemoryDescriptor* given, uint64_t* bytes) {
  struct stat status;
  uint32_t* dims = given->rank > LARGEST_RANK ? NULL : read_client_array(given->dims, given->rank, sizeof(uint32_t));
  *bytes = measure_element(given->data_type);
  for (uint32_t i = 0; dims != NULL && i < given->rank; ++i) {
    if (__builtin_mul_overflow(*bytes, (uint64_t)dims[i], bytes)) *bytes = 0;
  }
  const bool is_shape = dims != NULL && *bytes > 0;
  free(dims);
  if (!is_shape) return refuse(log, MEMORY_ARGUMENT, "the shape or data type of the memory is invalid");
  if (given->kind != MEMORY_ION && given->kind != MEMORY_DMA_BUF) return refuse(log, NOT_SUPPORTED, "memory of kind %u, expected one with a file descriptor", given->kind);
  if (given->file < 0 || fstat(given->file, &status) != 0) return refuse(log, MEMORY_ARGUMENT, "file descriptor %d of the memory is invalid", given->file);
  if (status.st_size < 0 || (uint64_t)status.st_size < *bytes) {
    return refuse(log, MEMORY_ARGUMENT, "the memory has %lld bytes, its shape needs %" PRIu64, (long long)status.st_size, *bytes);
  }
  return 0;
}

static Code register_one(Context* context, const MemoryDescriptor* given, void** handle) {
  uint64_t bytes = 0;
  Log* log = log_of(&context->object);
  const Code code = measure_memory(log, given, &bytes);
  if (code != 0) return code;
  const int file = dup(given->file);
  Memory* memory = file < 0 ? NULL : make_object(sizeof(Memory), MEMORY, &context->object, NULL);
  if (memory == NULL) {
    if (file >= 0) close(file);
    return NO_MEMORY;
  }
  memory->file = file;
  memory->bytes = bytes;
  memory->object.destroy = destroy_memory;
  *handle = handle_of(memory);
  publish(memory);
  return 0;
}

static Code register_memory(const void* context_handle, const MemoryDescriptor* descriptors, uint32_t count, void** handles) {
  Context* context = hold(context_handle, CONTEXT);
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "memRegister: the context handle is invalid");
  MemoryDescriptor* given = count == 0 || count > MOST_MEMORIES ? NULL : read_client_array(descriptors, count, sizeof(MemoryDescriptor));
  void** made = given == NULL ? NULL : calloc(count, sizeof(void*));
  Code code = made != NULL ? 0 : refuse(log_of(&context->object), MEMORY_ARGUMENT, "memRegister: the descriptors cannot be read");
  for (uint32_t i = 0; code == 0 && i < count; ++i) code = register_one(context, &given[i], &made[i]);
  if (code == 0 && !write_client(handles, made, count * sizeof(void*))) code = refuse(log_of(&context->object), MEMORY_ARGUMENT, "memRegister: no place for the handles");
  // All or none.
  for (uint32_t i = 0; code != 0 && made != NULL && i < count; ++i) release(made[i], MEMORY);
  free(made);
  free(given);
  drop(context);
  return code;
}

static Code deregister_memory(const void* const* handles, uint32_t count) {
  void** given = count == 0 || count > MOST_MEMORIES ? NULL : read_client_array(handles, count, sizeof(void*));
  Code code = given != NULL ? 0 : refuse(NULL, MEMORY_ARGUMENT, "memDeRegister: the handles cannot be read");
  for (uint32_t i = 0; given != NULL && i < count; ++i) {
    if (!release(given[i], MEMORY)) code = refuse(NULL, MEMORY_HANDLE, "memDeRegister: a handle is invalid");
  }
  free(given);
  return code;
}

extern Code validate_op(const void* handle, Qnn_OpConfig_t config);
_Static_assert(sizeof(MemoryDescriptor) == 48, "the descriptors of the interface");

const Function BACKEND_FUNCTIONS[] = {(Function)has_capability, (Function)create_backend,   (Function)set_backend_config,
                                      (Function)get_api_version, (Function)get_build_id,    (Function)register_package,
                                      (Function)get_operations,  (Function)validate_op,     (Function)free_backend};
const Function DEVICE_FUNCTIONS[] = {(Function)get_infrastructure, (Function)create_device, (Function)free_device};
const Function MEMORY_FUNCTIONS[] = {(Function)register_memory, (Function)deregister_memory};
