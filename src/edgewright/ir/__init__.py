"""The graph that everything works on: dimensions, types, encodings, ops, nodes, text form, verifier."""
