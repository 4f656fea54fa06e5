"""Running models and compiled contexts: inputs, executions, times, profiles, and which backend fits."""
