// SPDX-License-Identifier: Apache-2.0
// The process that computes: started with the first backend, gone with the last. Data travels in files in memory,
// which the kernel fills from a client's buffers: a bad pointer is an error there, too.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

#define MOST_CHANNELS 64
#define LARGEST_ANSWER (1ull << 28)
#define THEIR_LINE 3
#define PIECE (1u << 18)

extern char** environ;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t given;
  unsigned users, generation;
  // The line by which the worker sees that we are gone, and gets its other lines.
  int lifeline;
  bool is_lost;
  Channel* idle;
  unsigned channels;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER, .lifeline = -1};

// Forks the process by itself, so that no client has a child to wait for, and closes what it inherited.
static const char START[] =
    "import os, sys\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "os.closerange(4, 1 << 16)\n"
    "sys.path.append(sys.argv[1])\n"
    "from edgewright.run.backend_library.worker import main\n"
    "main(3, sys.argv[2])\n";

static void lock_worker(void) { pthread_mutex_lock(&worker.lock); }
static void unlock_worker(void) { pthread_mutex_unlock(&worker.lock); }

static void close_all(void) {
  if (worker.lifeline >= 0) close(worker.lifeline);
  worker.lifeline = -1;
  for (Channel *channel = worker.idle, *next; channel != NULL; channel = next) {
    next = channel->next;
    close(channel->line);
    if (channel->memory >= 0) close(channel->memory);
    free(channel);
  }
  worker.idle = NULL;
  worker.channels = 0;
}

static void forget_worker(void) {
  pthread_mutex_init(&worker.lock, NULL);
  pthread_cond_init(&worker.given, NULL);
  close_all();
  worker.users = 0;
  worker.is_lost = false;
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(lock_worker, unlock_worker, forget_worker); }

static int spawn_python(const char* python, int theirs) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t child = 0;
  int status = 0;
  char* const words[] = {(char*)python, "-I", "-c", (char*)START, EDGEWRIGHT_PACKAGES, EDGEWRIGHT_KIND, NULL};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs, THEIR_LINE);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  posix_spawnattr_init(&attributes);
  sigemptyset(&none);
  // A client's thread may have signals blocked, which a process inherits.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&child, python, &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  }
  return error;
}

static Code start_worker(Log* log) {
  const char* named = getenv("EDGEWRIGHT_PYTHON");
  const char* python = named != NULL && named[0] != 0 ? named : EDGEWRIGHT_PYTHON;
  int lines[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) != 0) {
    return refuse(log, BACKEND_NOT_STARTED, "no socket for the worker: %s", strerror(errno));
  }
  const int error = spawn_python(python, lines[1]);
  close(lines[1]);
  if (error != 0) {
    close(lines[0]);
    return refuse(log, BACKEND_NOT_STARTED, "%s does not start: %s; set EDGEWRIGHT_PYTHON to a Python that has edgewright",
                  python, strerror(error));
  }
  worker.lifeline = lines[0];
  worker.is_lost = false;
  ++worker.generation;
  return 0;
}

static Code greet(Log* log) {
  Head head = {.request = ASK_HELLO};
  const Code code = ask_worker(log, &head, NULL, -1, NULL, NULL);
  if (code != WORKER_LOST) return code;
  return refuse(log, BACKEND_NOT_STARTED, "the Python of this library has no edgewright that starts: see its own lines above; "
                "set EDGEWRIGHT_PYTHON, or build the library again");
}

Code use_worker(Log* log) {
  lock_worker();
  Code code = 0;
  if (worker.users == 0) {
    close_all();
    code = start_worker(log);
  }
  if (code == 0) ++worker.users;
  unlock_worker();
  if (code == 0) {
    code = greet(log);
    if (code != 0) leave_worker();
  }
  return code;
}

void leave_worker(void) {
  lock_worker();
  if (worker.users > 0 && --worker.users == 0) close_all();
  unlock_worker();
}

// A message with a file in it, where there is one.
static bool send_head(int line, const Head* head, int file) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {(void*)head, sizeof(*head)};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (file >= 0) {
    memset(&control, 0, sizeof(control));
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    struct cmsghdr* held = CMSG_FIRSTHDR(&message);
    held->cmsg_level = SOL_SOCKET;
    held->cmsg_type = SCM_RIGHTS;
    held->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(held), &file, sizeof(int));
  }
  ssize_t sent;
  do sent = sendmsg(line, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof(*head);
}

