// SPDX-License-Identifier: Apache-2.0
// Everything a client has a handle of. A handle is a number that is given once: what was freed is never found again.
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define BUCKETS 1024

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static Object* table[BUCKETS];
static uint64_t last_number = 0;

// Numbers start above what a client may pass by mistake (small integers), and are no addresses.
#define FIRST 0x65770000ull

static void lock_table(void) { pthread_mutex_lock(&table_lock); }
static void unlock_table(void) { pthread_mutex_unlock(&table_lock); }

// A child process has no worker and none of its parent's objects: their handles are invalid there.
static void forget_objects(void) {
  memset(table, 0, sizeof(table));
  pthread_mutex_init(&table_lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(lock_table, unlock_table, forget_objects); }

void* make_object(size_t bytes, Kind kind, Object* parent, void (*destroy)(Object*)) {
  Object* object = calloc(1, bytes);
  if (object == NULL) return NULL;
  object->kind = kind;
  object->references = 1;
  object->parent = parent;
  object->destroy = destroy;
  lock_table();
  if (parent != NULL) ++parent->references;
  object->number = FIRST + ++last_number;
  unlock_table();
  return object;
}

void publish(void* object) {
  Object* item = object;
  lock_table();
  item->next = table[item->number % BUCKETS];
  table[item->number % BUCKETS] = item;
  unlock_table();
}

Code give_handle(void* object, void** handle, Code failure, const char* call) {
  void* number = handle_of(object);
  if (!write_client(handle, &number, sizeof(number))) {
    drop(object);
    return refuse(NULL, failure, "%s: no place for the handle", call);
  }
  publish(object);
  return 0;
}

void* hold(const void* handle, Kind kind) {
  const uint64_t number = (uint64_t)(uintptr_t)handle;
  lock_table();
  Object* found = table[number % BUCKETS];
  while (found != NULL && (found->number != number || found->kind != kind)) found = found->next;
  if (found != NULL) ++found->references;
  unlock_table();
  return found;
}

void keep(void* object) {
  lock_table();
  ++((Object*)object)->references;
  unlock_table();
}

void drop(void* object) {
  Object* dropped = object;
  while (dropped != NULL) {
    lock_table();
    const bool is_last = --dropped->references == 0;
    unlock_table();
    if (!is_last) return;
    Object* parent = dropped->parent;
    if (dropped->destroy != NULL) dropped->destroy(dropped);
    free(dropped);
    dropped = parent;
  }
}

static Object* take_out(Object** place) {
  Object* taken = *place;
  *place = taken->next;
  taken->next = NULL;
  return taken;
}

bool release(const void* handle, Kind kind) {
  const uint64_t number = (uint64_t)(uintptr_t)handle;
  Object* taken = NULL;
  lock_table();
  for (Object** place = &table[number % BUCKETS]; *place != NULL; place = &(*place)->next) {
    if ((*place)->number != number || (*place)->kind != kind) continue;
    taken = take_out(place);
    break;
  }
  unlock_table();
  drop(taken);
  return taken != NULL;
}

void release_children(const Object* parent, Kind kind) {
  Object* taken = NULL;
  lock_table();
  for (size_t bucket = 0; bucket < BUCKETS; ++bucket) {
    for (Object** place = &table[bucket]; *place != NULL;) {
      if ((*place)->parent != parent || (*place)->kind != kind) {
        place = &(*place)->next;
        continue;
      }
      Object* child = take_out(place);
      child->next = taken;
      taken = child;
    }
  }
  unlock_table();
  while (taken != NULL) {
    Object* next = taken->next;
    drop(taken);
    taken = next;
  }
}

void* handle_of(const void* object) { return (void*)(uintptr_t)((const Object*)object)->number; }

void visit_children(const Object* parent, Kind kind, void (*visit)(Object*, void*), void* argument) {
  lock_table();
  for (size_t bucket = 0; bucket < BUCKETS; ++bucket) {
    for (Object* item = table[bucket]; item != NULL; item = item->next) {
      if ((parent == NULL || item->parent == parent) && item->kind == kind) visit(item, argument);
    }
  }
  unlock_table();
}
