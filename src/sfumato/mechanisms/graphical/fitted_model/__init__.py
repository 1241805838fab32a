"""A fitted model with its guarantee: sample rows, save, load."""
