"""Passes that move transposes until spatial ops meet without them."""
