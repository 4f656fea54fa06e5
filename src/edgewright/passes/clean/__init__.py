"""Passes that remove what does nothing."""
