"""Side-by-side measurements against peers: ratios from one run, never times alone."""
