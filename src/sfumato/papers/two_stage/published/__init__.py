"""Two-stage synthesis as printed (no differential privacy)."""
