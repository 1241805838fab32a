"""Uncertainty of statistics read off a release, from reruns on the released rows."""
