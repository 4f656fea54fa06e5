"""The version: of the package, in files that are written, and in ``pyproject.toml``, which reads it here."""

VERSION = "0.1.0"
