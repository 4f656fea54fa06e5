"""The JSON description of a model that stands beside its weights."""
