"""Executions of prepared graphs: inputs, one after the other or queued, timed and with time limits."""
