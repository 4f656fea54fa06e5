"""File formats: each spells the same records in its own way, without per-op code."""
