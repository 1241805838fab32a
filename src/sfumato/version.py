"""The version of this package, in one place that everything may read."""

__version__ = "0.2.0"
