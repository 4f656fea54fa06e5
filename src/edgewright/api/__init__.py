"""Public functions that fill a request and call a job; ``edgewright/__init__.pyi`` lists all public names."""
