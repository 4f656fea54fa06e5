"""Models run by several threads on several backends at once, as qnn-throughput-net-run does it."""
