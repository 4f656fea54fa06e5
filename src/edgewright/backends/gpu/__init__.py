"""The GPU backend: float graphs on this machine's GPU, through ONNX Runtime's WebGPU plug-in or CUDA."""
