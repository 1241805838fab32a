"""Columns of numbers from noisy counts: fine public cells, layers of them, and a smooth curve with atoms."""
