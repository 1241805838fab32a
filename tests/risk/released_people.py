"""Releases whose truth is known: the table itself, a fresh sample, noise, and a fresh sample with leaked records."""

from __future__ import annotations

import pandas as pd

from comparison.people import people

LEAKED = 30
"""Of 600 records: 5 %."""


def leaking() -> pd.DataFrame:
    """Return a fresh sample in which the first records are those of the table."""
    return pd.concat([people(1).iloc[:LEAKED], people(2).iloc[LEAKED:]], ignore_index=True)
