"""What the page says around the pictures of the data."""

from __future__ import annotations

from sfumato.report.words.numbers import counted

LAYERED = (
    "Numbers and dates were measured in layers of cells, and a smooth curve was drawn through them: single bars lean "
    "on their neighbours."
)
CHANCE = "Drawing rows adds chance of its own."


def row_words(rows: int, columns: int, layered: bool, formal: bool) -> tuple[str, ...]:
    """Say what is drawn of released rows.

    >>> row_words(1, 2, False, False)
    ('Shares of 1 released row in 2 columns.',)
    """
    said = [f"Shares of {counted(rows, 'released row')} in {counted(columns, 'column')}."]
    if layered:
        said.append(LAYERED)
    if formal:
        said.append(CHANCE)
    return tuple(said)


def count_words(tables: int, left_out: int) -> tuple[str, ...]:
    """Say what is drawn of count tables.

    >>> count_words(1, 0)
    ('The counts of 1 released table. Counts below 0 are drawn like 0; the tables of values hold the numbers.',)
    """
    said = (
        f"The counts of {counted(tables, 'released table')}. Counts below 0 are drawn like 0; the tables of values "
        "hold the numbers."
    )
    more = f" Not drawn: {counted(left_out, 'more table')}; the data files hold everything." if left_out else ""
    return (f"{said}{more}",)
