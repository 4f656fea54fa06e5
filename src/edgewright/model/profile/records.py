"""Profile logs as records and as files, for the reports that show them."""

from edgewright.artifacts.profile_log.csv_log import to_csv
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog, to_chunks

__all__ = ["ProfileEvent", "ProfileLog", "to_chunks", "to_csv"]
