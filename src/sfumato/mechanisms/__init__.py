"""Formal methods, one folder each, and the building blocks that several of them share."""
