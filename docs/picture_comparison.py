"""Make the pictures of comparison.md: ``.venv/bin/python docs/picture_comparison.py``. Needs Chromium.

It is the page of a real comparison of the example households, whom nobody has to protect: nobody in them exists.
"""

from __future__ import annotations

import sys

from photograph import hindrance, photograph

import sfumato
from sfumato.example import codebook, households
from sfumato.report.comparison_page import comparison_page

ROWS, EPSILON, SEED = 5_000, 1, 7
VIEWS = {
    "comparison.png": ("", '<tr><th scope="row" class="name">Linear correlations'),
    "comparison-columns.png": ('<h2 id="columns"', '<article id="column-9"'),
}
"""Each picture: the part of the page that it begins with, and what it ends before."""


def main() -> int:
    """Write the pictures, or say why not."""
    if hindrance():
        print(f"{hindrance()}: {', '.join(VIEWS)} stay as they are", file=sys.stderr)
        return 0
    text = example_page()
    for name, (part, until) in VIEWS.items():
        photograph(text, part, until, name)
    print(f"wrote {', '.join(VIEWS)}")
    return 0


def example_page() -> str:
    """Return the page that compares a release of the example households with them."""
    table = sfumato.read(households(rows=ROWS), codebook())
    made = sfumato.release(table, sfumato.AIM(epsilon=EPSILON), ledger=False, seed=SEED)
    return comparison_page(sfumato.compare(made, table))


if __name__ == "__main__":
    sys.exit(main())
