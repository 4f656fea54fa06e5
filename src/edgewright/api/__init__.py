"""Public functions that fill a request and call a job; all public names are in ``edgewright/__init__.pyi``."""
