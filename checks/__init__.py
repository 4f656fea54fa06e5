"""Checks that keep the architecture: small scripts, standard library only, each runnable alone."""
