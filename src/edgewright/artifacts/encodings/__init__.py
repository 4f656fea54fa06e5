"""Encodings files: AIMET 0.5.0, 0.6.1, 1.0.0 and 2.0.0, and the simpler JSON of hand-written ones."""

from edgewright.artifacts.encodings.load import EncodingsSource, load_encodings
from edgewright.artifacts.encodings.reader import parse_encodings, read_encodings
from edgewright.artifacts.encodings.writer import MOVED, VERSIONS, describe_encodings, write_encodings

__all__ = [
    "MOVED",
    "VERSIONS",
    "EncodingsSource",
    "describe_encodings",
    "load_encodings",
    "parse_encodings",
    "read_encodings",
    "write_encodings",
]
