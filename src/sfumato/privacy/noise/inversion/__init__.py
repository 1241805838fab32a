"""Exact discrete noise by inverting tabulated distribution functions."""
