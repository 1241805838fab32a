"""Audits of a claimed epsilon: lower bounds from neighbouring tables or from canaries."""
