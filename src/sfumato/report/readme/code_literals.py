"""Quote names, texts and lists of them as Python and R literals."""

from __future__ import annotations

import json
from collections.abc import Sequence

WIDTH = 88
"""Letters of a line to copy, about."""


def python_code(value: object) -> str:
    r"""Return a value as Python writes it.

    >>> print(python_code('say "hi"\n'), python_code(["a", 1]))
    'say "hi"\n' ["a", 1]
    """
    if isinstance(value, list | tuple):
        return _listed("[", [python_code(each) for each in value], "]")
    if not isinstance(value, str):
        return repr(value)
    plain = "'" not in value and '"' not in value and value.isprintable() and "\\" not in value
    return f'"{value}"' if plain else repr(value)


def r_code(value: object) -> str:
    r"""Return a text, or a vector of texts, as R writes it.

    >>> print(r_code('tab\t "x"'), r_code(["a", "b"]), r_code([]))
    "tab\t \"x\"" c("a", "b") character(0)
    """
    if isinstance(value, list | tuple):
        return _listed("c(", [r_code(each) for each in value], ")") if value else "character(0)"
    return json.dumps(str(value), ensure_ascii=False)


def _listed(start: str, items: Sequence[str], end: str) -> str:
    """Return items between brackets, on as many lines as they need."""
    rows = [""]
    for item in items:
        if len(rows[-1]) + len(item) > WIDTH:
            rows.append("")
        rows[-1] += f"{item}, "
    body = "\n    ".join(row.rstrip() for row in rows).removesuffix(",")
    return f"{start}{body}{end}" if len(rows) == 1 else f"{start}\n    {body}\n{end}"
