"""Marginals: a tree model of noisy one- and two-way marginals."""
