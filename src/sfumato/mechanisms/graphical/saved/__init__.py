"""saved."""
