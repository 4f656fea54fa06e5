// SPDX-License-Identifier: Apache-2.0
// Logs and reasons: what the library says, and what its codes mean.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define LONGEST_REASON 1024
#define REASONS_KEPT 256

static const struct {
  Code code;
  const char* meaning;
} MEANINGS[] = {
    {0, "no error"},
    {NOT_SUPPORTED, "not supported by this backend"},
    {NO_MEMORY, "not enough memory"},
    {BAD_ARGUMENT, "an argument is invalid"},
    {NOT_NOW, "not permitted now"},
    {WORKER_LOST, "the process that computes has ended"},
    {UNKNOWN_PROPERTY, "the property is unknown"},
    {OP_REFUSED, "the op does not pass validation"},
    {BACKEND_NOT_STARTED, "the backend did not start"},
    {BACKEND_ARGUMENT, "an argument of a backend call is invalid"},
    {UNKNOWN_OP, "the op or its package is unknown"},
    {BACKEND_HANDLE, "the backend handle is invalid"},
    {CONTEXT_ARGUMENT, "an argument of a context call is invalid"},
    {CONTEXT_HANDLE, "the context handle is invalid"},
    {CONTEXT_NOT_FINALIZED, "a graph of the context is not finalized"},
    {BAD_BINARY, "the context binary cannot be used"},
    {BINARY_SIZE, "the context has no binary"},
    {BINARY_SHORT, "the buffer is too small for the context binary"},
    {GRAPH_ARGUMENT, "an argument of a graph call is invalid"},
    {GRAPH_HANDLE, "the graph handle is invalid"},
    {NO_SUCH_GRAPH, "the context has no graph of this name"},
    {GRAPH_NAME, "the name of the graph is invalid or taken"},
    {GRAPH_TENSOR, "a tensor is invalid or does not belong to the graph"},
    {OP_CONFIG, "the op configuration is invalid"},
    {NODE_ORDER, "a node reads what no node before it writes"},
    {FINALIZE_FAILED, "the graph cannot be finalized"},
    {GRAPH_OPEN, "the graph is not finalized"},
    {GRAPH_FINALIZED, "the graph is finalized already"},
    {QUEUE_FULL, "too many executions are under way"},
    {EXECUTE_FAILED, "the execution failed"},
    {TENSOR_ARGUMENT, "an argument of a tensor call is invalid"},
    {TENSOR_NAME, "the name of the tensor is invalid or taken"},
    {TENSOR_REFUSED, "the tensor is not supported"},
    {MEMORY_ARGUMENT, "the memory cannot be registered"},
    {MEMORY_HANDLE, "the memory handle is invalid"},
    {UNKNOWN_CODE, "the code is unknown"},
    {LOG_ARGUMENT, "an argument of a log call is invalid"},
    {LOG_HANDLE, "the log handle is invalid"},
    {PROFILE_HANDLE, "the profile or event is unknown"},
    {PROFILE_ARGUMENT, "an argument of a profile call is invalid"},
    {DEVICE_HANDLE, "the device handle is invalid"},
    {SYSTEM_ARGUMENT, "an argument of a System call is invalid"},
    {SYSTEM_HANDLE, "the handle of the System context is invalid"},
    {SYSTEM_BINARY, "the file is no context binary of this backend"},
};

static _Thread_local char last_reason[LONGEST_REASON];
static _Thread_local Code last_code;
static pthread_mutex_t reasons_lock = PTHREAD_MUTEX_INITIALIZER;
// The reasons that were given out: freeing one is a no-op, so that it can be done twice.
static char* reasons[REASONS_KEPT];
static unsigned reasons_given = 0;

static void call_back(QnnLog_Callback_t callback, uint32_t level, uint64_t time, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  callback(format, (QnnLog_Level_t)level, time, arguments);
  va_end(arguments);
}

