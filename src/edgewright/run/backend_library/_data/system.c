// SPDX-License-Identifier: Apache-2.0
// The System interface: what is in a context binary.
#include <stdlib.h>
#include <unistd.h>

#include "library.h"

typedef struct {
  Object object;
  pthread_mutex_t lock;
  // The last one is the answer; older ones may still be read by the client.
  Info** infos;
  uint32_t count;
} System;

static void destroy_system(Object* object) {
  System* system = (System*)object;
  for (uint32_t i = 0; i < system->count; ++i) free_info(system->infos[i]);
  free(system->infos);
  pthread_mutex_destroy(&system->lock);
  leave_worker();
}

static Code create_system(void** handle) {
  const Code code = use_worker(NULL);
  if (code != 0) return code;
  System* system = make_object(sizeof(System), SYSTEM, NULL, NULL);
  if (system == NULL) {
    leave_worker();
    return NO_MEMORY;
  }
  make_lock(&system->lock);
  system->object.destroy = destroy_system;
  return give_handle(system, handle, SYSTEM_ARGUMENT, "systemContextCreate");
}

static Code describe_binary(const void* binary, uint64_t size, Info** info) {
  const int file = make_memory("edgewright-binary");
  if (file < 0) return NO_MEMORY;
  char* blob = NULL;
  Head head = {.request = ASK_LOAD, .second = size};
  Code code = 0;
  if (binary == NULL || size == 0 || size > (1ull << 40) || !write_file(file, binary, size, 0)) code = refuse(NULL, SYSTEM_ARGUMENT, "the context binary cannot be read");
  if (code == 0) code = ask_worker(NULL, &head, NULL, file, &blob, NULL);
  if (code == BAD_BINARY) code = SYSTEM_BINARY;
  if (code == 0) {
    *info = read_info(blob, head.bytes);
    if (*info == NULL) code = NO_MEMORY;
    else (*info)->binary.contextBinaryInfoV3.contextBlobSize = size;
  }
  free(blob);
  close(file);
  return code;
}

static bool keep_info(System* system, Info* info) {
  pthread_mutex_lock(&system->lock);
  Info** wider = realloc(system->infos, (system->count + 1u) * sizeof(Info*));
  if (wider != NULL) {
    system->infos = wider;
    system->infos[system->count++] = info;
  }
  pthread_mutex_unlock(&system->lock);
  return wider != NULL;
}

static Code get_meta_data(const void* handle, const void* binary, uint64_t size, const QnnSystemContext_BinaryInfo_t** answer) {
  System* system = hold(handle, SYSTEM);
  if (system == NULL) return refuse(NULL, SYSTEM_HANDLE, "the handle of the System context is invalid");
  Info* info = NULL;
  Code code = describe_binary(binary, size, &info);
  if (code == 0 && !keep_info(system, info)) {
    free_info(info);
    code = NO_MEMORY;
  }
  const QnnSystemContext_BinaryInfo_t* found = code == 0 ? &info->binary : NULL;
  if (code == 0 && !write_client(answer, &found, sizeof(found))) code = refuse(NULL, SYSTEM_ARGUMENT, "no place for the description");
  drop(system);
  return code;
}

static Code get_binary_info(const void* handle, void* binary, uint64_t size, const QnnSystemContext_BinaryInfo_t** answer, uint64_t* answer_size) {
  const uint64_t bytes = sizeof(QnnSystemContext_BinaryInfo_t);
  const Code code = get_meta_data(handle, binary, size, answer);
  if (code == 0 && answer_size != NULL) write_client(answer_size, &bytes, sizeof(bytes));
  return code;
}

static Code free_system(const void* handle) {
  return release(handle, SYSTEM) ? 0 : refuse(NULL, SYSTEM_HANDLE, "systemContextFree: the handle is invalid");
}

// ---- logs of profiles: ONNX Runtime's provider wants one before it reads the events itself, and stops without it.
// Qualcomm's format is not written, which is said once.

typedef struct {
  uint32_t kind;
  const char *name, *folder;
} LogTarget;

static Code create_target(LogTarget target, const void* configs, uint32_t count, void** handle) {
  (void)target, (void)configs, (void)count;
  Object* made = make_object(sizeof(Object), TARGET, NULL, NULL);
  if (made == NULL) return NO_MEMORY;
  static bool is_said = false;
  if (!__atomic_exchange_n(&is_said, true, __ATOMIC_ACQ_REL)) {
    say(NULL, QNN_LOG_LEVEL_ERROR, "no qnn-profiling-data.log is written: read the events through the interface");
  }
  return give_handle(made, handle, SYSTEM_ARGUMENT, "systemProfileCreateSerializationTarget");
}

static Code serialize_events(const void* handle, const void** data, uint32_t count) {
  Object* target = hold(handle, TARGET);
  (void)data, (void)count;
  drop(target);
  return target == NULL ? SYSTEM_HANDLE : 0;
}

static Code free_target(const void* handle) { return release(handle, TARGET) ? 0 : SYSTEM_HANDLE; }

_Static_assert(sizeof(QnnSystemContext_BinaryInfo_t) == 144 && sizeof(QnnSystemContext_GraphInfo_t) == 88, "the descriptions of the interface");

const Function SYSTEM_FUNCTIONS[] = {(Function)create_system, (Function)get_binary_info, (Function)get_meta_data,   (Function)free_system,
                                     (Function)create_target, (Function)serialize_events, (Function)free_target};
