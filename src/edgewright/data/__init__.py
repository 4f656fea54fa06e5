"""Samples in: arrays, images, sound, input lists, labels; tensors out."""
