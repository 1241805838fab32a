"""risk."""
