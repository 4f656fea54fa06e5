"""Profile logs: what was measured while a model was set up and run."""
