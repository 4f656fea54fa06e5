// SPDX-License-Identifier: Apache-2.0
// Configuration of a graph: an option and the value that belongs to it.
#ifndef EDGEWRIGHT_QNN_GRAPH_H
#define EDGEWRIGHT_QNN_GRAPH_H

#include "QnnTypes.h"

typedef enum {
  QNN_GRAPH_CONFIG_OPTION_CUSTOM = 0,
  QNN_GRAPH_CONFIG_OPTION_PRIORITY = 1,
  QNN_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnGraph_ConfigOption_t;

typedef struct {
  QnnGraph_ConfigOption_t option;
  union {
    void* customConfig;
    Qnn_Priority_t priority;
  };
} QnnGraph_Config_t;

#endif  // EDGEWRIGHT_QNN_GRAPH_H
