"""Proposing a schema from data: what columns look like, how their values are written, which rules the rows keep."""
