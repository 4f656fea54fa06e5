"""The main job in one call: from a model and data to a compiled, evaluated NPU model and its report."""
