"""Passes that fit a graph to what QNN artifacts can hold."""
