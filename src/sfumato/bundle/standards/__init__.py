"""Metadata files of a bundle in public formats: Croissant, Frictionless, OpenDP registry."""
