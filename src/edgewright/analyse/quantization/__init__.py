"""Tensors before and after quantization, by the algorithms of the quantization checker."""
