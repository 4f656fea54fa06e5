"""How long a network takes on a chip, and how much memory, estimated without the chip, with intervals."""
