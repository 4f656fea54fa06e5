"""The C++ source of a model and the tar of its weights."""
