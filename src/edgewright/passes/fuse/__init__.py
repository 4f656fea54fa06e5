"""Passes that express several ops as the one QNN op that means the same."""
