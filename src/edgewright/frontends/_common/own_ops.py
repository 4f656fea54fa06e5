"""Ops that ONNX lacks, which frontends that write ONNX nodes hand to the ONNX frontend."""

# The domain that such a node has.
OWN = "edgewright"
