// SPDX-License-Identifier: Apache-2.0
// What the parts of the backend library share. The library keeps every object of a client, checks whatever it is
// given, and leaves computing to a worker process: no answer of Python can end the client, and the other way round.
#ifndef EDGEWRIGHT_BACKEND_LIBRARY_H
#define EDGEWRIGHT_BACKEND_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "QnnLog.h"
#include "QnnSystemInterface.h"
#include "QnnTypes.h"

// Set by the command that builds the library.
#ifndef EDGEWRIGHT_KIND
#define EDGEWRIGHT_KIND "cpu"
#define EDGEWRIGHT_BACKEND_ID 3
#define EDGEWRIGHT_PYTHON "python3"
#define EDGEWRIGHT_PACKAGES ""
#define EDGEWRIGHT_VERSION "0"
#endif

typedef Qnn_ErrorHandle_t Code;

enum {
  NOT_SUPPORTED = 1000,
  NO_MEMORY = 1002,
  BAD_ARGUMENT = 1004,
  NOT_NOW = 1005,
  WORKER_LOST = 1007,
  UNKNOWN_PROPERTY = 2000,
  OP_REFUSED = 3110,
  BACKEND_NOT_STARTED = 4000,
  BACKEND_ARGUMENT = 4004,
  UNKNOWN_OP = 4005,
  BACKEND_HANDLE = 4011,
  CONTEXT_ARGUMENT = 5000,
  CONTEXT_HANDLE = 5002,
  CONTEXT_NOT_FINALIZED = 5003,
  BAD_BINARY = 5005,
  BINARY_SIZE = 5006,
  BINARY_SHORT = 5007,
  GRAPH_ARGUMENT = 6000,
  GRAPH_HANDLE = 6001,
  NO_SUCH_GRAPH = 6002,
  GRAPH_NAME = 6003,
  GRAPH_TENSOR = 6004,
  OP_CONFIG = 6005,
  NODE_ORDER = 6007,
  FINALIZE_FAILED = 6022,
  GRAPH_OPEN = 6023,
  GRAPH_FINALIZED = 6024,
  QUEUE_FULL = 6025,
  EXECUTE_FAILED = 6031,
  TENSOR_ARGUMENT = 7000,
  TENSOR_NAME = 7003,
  TENSOR_REFUSED = 7004,
  MEMORY_ARGUMENT = 8000,
  MEMORY_HANDLE = 8001,
  UNKNOWN_CODE = 10000,
  LOG_ARGUMENT = 11003,
  LOG_HANDLE = 11004,
  PROFILE_HANDLE = 12002,
  PROFILE_ARGUMENT = 12003,
  DEVICE_HANDLE = 14000,
  SYSTEM_ARGUMENT = 30002,
  SYSTEM_HANDLE = 30003,
  SYSTEM_BINARY = 30010
};

// ---- memory.c: reads of what a client points to, which may be anything

// False where a part of the memory cannot be read or written; nothing crashes.
bool read_client(void* to, const void* from, size_t bytes);
bool write_client(void* to, const void* from, size_t bytes);
// A copy of a text of at most `longest` bytes, to be freed; NULL where there is none.
char* read_client_text(const char* from, size_t longest);
// `count` elements of a client's array, to be freed; NULL where they cannot be read.
void* read_client_array(const void* from, uint64_t count, size_t element);

