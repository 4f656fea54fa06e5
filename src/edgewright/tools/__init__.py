"""Command lines: options in, a report and an exit code out."""
