"""Comparison of a release with the private table, for the custodian only."""
