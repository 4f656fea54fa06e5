"""What each target accepts: chips by name, architecture and number."""