static void say_words(Log* log, uint32_t level, const char* words) {
  const uint32_t wanted = log == NULL ? QNN_LOG_LEVEL_ERROR : __atomic_load_n(&log->level, __ATOMIC_ACQUIRE);
  if (level > wanted) return;
  QnnLog_Callback_t callback = log == NULL ? NULL : log->callback;
  if (callback != NULL) call_back(callback, level, read_clock() * 1000, "%s", words);
  else fprintf(stderr, "edgewright backend library: %s\n", words);
}

void say(Log* log, uint32_t level, const char* format, ...) {
  char words[LONGEST_REASON];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  say_words(log, level, words);
}

Code refuse(Log* log, Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_reason, sizeof(last_reason), format, arguments);
  va_end(arguments);
  last_code = code;
  // Whether an op is supported is a question: the answer no is not an error.
  const bool is_answer = code == OP_REFUSED || code == UNKNOWN_OP || code == NOT_SUPPORTED;
  say_words(log, is_answer ? QNN_LOG_LEVEL_WARN : QNN_LOG_LEVEL_ERROR, last_reason);
  return code;
}

static Code create_log(QnnLog_Callback_t callback, uint32_t level, void** handle) {
  if (level < QNN_LOG_LEVEL_ERROR || level > QNN_LOG_LEVEL_DEBUG) return refuse(NULL, LOG_ARGUMENT, "log level %u", level);
  Log* log = make_object(sizeof(Log), LOG, NULL, NULL);
  if (log == NULL) return NO_MEMORY;
  log->callback = callback;
  log->level = level;
  return give_handle(log, handle, LOG_ARGUMENT, "logCreate");
}

static Code set_log_level(const void* handle, uint32_t level) {
  if (level < QNN_LOG_LEVEL_ERROR || level > QNN_LOG_LEVEL_DEBUG) return refuse(NULL, LOG_ARGUMENT, "log level %u", level);
  Log* log = hold(handle, LOG);
  if (log == NULL) return refuse(NULL, LOG_HANDLE, "logSetLogLevel: the handle is invalid");
  __atomic_store_n(&log->level, level, __ATOMIC_RELEASE);
  drop(log);
  return 0;
}

static Code free_log(const void* handle) {
  Log* log = hold(handle, LOG);
  if (log == NULL) return refuse(NULL, LOG_HANDLE, "logFree: the handle is invalid");
  // Backends may still refer to it, but its function may be gone from now on.
  __atomic_store_n(&log->level, 0, __ATOMIC_RELEASE);
  release(handle, LOG);
  drop(log);
  return 0;
}

static const char* find_meaning(Code code) {
  for (size_t i = 0; i < sizeof(MEANINGS) / sizeof(MEANINGS[0]); ++i) {
    if (MEANINGS[i].code == (code & 0xFFFF)) return MEANINGS[i].meaning;
  }
  return NULL;
}

static Code get_message(Code code, const char** message) {
  const char* found = find_meaning(code);
  if (found == NULL) return UNKNOWN_CODE;
  return write_client(message, &found, sizeof(found)) ? 0 : BAD_ARGUMENT;
}

static Code get_verbose_message(Code code, const char** message) {
  const char* found = last_code == (code & 0xFFFF) && last_code != 0 ? last_reason : find_meaning(code);
  if (found == NULL) return UNKNOWN_CODE;
  char* kept = strdup(found);
  if (kept == NULL) return NO_MEMORY;
  pthread_mutex_lock(&reasons_lock);
  char** place = &reasons[reasons_given++ % REASONS_KEPT];
  free(*place);
  *place = kept;
  pthread_mutex_unlock(&reasons_lock);
  return write_client(message, &kept, sizeof(kept)) ? 0 : BAD_ARGUMENT;
}

static Code free_verbose_message(const char* message) { return message == NULL ? BAD_ARGUMENT : 0; }

const Function LOG_FUNCTIONS[] = {(Function)create_log, (Function)set_log_level, (Function)free_log};
const Function ERROR_FUNCTIONS[] = {(Function)get_message, (Function)get_verbose_message, (Function)free_verbose_message};
