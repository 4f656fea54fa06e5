"""Context binaries of our own backends: prepared graphs, weights and encodings in one checked file."""
