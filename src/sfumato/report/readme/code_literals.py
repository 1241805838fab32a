"""Quote names and strings as Python, R and SQL literals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

WIDTH = 88
"""Letters of a line to copy, about."""


def python_literal(text: str) -> str:
    r"""Return a text as Python writes it.

    >>> print(python_literal('say "hi"\n'))
    'say "hi"\n'
    """
    plain = "'" not in text and '"' not in text and text.isprintable() and "\\" not in text
    return f'"{text}"' if plain else repr(text)


def python_list(texts: Iterable[object]) -> str:
    """Return values as a list in Python."""
    return _listed("[", [python_literal(text) if isinstance(text, str) else repr(text) for text in texts], "]")


def r_literal(text: str) -> str:
    r"""Return a text as R writes it.

    >>> print(r_literal('tab\t "x"'))
    "tab\t \"x\""
    """
    return json.dumps(text, ensure_ascii=False)


def r_vector(texts: Iterable[str]) -> str:
    """Return texts as a vector in R."""
    items = [r_literal(text) for text in texts]
    return _listed("c(", items, ")") if items else "character(0)"


def _listed(start: str, items: Sequence[str], end: str) -> str:
    """Return items between brackets, on as many lines as they need."""
    rows = [""]
    for item in items:
        if len(rows[-1]) + len(item) > WIDTH:
            rows.append("")
        rows[-1] += f"{item}, "
    body = "\n    ".join(row.rstrip() for row in rows).removesuffix(",")
    return f"{start}{body}{end}" if len(rows) == 1 else f"{start}\n    {body}\n{end}"


def sql_select(asked: str, source: str, tail: str = "") -> str:
    """Return a question in SQL, for a person to run; names and texts in it are quoted before."""
    return f"SELECT {asked} FROM {source}{tail};"  # noqa: S608


def lines(*parts: str | Sequence[str] | None) -> str:
    """Return lines of code as one text; None and an empty list are left out, an empty text is an empty line.

    >>> lines("a", None, ["b", "c"], "", "d").split("\\n")
    ['a', 'b', 'c', '', 'd']
    """
    listed = [[part] if isinstance(part, str) else part for part in parts if part is not None]
    return "\n".join(line for part in listed for line in part)
