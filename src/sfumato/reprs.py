"""One-line and notebook representations of results.

Nothing private may stand there: notebooks are passed on with what they printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

KEPT = ("model_dump", "model_dump_json")
"""Names that come from a library below and are of use."""
MOST_LINES = 40
"""Lines of a table in a notebook."""
LEFT = ' style="text-align:left"'


class ReprMixin:
    """Something with a short face: ``_line`` in one line, ``_lines`` as the rows of a table."""

    _headers: tuple[str, ...] = ()

    def _line(self) -> str:
        raise NotImplementedError

    def _lines(self) -> Iterable[Sequence[Any]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._line()})"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._headers, list(self._lines()))

    def __dir__(self) -> list[str]:
        return own_public_names(self)


def html_table(title: str, headers: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """Return a table that stands alone: no scripts, no styles from elsewhere, every word escaped.

    >>> html_table("a < b", (), [("x", 1)])
    '<table><caption style="text-align:left">a &lt; b</caption><tr><th style="text-align:left">x</th><td style="text-align:left">1</td></tr></table>'
    """  # noqa: E501
    rows = [_row(headers, len(headers))] if headers else []
    rows += [_row(line, 1) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        rows.append(_row((f"... {len(lines) - MOST_LINES} more",), 1))
    return f"<table><caption{LEFT}>{escape(title)}</caption>{''.join(rows)}</table>"


def _row(cells: Sequence[Any], headings: int) -> str:
    tags = ("th" if place < headings else "td" for place in range(len(cells)))
    return f"<tr>{''.join(f'<{t}{LEFT}>{escape(str(c))}</{t}>' for t, c in zip(tags, cells, strict=True))}</tr>"


def own_public_names(thing: Any) -> list[str]:
    """Return the public names of an object that are its own, without those of the libraries that it is built on."""
    bases = type(thing).__mro__
    own = {name for base in bases if base.__module__.startswith("sfumato") for name in vars(base)}
    borrowed = {name for base in bases if not base.__module__.startswith("sfumato") for name in vars(base)}
    names = (own | set(vars(thing))) - borrowed
    return sorted([name for name in names if not name.startswith("_")] + [name for name in KEPT if name in borrowed])
