"""Exact integer noise at memory speed: tables of distribution functions, inverted by random words."""
