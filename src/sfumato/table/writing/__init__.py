"""Synthetic rows in files that look like the one the table came from: same dialect, same forms, same format."""
