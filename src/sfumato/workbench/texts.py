"""Texts of the workbench, read from texts.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def all_texts() -> dict[str, str]:
    """Return all texts by their name, such as ``table.open``."""
    read = tomllib.loads(files("sfumato.workbench").joinpath("texts.toml").read_text(encoding="utf-8"))
    return {f"{part}.{name}": text for part, texts in read.items() for name, text in texts.items()}


def words(name: str, /, **facts: Any) -> str:
    """Return a text with facts in it.

    >>> words("door.enter")
    'Open'
    """
    text = all_texts()[name]
    return text.format(**facts) if facts else text