static bool send_bytes(int line, const char* bytes, uint64_t count) {
  while (count > 0) {
    const ssize_t sent = send(line, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= (uint64_t)sent;
  }
  return true;
}

static bool receive_bytes(int line, char* bytes, uint64_t count) {
  while (count > 0) {
    const ssize_t got = recv(line, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= (uint64_t)got;
  }
  return true;
}

static bool receive_head(int line, Head* head, int* file) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {head, sizeof(*head)};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
  ssize_t got;
  *file = -1;
  do got = recvmsg(line, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  struct cmsghdr* held = CMSG_FIRSTHDR(&message);
  if (held != NULL && held->cmsg_type == SCM_RIGHTS) memcpy(file, CMSG_DATA(held), sizeof(int));
  return receive_bytes(line, (char*)head + got, sizeof(*head) - (size_t)got);
}

static Channel* open_channel(void) {
  int lines[2];
  const Head head = {.request = ASK_CHANNEL};
  Channel* channel = calloc(1, sizeof(Channel));
  if (channel == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) != 0) {
    free(channel);
    return NULL;
  }
  const bool is_sent = send_head(worker.lifeline, &head, lines[1]);
  close(lines[1]);
  channel->line = lines[0];
  channel->memory = -1;
  channel->generation = worker.generation;
  if (is_sent) return channel;
  close(lines[0]);
  free(channel);
  worker.is_lost = true;
  return NULL;
}

Channel* take_channel(void) {
  Channel* channel = NULL;
  lock_worker();
  while (worker.idle == NULL && worker.channels >= MOST_CHANNELS && !worker.is_lost) pthread_cond_wait(&worker.given, &worker.lock);
  if (worker.idle != NULL) {
    channel = worker.idle;
    worker.idle = channel->next;
  } else if (worker.lifeline >= 0 && !worker.is_lost) {
    channel = open_channel();
    if (channel != NULL) ++worker.channels;
  }
  unlock_worker();
  return channel;
}

void give_channel(Channel* channel, bool is_broken) {
  lock_worker();
  const bool is_old = worker.lifeline < 0 || channel->generation != worker.generation;
  if (is_broken || is_old) {
    if (!is_old) {
      worker.is_lost = true;
      --worker.channels;
    }
    close(channel->line);
    if (channel->memory >= 0) close(channel->memory);
    free(channel);
  } else {
    channel->next = worker.idle;
    worker.idle = channel;
  }
  pthread_cond_broadcast(&worker.given);
  unlock_worker();
}

Code ask(Channel* channel, Head* head, const char* body, int sent, char** answer, int* file) {
  int received = -1;
  char* held = NULL;
  const bool is_asked = send_head(channel->line, head, sent) && send_bytes(channel->line, body, head->bytes);
  bool is_answered = is_asked && receive_head(channel->line, head, &received) && head->bytes <= LARGEST_ANSWER;
  if (is_answered) {
    held = malloc(head->bytes + 1);
    is_answered = held != NULL && receive_bytes(channel->line, held, head->bytes);
    if (is_answered) held[head->bytes] = 0;
  }
  if (file != NULL && is_answered) *file = received;
  else if (received >= 0) close(received);
  if (answer != NULL && is_answered) *answer = held;
  else free(held);
  return is_answered ? head->code : WORKER_LOST;
}

Code ask_worker(Log* log, Head* head, const char* body, int sent, char** answer, int* file) {
  char* said = NULL;
  Channel* channel = take_channel();
  if (channel == NULL) return refuse(log, WORKER_LOST, "the process that computes has ended, or cannot be reached");
  const Code code = ask(channel, head, body, sent, &said, file);
  give_channel(channel, code == WORKER_LOST);
  if (code == WORKER_LOST) refuse(log, code, "the process that computes ended during the call");
  else if (code != 0) refuse(log, code, "%s", said);
  if (answer != NULL && code == 0) *answer = said;
  else free(said);
  return code;
}

void tell_worker(Request request, uint64_t first, uint64_t second) {
  Head head = {.request = request, .first = first, .second = second};
  lock_worker();
  if (worker.lifeline >= 0 && !worker.is_lost) send_head(worker.lifeline, &head, -1);
  unlock_worker();
}

bool widen(Channel* channel, uint64_t bytes) {
  if (channel->memory >= 0 && channel->room >= bytes) return true;
  const uint64_t room = bytes < 65536 ? 65536 : bytes;
  const int file = make_memory("edgewright-tensors");
  Head head = {.request = ASK_MEMORY, .first = room};
  if (file < 0 || ftruncate(file, (off_t)room) != 0 || !send_head(channel->line, &head, file)) {
    if (file >= 0) close(file);
    return false;
  }
  if (channel->memory >= 0) close(channel->memory);
  channel->memory = file;
  channel->room = room;
  return true;
}

int make_memory(const char* name) { return memfd_create(name, MFD_CLOEXEC); }

bool write_file(int file, const void* from, uint64_t bytes, uint64_t at) {
  while (bytes > 0) {
    const ssize_t done = pwrite(file, from, bytes, (off_t)at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from = (const char*)from + done;
    at += (uint64_t)done;
    bytes -= (uint64_t)done;
  }
  return true;
}

bool read_file(int file, void* to, uint64_t bytes, uint64_t at) {
  while (bytes > 0) {
    const ssize_t done = pread(file, to, bytes, (off_t)at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to = (char*)to + done;
    at += (uint64_t)done;
    bytes -= (uint64_t)done;
  }
  return true;
}

// By way of our own memory: a mapped file may be cut short while it is read, which is a signal.
bool copy_file(int from, int to, uint64_t bytes, uint64_t from_at, uint64_t to_at) {
  char* piece = malloc(PIECE);
  bool is_whole = piece != NULL;
  for (uint64_t done = 0; is_whole && done < bytes;) {
    const uint64_t size = bytes - done < PIECE ? bytes - done : PIECE;
    is_whole = read_file(from, piece, size, from_at + done) && write_file(to, piece, size, to_at + done);
    done += size;
  }
  free(piece);
  return is_whole;
}
