"""What a Python program calls: every function returns records and prints nothing."""
