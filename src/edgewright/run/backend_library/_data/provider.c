// SPDX-License-Identifier: Apache-2.0
// The two functions that the library exports, and the tables that they give.
#include "library.h"

#define FUNCTIONS 69
#define SYSTEM_TABLE 64

typedef struct {
  uint32_t backend;
  const char* name;
  Qnn_ApiVersion_t version;
  Function functions[FUNCTIONS];
} Provider;
typedef struct {
  uint32_t backend;
  const char* name;
  Qnn_Version_t version;
  Function functions[SYSTEM_TABLE];
} SystemProvider;

// Whatever arguments it is called with: they are not looked at.
static Code answer_unsupported(void) { return NOT_SUPPORTED; }

static Provider provider = {EDGEWRIGHT_BACKEND_ID, "EDGEWRIGHT_" EDGEWRIGHT_KIND, {{2, 40, 0}, {1, 0, 0}}, {0}};
static SystemProvider system_provider = {0, "EDGEWRIGHT_SYSTEM", {1, 15, 0}, {0}};
static const Provider* providers[] = {&provider};
static const SystemProvider* system_providers[] = {&system_provider};

static void place(int index, const Function* functions, int count) {
  for (int i = 0; i < count; ++i) provider.functions[index + i] = functions[i];
}

__attribute__((constructor)) static void fill_tables(void) {
  for (int i = 0; i < FUNCTIONS; ++i) provider.functions[i] = (Function)answer_unsupported;
  for (int i = 0; i < SYSTEM_TABLE; ++i) system_provider.functions[i] = (Function)answer_unsupported;
  place(0, BACKEND_FUNCTIONS, 9);
  place(9, CONTEXT_FUNCTIONS, 6);
  place(15, GRAPH_FUNCTIONS, 1);
  place(17, GRAPH_FUNCTIONS + 1, 4);
  place(21, EXECUTE_FUNCTIONS, 2);
  place(24, GRAPH_FUNCTIONS + 5, 1);
  place(25, LOG_FUNCTIONS, 3);
  place(28, PROFILE_FUNCTIONS, 7);
  place(35, MEMORY_FUNCTIONS, 2);
  place(39, DEVICE_FUNCTIONS, 2);
  place(43, DEVICE_FUNCTIONS + 2, 1);
  place(48, ERROR_FUNCTIONS, 3);
  for (int i = 0; i < 4; ++i) system_provider.functions[i] = SYSTEM_FUNCTIONS[i];
  for (int i = 0; i < 3; ++i) {
    system_provider.functions[5 + i] = LOG_FUNCTIONS[i];
    system_provider.functions[13 + i] = SYSTEM_FUNCTIONS[4 + i];
  }
}

static Code give_providers(const void* list, const void** to, uint32_t* count) {
  const uint32_t one = 1;
  if (!write_client(to, &list, sizeof(list)) || !write_client(count, &one, sizeof(one))) return BAD_ARGUMENT;
  return 0;
}

QNN_API Code QnnInterface_getProviders(const void** list, uint32_t* count) { return give_providers(providers, list, count); }

QNN_API Code QnnSystemInterface_getProviders(const void** list, uint32_t* count) { return give_providers(system_providers, list, count); }
