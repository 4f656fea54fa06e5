
// Runs the graph on inputs whose bytes stand at these places of params.bin, and saves what it puts out.
static void execute(const uint64_t* offsets) {
  Qnn_Tensor_t inputs[sizeof inputTensors / sizeof inputTensors[0]];
  Qnn_Tensor_t outputs[sizeof outputTensors / sizeof outputTensors[0]];
  uint32_t numInputs = 0, numOutputs = 0;
  for (; inputTensors[numInputs] != NULL; ++numInputs) {
    inputs[numInputs] = *inputTensors[numInputs];
    const uint32_t size = sizeOf(&inputs[numInputs]);
    inputs[numInputs].v1.clientBuf = (Qnn_ClientBuffer_t){bytesAt(offsets[numInputs], size), size};
  }
  for (; outputTensors[numOutputs] != NULL; ++numOutputs) {
    outputs[numOutputs] = *outputTensors[numOutputs];
    const uint32_t size = sizeOf(&outputs[numOutputs]);
    outputs[numOutputs].v1.clientBuf = (Qnn_ClientBuffer_t){calloc(size ? size : 1, 1), size};
  }
  CHECK(qnn->graphExecute(graph, inputs, numInputs, outputs, numOutputs, NULL, NULL));
  for (uint32_t index = 0; index < numOutputs; ++index) {
    saveOutput(&outputs[index]);
    free(outputs[index].v1.clientBuf.data);
  }
  ++executions;
}
