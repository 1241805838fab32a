"""Mixtures of product distributions, for domains too dense for a junction tree."""
