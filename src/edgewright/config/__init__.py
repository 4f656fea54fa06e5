"""Typed option groups: the same object is command line flags, Python configuration and documentation."""
