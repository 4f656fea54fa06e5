"""Passes that compute ahead of time what does not depend on the inputs."""
