"""Command lines: options in, api, reports, exit code out."""
