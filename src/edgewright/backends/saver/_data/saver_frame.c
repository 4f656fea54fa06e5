// A recorded run of a QNN graph as a program; made by Edgewright's Saver.
//   gcc -std=c11 -I HEADERS saver_output.c -ldl -o saver_output
//   ./saver_output libQnnHtp.so [params.bin [OUTPUT_FOLDER]]
// HEADERS are those of the SDK (include/QNN) or of edgewright sdk-root. params.bin holds the bytes of all tensors.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "QnnInterface.h"

static const QNN_INTERFACE_VER_TYPE* qnn;
static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t device;
static Qnn_ContextHandle_t context;
static Qnn_GraphHandle_t graph;
static uint8_t* params;
static size_t paramsSize;
static const char* outputFolder = "output";
static uint32_t executions;
static Qnn_Tensor_t nullTensor = {QNN_TENSOR_VERSION_1, {.v1 = {.name = "", .type = QNN_TENSOR_TYPE_NULL}}};

static void fail(const char* what, Qnn_ErrorHandle_t code) {
  fprintf(stderr, "%s: error %llu\n", what, (unsigned long long)code);
  exit(1);
}

#define CHECK(call)                                    \
  do {                                                 \
    const Qnn_ErrorHandle_t code = (call);             \
    if (code != QNN_SUCCESS) fail(#call, code);        \
  } while (0)

static uint8_t* readAll(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t* content = malloc(*size + 1);
  if (content == NULL || fread(content, 1, *size, file) != *size) fail("reading the tensors", 0);
  fclose(file);
  return content;
}

static void start(int count, char** words) {
  if (count < 2) {
    fprintf(stderr, "usage: %s BACKEND_LIBRARY [params.bin [OUTPUT_FOLDER]]\n", words[0]);
    exit(2);
  }
  (void)nullTensor;  // not every graph leaves an input out
  params = readAll(count > 2 ? words[2] : "params.bin", &paramsSize);
  if (count > 3) outputFolder = words[3];
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  QnnInterface_GetProviders_Fn_t getProviders;
  *(void**)&getProviders = dlsym(library, "QnnInterface_getProviders");
  const QnnInterface_t** providers = NULL;
  uint32_t number = 0;
  if (getProviders == NULL || getProviders(&providers, &number) != QNN_SUCCESS || number == 0) {
    fail("the library has no interface of QNN", 0);
  }
  qnn = &providers[0]->QNN_INTERFACE_VER_NAME;
  CHECK(qnn->backendCreate(NULL, NULL, &backend));
  // Not every backend has devices: those that do not say so.
  if (qnn->deviceCreate != NULL) (void)qnn->deviceCreate(NULL, NULL, &device);
  CHECK(qnn->contextCreate(backend, device, NULL, &context));
}

static void* bytesAt(uint64_t offset, uint64_t size) {
  if (size > paramsSize || offset > paramsSize - size) fail("params.bin is too short", 0);
  return params + offset;
}

static void createTensor(Qnn_Tensor_t* tensor, uint64_t offset, uint32_t size) {
  if (tensor->v1.type == QNN_TENSOR_TYPE_STATIC) tensor->v1.clientBuf = (Qnn_ClientBuffer_t){bytesAt(offset, size), size};
  if (tensor->v1.type != QNN_TENSOR_TYPE_NULL) CHECK(qnn->tensorCreateGraphTensor(graph, tensor));
}

static void addNode(Qnn_OpConfigV1_t config) {
  CHECK(qnn->graphAddNode(graph, (Qnn_OpConfig_t){QNN_OPCONFIG_VERSION_1, {.v1 = config}}));
}

static uint32_t sizeOf(const Qnn_Tensor_t* tensor) {
  // The last two digits of a datatype's code are its bits; 4-bit numbers have a byte each.
  const uint32_t code = (uint32_t)tensor->v1.dataType & 0xFF;
  const uint32_t bits = (code >> 4) * 10 + (code & 0xF);
  uint32_t size = bits < 8 || tensor->v1.dataType == QNN_DATATYPE_BFLOAT_16 ? (bits < 8 ? 1 : 2) : bits / 8;
  for (uint32_t axis = 0; axis < tensor->v1.rank; ++axis) size *= tensor->v1.dimensions[axis];
  return size;
}

static int finish(void) {
  if (context != NULL) qnn->contextFree(context, NULL);
  if (device != NULL && qnn->deviceFree != NULL) qnn->deviceFree(device);
  if (backend != NULL) qnn->backendFree(backend);
  free(params);
  printf("%u executions, outputs in %s\n", executions, outputFolder);
  return 0;
}

static void saveOutput(const Qnn_Tensor_t* tensor) {
  char path[4096];
  snprintf(path, sizeof path, "%s/Result_%u", outputFolder, executions);
  mkdir(outputFolder, 0777);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/Result_%u/%s.raw", outputFolder, executions, tensor->v1.name);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(tensor->v1.clientBuf.data, 1, tensor->v1.clientBuf.dataSize, file) != tensor->v1.clientBuf.dataSize) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  fclose(file);
}

