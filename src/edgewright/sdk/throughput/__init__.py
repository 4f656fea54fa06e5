"""Models run by several threads on several backends at once, as in qnn-throughput-net-run."""
