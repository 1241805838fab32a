"""Harness for an existing release, with the private table and a holdout as control."""
