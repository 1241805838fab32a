"""Graphical models on junction trees: structure, message passing, estimation, sampling."""
