"""Two-stage synthesis as the paper printed it: heuristic, no differential privacy."""