// A text that grows.
typedef struct {
  char* bytes;
  size_t size, room;
  bool is_failed;
} Text;
void add_text(Text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
void add_bytes(Text* text, const char* bytes, size_t count);
// A JSON string; false for bytes that are not UTF-8.
bool add_quoted(Text* text, const char* words);
void free_text(Text* text);

// ---- log.c

typedef struct Log Log;
// Keeps the reason for this thread's `errorGetVerboseMessage`, says it in the log, and returns the code.
Code refuse(Log* log, Code code, const char* format, ...) __attribute__((format(printf, 3, 4)));
void say(Log* log, uint32_t level, const char* format, ...) __attribute__((format(printf, 3, 4)));

// ---- objects.c: handles are numbers that are never used again

typedef enum { LOG = 1, BACKEND, DEVICE, CONTEXT, GRAPH, PROFILE, MEMORY, SYSTEM, TARGET } Kind;
typedef struct Object {
  uint64_t number;
  Kind kind;
  int references;
  // Freed with the object: it must outlive it.
  struct Object* parent;
  struct Object* next;
  void (*destroy)(struct Object*);
} Object;

// An object with a number, which no client knows yet (NULL on a lack of memory).
void* make_object(size_t bytes, Kind kind, Object* parent, void (*destroy)(Object*));
// Puts an object into the table: its handle is valid from now on.
void publish(void* object);
// Gives a new object to the client and publishes it; where its handle has no place it is dropped, and `failure` returned.
Code give_handle(void* object, void** handle, Code failure, const char* call);
// The object of a handle, which cannot be destroyed before `drop`; NULL for any other handle.
void* hold(const void* handle, Kind kind);
void drop(void* object);
// One more reference to an object that is held already.
void keep(void* object);
// Takes an object out of the table: its handle is invalid from now on. False for a handle that is none.
bool release(const void* handle, Kind kind);
// Takes out everything of a kind that has this parent.
void release_children(const Object* parent, Kind kind);
void* handle_of(const void* object);
// Calls `visit` for every object of a kind with this parent (NULL: any), under the lock of the table.
void visit_children(const Object* parent, Kind kind, void (*visit)(Object*, void*), void* argument);

struct Log {
  Object object;
  QnnLog_Callback_t callback;
  uint32_t level;
};
typedef struct {
  Object object;
  Log* log;
  // What backendGetSupportedOperations gave.
  void* operations;
} Backend;
typedef struct {
  Object object;
  pthread_mutex_t lock;
  // The bytes of the binary, made by the worker; -1 where there are none.
  int binary;
  uint64_t binary_bytes;
} Context;
typedef struct {
  Object object;
  int file;
  uint64_t bytes;
} Memory;

// ---- worker.c: the process that computes

typedef enum {
  ASK_CHANNEL = 1,
  ASK_MEMORY = 2,
  ASK_VALIDATE = 3,
  ASK_FINALIZE = 4,
  ASK_EXECUTE = 5,
  ASK_BINARY = 6,
  ASK_LOAD = 7,
  ASK_FREE = 8,
  ASK_OPS = 9,
  ASK_PACKAGE = 10,
  ASK_HELLO = 11
} Request;
typedef struct {
  uint32_t request, code;
  uint64_t bytes, first, second;
} Head;
// A line to a thread of the worker, with memory that both see.
typedef struct Channel {
  int line, memory;
  uint64_t room;
  // Which worker it leads to, of those that were started one after the other.
  unsigned generation;
  struct Channel* next;
} Channel;

// Starts the worker, or joins the one that runs; every `use` needs a `leave`.
Code use_worker(Log* log);
void leave_worker(void);
Channel* take_channel(void);
void give_channel(Channel* channel, bool is_broken);
// Sends a request with its body and a file (-1 for none) and waits for the answer.
// The answer's body is to be freed; a file that it brings is closed where `file` is NULL.
Code ask(Channel* channel, Head* head, const char* body, int sent, char** answer, int* file);
// The same on a channel of its own; a refusal of the worker is logged with its reason.
Code ask_worker(Log* log, Head* head, const char* body, int sent, char** answer, int* file);
// Sends without an answer.
void tell_worker(Request request, uint64_t first, uint64_t second);
// Memory of at least this size in the channel.
bool widen(Channel* channel, uint64_t bytes);
int make_memory(const char* name);
bool write_file(int file, const void* from, uint64_t bytes, uint64_t at);
bool read_file(int file, void* to, uint64_t bytes, uint64_t at);
bool copy_file(int from, int to, uint64_t bytes, uint64_t from_at, uint64_t to_at);

// ---- tensors.c: tensors and ops of a client as records

typedef struct {
  char* name;
  char* json;
  uint32_t id, type, data_type, rank;
  uint32_t* dims;
  uint64_t bytes;
  // Where it is in the memory of an execution, if it is an input or output.
  uint64_t place;
  bool is_param, is_written;
} Record;
// Bytes of an element; 0 for types that no tensor here has.
uint64_t measure_element(uint32_t data_type);
// A client's tensor as a record; its data is appended to `file` at `*at`. On refusal the record is empty.
Code read_record(Log* log, const Qnn_Tensor_t* tensor, int file, uint64_t* at, bool is_data_needed, Record* record);
void free_record(Record* record);
Code read_scalar(Log* log, const Qnn_Scalar_t* scalar, Text* text);

// ---- graphs.c

typedef enum { OPEN, FINALIZING, READY, FAILED } State;
typedef struct {
  Object object;
  pthread_mutex_t lock;
  char* name;
  // What the worker calls it within its context.
  uint64_t remote;
  State state;
  Record* records;
  uint32_t count, room;
  uint32_t* index;
  uint32_t index_room;
  Text nodes;
  uint32_t nodes_count;
  int file;
  uint64_t file_bytes;
  // Bytes of all inputs and outputs, and the number of inputs.
  uint64_t io_bytes;
  uint32_t inputs_count;
} Graph;
Graph* make_graph(Context* context, const char* name);
// Frees what a graph holds, but not the graph itself.
void clear_graph(Graph* graph);
// The graph as JSON, in the form of a context binary.
Text write_graph(const Graph* graph);
void make_lock(pthread_mutex_t* lock);
// Places inputs, then outputs, in the memory of an execution: the worker does the same.
void place_tensors(Graph* graph);
Record* add_record(Graph* graph, Record record);
Record* find_record(Graph* graph, const char* name);
Log* log_of(const Object* object);

// ---- info.c: what is in a context binary, as the worker describes it

typedef struct Block Block;
// All that a description needs is in its blocks.
typedef struct {
  QnnSystemContext_BinaryInfo_t binary;
  Block* blocks;
} Info;
Info* read_info(const char* blob, uint64_t bytes);
void free_info(Info* info);
// The graphs of a loaded binary, made in a context.
Code read_graphs(Context* context, const char* blob, uint64_t bytes);

// ---- profile.c

typedef struct Profile Profile;
// A new call fills the profile: an event with its time, and one for each line "name\tmicroseconds" below it.
void record_event(Profile* profile, uint32_t type, uint64_t microseconds, const char* name, const char* lines);
uint32_t level_of(const Profile* profile);
uint64_t read_clock(void);

// The functions of the interface, by part; provider.c puts them into their places.
typedef void (*Function)(void);
extern const Function LOG_FUNCTIONS[], BACKEND_FUNCTIONS[], DEVICE_FUNCTIONS[], CONTEXT_FUNCTIONS[], GRAPH_FUNCTIONS[],
    EXECUTE_FUNCTIONS[], PROFILE_FUNCTIONS[], MEMORY_FUNCTIONS[], ERROR_FUNCTIONS[], SYSTEM_FUNCTIONS[];

#endif  // EDGEWRIGHT_BACKEND_LIBRARY_H
