"""Keeping rules: one system for every method that draws rows."""
