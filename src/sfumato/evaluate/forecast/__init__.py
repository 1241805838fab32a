"""Forecast of a release's metrics from public facts, before any budget is spent."""
