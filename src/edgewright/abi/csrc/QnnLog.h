// SPDX-License-Identifier: Apache-2.0
// Log levels and the callback that a model library or a backend reports through.
#ifndef EDGEWRIGHT_QNN_LOG_H
#define EDGEWRIGHT_QNN_LOG_H

#include <stdarg.h>
#include <stdint.h>

typedef enum {
  QNN_LOG_LEVEL_ERROR = 1,
  QNN_LOG_LEVEL_WARN = 2,
  QNN_LOG_LEVEL_INFO = 3,
  QNN_LOG_LEVEL_VERBOSE = 4,
  QNN_LOG_LEVEL_DEBUG = 5,
  QNN_LOG_LEVEL_MAX = 0x7FFFFFFF
} QnnLog_Level_t;

typedef void (*QnnLog_Callback_t)(const char* fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args);

#endif  // EDGEWRIGHT_QNN_LOG_H
