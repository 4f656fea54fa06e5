"""Records as text, JSON, CSV, HTML and plots: looks, not numbers."""
