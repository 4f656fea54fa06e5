// SPDX-License-Identifier: Apache-2.0
// Profiles: what the last calls took. Events that were handed out stay valid until their profile is freed.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"

#define MOST_CALLS 64
#define MICROSECONDS 1
#define NODE_EVENT 404
// An event's number: that of its profile, the call, and its place in the call (0 is the call itself).
#define CALL_BITS 24
#define PLACE_BITS 20

typedef struct {
  uint32_t type, unit;
  uint64_t value;
  const char* identifier;
} EventData;
typedef struct {
  uint32_t version;
  uint32_t type, unit;
  union {
    Qnn_Scalar_t value;
    struct {
      void* data;
      uint64_t bytes;
      char* name;
    } opaque;
  };
  uint64_t time;
  const char* identifier;
} ExtendedEventData;

typedef struct Call {
  struct Call* next;
  uint64_t number;
  uint32_t count;
  uint64_t time;
  EventData* events;
  uint64_t* ids;
  char* names;
} Call;
struct Profile {
  Object object;
  pthread_mutex_t lock;
  uint32_t level;
  uint64_t calls_made;
  Call* calls;  // the newest first
};

uint64_t read_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint32_t level_of(const Profile* profile) { return profile->level; }

static void free_call(Call* call) {
  free(call->events);
  free(call->ids);
  free(call->names);
  free(call);
}

static void destroy_profile(Object* object) {
  Profile* profile = (Profile*)object;
  for (Call *call = profile->calls, *next; call != NULL; call = next) {
    next = call->next;
    free_call(call);
  }
  pthread_mutex_destroy(&profile->lock);
}

static uint32_t count_lines(const char* lines) {
  uint32_t count = 0;
  for (; lines != NULL && *lines != 0; ++lines) count += *lines == '\n';
  return count < (1u << PLACE_BITS) - 2 ? count : (1u << PLACE_BITS) - 2;
}

// Each line: a name, a tab, and microseconds. The names stay where they are.
static void split_lines(Call* call, char* lines) {
  for (uint32_t i = 1; i < call->count; ++i) {
    char* end = strchr(lines, '\n');
    char* tab = memchr(lines, '\t', (size_t)(end - lines));
    *end = 0;
    if (tab != NULL) *tab = 0;
    call->events[i] = (EventData){NODE_EVENT, MICROSECONDS, tab == NULL ? 0 : strtoull(tab + 1, NULL, 10), lines};
    lines = end + 1;
  }
}

static Call* make_call(const char* name, const char* lines) {
  Call* call = calloc(1, sizeof(Call));
  if (call == NULL) return NULL;
  const size_t named = strlen(name) + 1, more = lines == NULL ? 0 : strlen(lines);
  call->count = 1 + count_lines(lines);
  call->events = calloc(call->count, sizeof(EventData));
  call->ids = calloc(call->count, sizeof(uint64_t));
  call->names = malloc(named + more + 1);
  if (call->events == NULL || call->ids == NULL || call->names == NULL) {
    free_call(call);
    return NULL;
  }
  memcpy(call->names, name, named);
  memcpy(call->names + named, lines == NULL ? "" : lines, more + 1);
  split_lines(call, call->names + named);
  return call;
}

static void forget_oldest(Profile* profile) {
  Call** place = &profile->calls;
  for (int kept = 0; *place != NULL && kept < MOST_CALLS; ++kept) place = &(*place)->next;
  if (*place == NULL) return;
  free_call(*place);
  *place = NULL;
}

void record_event(Profile* profile, uint32_t type, uint64_t microseconds, const char* name, const char* lines) {
  Call* call = make_call(name, lines);
  if (call == NULL) return;
  call->events[0] = (EventData){type, MICROSECONDS, microseconds, call->names};
  call->time = read_clock();
  pthread_mutex_lock(&profile->lock);
  call->number = ++profile->calls_made & ((1u << CALL_BITS) - 1);
  for (uint32_t i = 0; i < call->count; ++i) {
    call->ids[i] = (profile->object.number & 0xFFFFF) << (CALL_BITS + PLACE_BITS) | call->number << PLACE_BITS | (i + 1);
  }
  call->next = profile->calls;
  profile->calls = call;
  forget_oldest(profile);
  pthread_mutex_unlock(&profile->lock);
}

static Code create_profile(const void* backend_handle, uint32_t level, void** handle) {
  Backend* backend = hold(backend_handle, BACKEND);
  if (backend == NULL) return refuse(NULL, PROFILE_HANDLE, "profileCreate: the backend handle is invalid");
  Profile* profile = level == 0 ? NULL : make_object(sizeof(Profile), PROFILE, &backend->object, NULL);
  drop(backend);
  if (profile == NULL) return refuse(NULL, PROFILE_ARGUMENT, "profile level %u, expected 1 (basic) or 2 (detailed)", level);
  make_lock(&profile->lock);
  profile->object.destroy = destroy_profile;
  profile->level = level;
  return give_handle(profile, handle, PROFILE_ARGUMENT, "profileCreate");
}

