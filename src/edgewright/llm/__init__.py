"""Language models: read from checkpoints, quantized once, written to every format."""
