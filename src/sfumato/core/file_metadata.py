"""Guarantee, version and seed warning that every released file carries."""

from __future__ import annotations

from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.version import __version__

METADATA = "sfumato."
"""Prefix of the key-value metadata of Parquet files."""


def parquet_metadata(guarantee: Guarantee, stamp: str | None) -> dict[str, str]:
    """Return what every Parquet file says about itself, so that it can travel alone."""
    facts = {"version": __version__, "guarantee": guarantee.statement().splitlines()[0]}
    stamped = {"stamp": stamp} if stamp else {}
    return {f"{METADATA}{key}": value for key, value in {**facts, **stamped}.items()}


def seed_warning(stamp: str) -> str:
    """Return what lies beside files that cannot carry the stamp of a seeded run themselves."""
    return (
        f"{stamp.upper()}\n\nThe noise in these files came from a fixed seed. Anyone who knows the seed can remove\n"
        "the noise and read the private counts. Use them for tests only, and release a run without a seed.\n"
    )
