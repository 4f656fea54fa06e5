"""Our backends behind QNN's C interface: a library in C (`_data`), and the process that computes for it."""
