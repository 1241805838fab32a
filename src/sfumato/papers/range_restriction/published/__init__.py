"""Risk-weighted pseudo posterior as printed (no formal guarantee)."""
