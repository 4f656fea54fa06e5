"""Op packages: their XML descriptions, and the source that implements them."""
