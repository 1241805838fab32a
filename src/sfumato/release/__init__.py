"""The way of a release: what a method is, what it plans, and how every release goes."""
