"""Language models in the runtimes that they were written for."""
