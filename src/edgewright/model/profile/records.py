"""Profile logs as records, and the files that they are kept in, for those who show them."""

from edgewright.artifacts.profile_log.csv_log import to_csv
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog, to_chunks

__all__ = ["ProfileEvent", "ProfileLog", "to_chunks", "to_csv"]
