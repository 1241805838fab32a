"""Draft a schema from private rows, for a person to confirm."""
