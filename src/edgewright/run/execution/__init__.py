"""Executions of prepared graphs: inputs at hand, one after the other or queued, timed and bounded."""
