// SPDX-License-Identifier: Apache-2.0
// Reads of a client's memory, and texts that grow.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "library.h"

#define PAGE 4096

// The kernel copies: a pointer to nowhere is an error of the call, not a signal. A sandbox may forbid the call,
// and a build with a sanitizer wants to see the reads itself; both trust the pointer.
static bool copy_checked(void* to, const void* from, size_t bytes, bool is_reading) {
  if (bytes == 0) return true;
  if (to == NULL || from == NULL) return false;
#ifndef EDGEWRIGHT_TRUST_POINTERS
  const struct iovec own = {is_reading ? to : (void*)from, bytes}, client = {is_reading ? (void*)from : to, bytes};
  const ssize_t copied = is_reading ? process_vm_readv(getpid(), &own, 1, &client, 1, 0)
                                    : process_vm_writev(getpid(), &own, 1, &client, 1, 0);
  if (copied >= 0) return (size_t)copied == bytes;
  if (errno != ENOSYS && errno != EPERM) return false;
#else
  (void)is_reading;
#endif
  memcpy(to, from, bytes);
  return true;
}

bool read_client(void* to, const void* from, size_t bytes) { return copy_checked(to, from, bytes, true); }

bool write_client(void* to, const void* from, size_t bytes) { return copy_checked(to, from, bytes, false); }

#ifdef EDGEWRIGHT_TRUST_POINTERS
char* read_client_text(const char* from, size_t longest) {
  if (from == NULL || strnlen(from, longest + 1) > longest) return NULL;
  return strdup(from);
}
#else
char* read_client_text(const char* from, size_t longest) {
  Text text = {0};
  if (from == NULL) return NULL;
  while (text.size <= longest) {
    // Never across a page: the text may end right before memory that is not there.
    char piece[PAGE];
    const size_t left = PAGE - (uintptr_t)(from + text.size) % PAGE;
    if (!read_client(piece, from + text.size, left)) break;
    const size_t length = strnlen(piece, left);
    add_bytes(&text, piece, length);
    if (length < left) {
      if (text.size > longest || text.is_failed) break;
      return text.bytes != NULL ? text.bytes : strdup("");
    }
  }
  free_text(&text);
  return NULL;
}
#endif

void* read_client_array(const void* from, uint64_t count, size_t element) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, (uint64_t)element, &bytes) || bytes > (1ull << 40)) return NULL;
  void* copy = malloc(bytes > 0 ? bytes : 1);
  if (copy == NULL || !read_client(copy, from, bytes)) {
    free(copy);
    return NULL;
  }
  return copy;
}

void add_bytes(Text* text, const char* bytes, size_t count) {
  if (text->size + count + 1 > text->room) {
    const size_t room = (text->size + count + 1) * 2;
    char* wider = realloc(text->bytes, room);
    if (wider == NULL) {
      text->is_failed = true;
      return;
    }
    text->bytes = wider;
    text->room = room;
  }
  memcpy(text->bytes + text->size, bytes, count);
  text->size += count;
  text->bytes[text->size] = 0;
}

void add_text(Text* text, const char* format, ...) {
  char piece[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(piece, sizeof(piece), format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof(piece)) text->is_failed = true;
  else add_bytes(text, piece, (size_t)length);
}

// Bytes of the UTF-8 character at the start; 0 where there is none.
static size_t measure_character(const unsigned char* at) {
  if (at[0] < 0x80) return 1;
  const size_t length = at[0] >= 0xF0 && at[0] < 0xF5 ? 4 : at[0] >= 0xE0 && at[0] < 0xF0 ? 3 : at[0] >= 0xC2 && at[0] < 0xE0 ? 2 : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  // Surrogates, numbers beyond the last one, and spellings that are too long are no characters.
  if (length == 3 && ((at[0] == 0xED && at[1] >= 0xA0) || (at[0] == 0xE0 && at[1] < 0xA0))) return 0;
  if (length == 4 && ((at[0] == 0xF4 && at[1] >= 0x90) || (at[0] == 0xF0 && at[1] < 0x90))) return 0;
  return length;
}

bool add_quoted(Text* text, const char* words) {
  add_bytes(text, "\"", 1);
  for (const unsigned char* at = (const unsigned char*)words; *at != 0;) {
    const size_t length = measure_character(at);
    if (length == 0) return false;
    if (*at < 0x20 || *at == '"' || *at == '\\') add_text(text, "\\u%04x", *at);
    else add_bytes(text, (const char*)at, length);
    at += length;
  }
  add_bytes(text, "\"", 1);
  return true;
}

void free_text(Text* text) {
  free(text->bytes);
  memset(text, 0, sizeof(*text));
}
