"""Cluster geometry as printed (no differential privacy): algorithm 1, baselines, method."""
