"""Cluster geometry as the paper printed it: heuristic, no differential privacy."""
