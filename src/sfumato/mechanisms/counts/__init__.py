"""Histograms and contingency tables with noise."""
