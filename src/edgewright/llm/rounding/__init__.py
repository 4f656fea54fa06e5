"""From weights to codes: the grids and the ways to choose codes on them."""
