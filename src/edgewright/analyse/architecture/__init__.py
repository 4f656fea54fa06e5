"""What of a network keeps the HTP from being fast: rules, each with its reason, its effect and its remedy."""
