"""Contexts: graphs compiled for a backend and a chip, and what a context binary holds."""