static Code set_profile_config(const void* handle, const void** config) {
  Profile* profile = hold(handle, PROFILE);
  (void)config;
  if (profile == NULL) return refuse(NULL, PROFILE_HANDLE, "profileSetConfig: the handle is invalid");
  drop(profile);
  return NOT_SUPPORTED;
}

static Code give_ids(uint64_t* const ids, uint32_t count, const uint64_t** to_ids, uint32_t* to_count) {
  const bool is_given = write_client(to_ids, &ids, sizeof(ids)) && write_client(to_count, &count, sizeof(count));
  return is_given ? 0 : refuse(NULL, PROFILE_ARGUMENT, "no place for the events");
}

static Code get_events(const void* handle, const uint64_t** ids, uint32_t* count) {
  Profile* profile = hold(handle, PROFILE);
  if (profile == NULL) return refuse(NULL, PROFILE_HANDLE, "profileGetEvents: the handle is invalid");
  pthread_mutex_lock(&profile->lock);
  const Call* last = profile->calls;
  const Code code = give_ids(last == NULL ? NULL : last->ids, last == NULL ? 0 : 1, ids, count);
  pthread_mutex_unlock(&profile->lock);
  drop(profile);
  return code;
}

// ---- events by number

typedef struct {
  uint64_t id;
  Profile* found;
} Search;

static void match_profile(Object* object, void* argument) {
  Search* search = argument;
  if (search->found != NULL || (object->number & 0xFFFFF) != search->id >> (CALL_BITS + PLACE_BITS)) return;
  search->found = (Profile*)object;
  ++object->references;
}

static Profile* hold_owner(uint64_t id) {
  Search search = {id, NULL};
  visit_children(NULL, PROFILE, match_profile, &search);
  return search.found;
}

static const Call* find_call(const Profile* profile, uint64_t id) {
  const uint64_t number = id >> PLACE_BITS & ((1u << CALL_BITS) - 1), place = id & ((1u << PLACE_BITS) - 1);
  const Call* call = profile->calls;
  while (call != NULL && call->number != number) call = call->next;
  return call != NULL && place >= 1 && place <= call->count ? call : NULL;
}

typedef Code (*Answer)(const Call* call, uint32_t place, void* first, void* second);

static Code answer_event(uint64_t id, Answer answer, void* first, void* second) {
  Profile* profile = hold_owner(id);
  if (profile == NULL) return refuse(NULL, PROFILE_HANDLE, "the event is unknown");
  pthread_mutex_lock(&profile->lock);
  const Call* call = find_call(profile, id);
  const Code code = call == NULL ? refuse(NULL, PROFILE_HANDLE, "the event is unknown") : answer(call, (uint32_t)(id & ((1u << PLACE_BITS) - 1)) - 1, first, second);
  pthread_mutex_unlock(&profile->lock);
  drop(profile);
  return code;
}

static Code give_sub_events(const Call* call, uint32_t place, void* ids, void* count) {
  return give_ids(call->ids + 1, place == 0 ? call->count - 1 : 0, ids, count);
}

static Code give_data(const Call* call, uint32_t place, void* data, void* unused) {
  (void)unused;
  return write_client(data, &call->events[place], sizeof(EventData)) ? 0 : refuse(NULL, PROFILE_ARGUMENT, "no place for the event's data");
}

static Code give_extended(const Call* call, uint32_t place, void* data, void* unused) {
  const EventData* event = &call->events[place];
  ExtendedEventData extended = {.version = 1, .type = event->type, .unit = event->unit, .time = call->time, .identifier = event->identifier};
  (void)unused;
  extended.value.dataType = QNN_DATATYPE_UINT_64;
  extended.value.uint64Value = event->value;
  return write_client(data, &extended, sizeof(extended)) ? 0 : refuse(NULL, PROFILE_ARGUMENT, "no place for the event's data");
}

static Code get_sub_events(uint64_t id, const uint64_t** ids, uint32_t* count) { return answer_event(id, give_sub_events, ids, count); }
static Code get_event_data(uint64_t id, EventData* data) { return answer_event(id, give_data, data, NULL); }
static Code get_extended_data(uint64_t id, ExtendedEventData* data) { return answer_event(id, give_extended, data, NULL); }

static Code free_profile(const void* handle) {
  return release(handle, PROFILE) ? 0 : refuse(NULL, PROFILE_HANDLE, "profileFree: the handle is invalid");
}

_Static_assert(sizeof(ExtendedEventData) == 56 && sizeof(EventData) == 24, "the events of the interface");

const Function PROFILE_FUNCTIONS[] = {(Function)create_profile, (Function)set_profile_config, (Function)get_events,       (Function)get_sub_events,
                                      (Function)get_event_data, (Function)get_extended_data,  (Function)free_profile};
