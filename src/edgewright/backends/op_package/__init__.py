"""Compiled op packages: run in a worker process, registered as implementations of their ops."""
