"""PseudoPosterior: synthetic columns drawn from a private posterior."""
