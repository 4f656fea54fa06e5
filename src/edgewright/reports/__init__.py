"""Records as text, JSON, CSV, HTML and plots: presentation, not computation."""
