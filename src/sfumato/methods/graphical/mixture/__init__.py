"""Mixtures of products, where a tree would be too large, and the average of both models."""
