"""Weights and biases: their encodings, and the corrections that prepare them for few bits."""
