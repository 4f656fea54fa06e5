"""A converted model in memory: its inputs and outputs, running it, saving it, opening it."""
