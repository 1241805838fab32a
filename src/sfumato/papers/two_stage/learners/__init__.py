"""Regression models of the second stage, by name, and the solvers behind them."""
