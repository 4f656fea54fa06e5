"""From float graphs to fixed-point graphs: statistics, ranges, encodings, and which value gets which."""
