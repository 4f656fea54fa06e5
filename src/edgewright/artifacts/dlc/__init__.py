"""The DLC container: a model's graphs, weights and history in one file."""
