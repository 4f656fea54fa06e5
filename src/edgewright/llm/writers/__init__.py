"""Formats of quantized language models, all written from the same codes."""
