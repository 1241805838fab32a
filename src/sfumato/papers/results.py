"""Typed values that the results of every reproduction are made of: JSON in and out, page and terminal."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that cannot change and knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Values(Frozen):
    """A table of values; ``numbers`` are the columns set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


class Comparison(Frozen):
    """One statement of the paper beside what we get, and why they differ."""

    what: str
    printed: str
    ours: str
    why: str


def compared(what: str, printed: str, ours: str, why: str) -> Comparison:
    """Return one row of the table that every part has."""
    return Comparison(what=what, printed=printed, ours=ours, why=why)
