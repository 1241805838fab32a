"""Rows drawn from what was released: values, the public box, keeping rules, whole files. Shared by all row methods."""
