"""Synthetic values from codes, cells and densities: post-processing shared by row mechanisms."""
