"""Compiled op packages: run in a worker process, registered as the meaning of their ops."""
