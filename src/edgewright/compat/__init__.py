"""The classes that the Edge AI course writes around QNN, with its names and with what they leave open."""
