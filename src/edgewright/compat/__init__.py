"""The classes that the Edge AI course builds around QNN, under its names, with the gaps filled in."""
