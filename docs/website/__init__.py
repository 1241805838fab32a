"""The documentation site: pages are read, checked, and built by Sphinx without the network: ``make docs``."""
