// SPDX-License-Identifier: Apache-2.0
// Contexts: made empty or from a binary, and their binaries.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

Log* log_of(const Object* object) {
  while (object != NULL && object->kind != BACKEND) object = object->parent;
  return object == NULL ? NULL : ((const Backend*)object)->log;
}

static void destroy_context(Object* object) {
  Context* context = (Context*)object;
  if (context->binary >= 0) close(context->binary);
  pthread_mutex_destroy(&context->lock);
  tell_worker(ASK_FREE, object->number, 0);
  leave_worker();
}

static Code make_context(const void* backend_handle, Context** made) {
  Backend* backend = hold(backend_handle, BACKEND);
  if (backend == NULL) return refuse(NULL, CONTEXT_HANDLE, "a context needs a backend, its handle is invalid");
  Code code = use_worker(backend->log);
  if (code == 0) {
    *made = make_object(sizeof(Context), CONTEXT, &backend->object, NULL);
    if (*made == NULL) {
      leave_worker();
      code = NO_MEMORY;
    } else {
      make_lock(&(*made)->lock);
      (*made)->binary = -1;
      (*made)->object.destroy = destroy_context;
    }
  }
  drop(backend);
  return code;
}

static Code check_device(const void* handle) {
  if (handle == NULL) return 0;
  Object* device = hold(handle, DEVICE);
  drop(device);
  return device != NULL ? 0 : refuse(NULL, DEVICE_HANDLE, "the device handle of a context is invalid");
}

static Code create_context(const void* backend, const void* device, const void** config, void** handle) {
  Context* context = NULL;
  (void)config;
  Code code = check_device(device);
  if (code == 0) code = make_context(backend, &context);
  return code != 0 ? code : give_handle(context, handle, CONTEXT_ARGUMENT, "contextCreate");
}

static Code set_context_config(const void* handle, const void** config) {
  Context* context = hold(handle, CONTEXT);
  (void)config;
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "contextSetConfig: the handle is invalid");
  drop(context);
  return 0;
}

static void find_unfinished(Object* object, void* found) {
  if (__atomic_load_n(&((Graph*)object)->state, __ATOMIC_ACQUIRE) != READY) *(bool*)found = true;
}

// The binary of a context as it is now: made once, until a graph comes.
static Code make_binary(Context* context) {
  bool is_unfinished = false;
  Log* log = log_of(&context->object);
  visit_children(&context->object, GRAPH, find_unfinished, &is_unfinished);
  if (is_unfinished) return refuse(log, CONTEXT_NOT_FINALIZED, "a graph of the context is not finalized");
  if (context->binary >= 0) return 0;
  Head head = {.request = ASK_BINARY, .first = context->object.number};
  int file = -1;
  const Code code = ask_worker(log, &head, NULL, -1, NULL, &file);
  if (code == 0 && file < 0) return WORKER_LOST;
  if (code == 0) {
    context->binary = file;
    context->binary_bytes = head.first;
  }
  return code;
}

static Code get_binary_size(const void* handle, uint64_t* size) {
  Context* context = hold(handle, CONTEXT);
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "contextGetBinarySize: the handle is invalid");
  pthread_mutex_lock(&context->lock);
  Code code = make_binary(context);
  const uint64_t bytes = context->binary_bytes;
  pthread_mutex_unlock(&context->lock);
  if (code == 0 && !write_client(size, &bytes, sizeof(bytes))) code = refuse(NULL, CONTEXT_ARGUMENT, "contextGetBinarySize: no place for the size");
  drop(context);
  return code;
}

static Code copy_binary(Context* context, void* buffer, uint64_t size, uint64_t* written) {
  Log* log = log_of(&context->object);
  const Code code = make_binary(context);
  if (code != 0) return code;
  if (size < context->binary_bytes) {
    return refuse(log, BINARY_SHORT, "the binary has %" PRIu64 " bytes, the buffer %" PRIu64, context->binary_bytes, size);
  }
  if (buffer == NULL || !read_file(context->binary, buffer, context->binary_bytes, 0)) {
    return refuse(log, CONTEXT_ARGUMENT, "the buffer for the binary cannot be written");
  }
  return write_client(written, &context->binary_bytes, sizeof(uint64_t)) ? 0 : refuse(log, CONTEXT_ARGUMENT, "contextGetBinary: no place for the size");
}

static Code get_binary(const void* handle, void* buffer, uint64_t size, uint64_t* written) {
  Context* context = hold(handle, CONTEXT);
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "contextGetBinary: the handle is invalid");
  pthread_mutex_lock(&context->lock);
  const Code code = copy_binary(context, buffer, size, written);
  pthread_mutex_unlock(&context->lock);
  drop(context);
  return code;
}

static Code load_binary(Context* context, const void* binary, uint64_t size, Profile* profile) {
  Log* log = log_of(&context->object);
  const int file = make_memory("edgewright-binary");
  const uint64_t start = read_clock();
  char* blob = NULL;
  if (file < 0) return NO_MEMORY;
  Head head = {.request = ASK_LOAD, .first = context->object.number, .second = size};
  Code code = 0;
  if (size == 0 || binary == NULL || size > (1ull << 40) || !write_file(file, binary, size, 0)) {
    code = refuse(log, CONTEXT_ARGUMENT, "the context binary cannot be read");
  }
  if (code == 0) code = ask_worker(log, &head, NULL, file, &blob, NULL);
  if (code == 0) code = read_graphs(context, blob, head.bytes);
  // The bytes are what its binary is.
  if (code == 0) {
    context->binary = file;
    context->binary_bytes = size;
    if (profile != NULL) record_event(profile, 100, read_clock() - start, "load", NULL);
  } else {
    close(file);
  }
  free(blob);
  return code;
}

static Code create_from_binary(const void* backend, const void* device, const void** config, const void* binary, uint64_t size,
                               void** handle, const void* profile_handle) {
  Context* context = NULL;
  (void)config;
  Profile* profile = profile_handle == NULL ? NULL : hold(profile_handle, PROFILE);
  if (profile_handle != NULL && profile == NULL) return refuse(NULL, PROFILE_HANDLE, "contextCreateFromBinary: the profile handle is invalid");
  Code code = check_device(device);
  if (code == 0) code = make_context(backend, &context);
  if (code == 0) {
    // Graphs keep their context alive: what does not reach the client is taken apart here.
    Object* kept = &context->object;
    code = load_binary(context, binary, size, profile);
    keep(kept);
    if (code == 0) code = give_handle(context, handle, CONTEXT_ARGUMENT, "contextCreateFromBinary");
    else drop(context);
    if (code != 0) release_children(kept, GRAPH);
    drop(kept);
  }
  drop(profile);
  return code;
}

static Code free_context(const void* handle, const void* profile) {
  Context* context = hold(handle, CONTEXT);
  (void)profile;
  if (context == NULL) return refuse(NULL, CONTEXT_HANDLE, "contextFree: the handle is invalid");
  // First its graphs and memory: they keep it alive.
  const bool is_ours = release(handle, CONTEXT);
  release_children(&context->object, GRAPH);
  release_children(&context->object, MEMORY);
  drop(context);
  return is_ours ? 0 : refuse(NULL, CONTEXT_HANDLE, "contextFree: the context is being freed");
}

const Function CONTEXT_FUNCTIONS[] = {(Function)create_context, (Function)set_context_config, (Function)get_binary_size,
                                      (Function)get_binary,     (Function)create_from_binary, (Function)free_context};
