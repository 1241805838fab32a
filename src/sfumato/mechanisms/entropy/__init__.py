"""EntropyRelease: entropy of columns with its own budget, its sensitivity and expected error."""
