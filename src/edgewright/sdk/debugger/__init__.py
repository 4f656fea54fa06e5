"""The features of qnn-accuracy-debugger: each writes a folder of its own, as the guide draws it."""
