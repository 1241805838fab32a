"""Synthesizers that fit a graphical model to noisy marginals: junction-tree inference, estimation and drawing."""
