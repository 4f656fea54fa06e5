"""Mixed precision: which parts of a graph need more bits than the others, and which can do with fewer."""
