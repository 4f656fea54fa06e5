"""Checkpoints: what a model is, and its weights, one at a time."""
