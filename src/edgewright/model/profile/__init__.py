"""Profiles: how long a model takes, measured, recorded and summarised."""
