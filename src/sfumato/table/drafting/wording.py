"""Rules as they are written: names of columns and values."""

from __future__ import annotations

import json
import keyword
from typing import Any

TAKEN = ("missing", "col", "implies", "determines", "true", "false")


def named(name: str) -> str:
    """Return a column as a rule names it.

    >>> named("age"), named("1stFlrSF")
    ('age', 'col("1stFlrSF")')
    """
    plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name.lower() not in TAKEN
    return name if plain else f"col({json.dumps(name, ensure_ascii=False)})"


def written(value: Any) -> str:
    """Return a value as a rule writes it.

    >>> written(15.0), written(0.5), written("no")
    ('15', '0.5', '"no"')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(int(value)) if float(value).is_integer() else repr(float(value))
