"""Comparators of the accuracy evaluator: how well outputs match those of a reference, as one number."""
