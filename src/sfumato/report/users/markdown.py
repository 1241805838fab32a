"""A guide as Markdown: plain enough to be read as it is, and nothing in it but words, lists, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sfumato.report.users.parts import Block, Grid, Guide, Listing, Points, Section

SIGNS = re.compile(r"([\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=\w+;|#))")
"""What would be read as a mark: an underscore only where it is not inside a word."""
START = re.compile(r"^(\s*)(#{1,6}\s|[-+]\s|=+$|-+$|\d+[.)]\s)")


def escaped(text: str) -> str:
    r"""Return a text in which nothing is a mark of Markdown, on one line.

    >>> print(escaped("a_b *c* <b>\n| # _x_"))
    a_b \*c\* \<b\> \| # \_x\_
    >>> print(escaped("1. a"))
    1\. a
    """
    line = SIGNS.sub(r"\\\1", " ".join(text.split()))
    found = START.match(line)
    if found is None:
        return line
    place = found.end(1) + len(found[2].rstrip()) - 1
    return f"{line[:place]}\\{line[place:]}"


def markdown(guide: Guide) -> str:
    """Return the text of README.md."""
    parts = [f"# {escaped(guide.title)}", escaped(guide.lead)]
    parts += [f"> **{escaped(banner.heading)}** {escaped(banner.text)}" for banner in guide.banners]
    parts += [part for section in guide.sections for part in _section(section)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Listing):
        yield from [f"### {escaped(block.title)}"] if block.title else []
        yield _fenced(block)
    elif isinstance(block, Grid):
        yield _table(block)
    elif isinstance(block, Points):
        yield "\n".join(f"- {escaped(line)}" for line in block.lines)
    else:
        yield from (escaped(line) for line in block.lines)


def _fenced(block: Listing) -> str:
    """Return lines of code; the fence is longer than any row of backticks in them."""
    longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{block.language}\n{block.text}\n{fence}"


def _table(block: Grid) -> str:
    rules = ("---:" if place in block.numbers else "---" for place in range(len(block.header)))
    rows = [block.header, tuple(rules), *(tuple(escaped(cell) for cell in row) for row in block.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
