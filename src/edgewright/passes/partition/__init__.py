"""Cuts a graph into parts that run in different places."""
