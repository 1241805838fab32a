"""Cluster geometry: synthetic rows from noisy centres, shares and radii; the private form, the published one, grids."""
