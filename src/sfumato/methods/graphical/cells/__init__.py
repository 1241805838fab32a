"""Cells of columns: fine public ones, groups of them from noisy counts, and the way back to values."""
