"""Texts of a reproduction: its statements and its errata, from two TOML files beside the paper's modules.

Names in braces stand for numbers that the modules measure. A list is written with commas, a mapping with its names
before its values, and a share that ends with ``%`` in per cent with a space: ``{gains:.0%}`` gives
``krr 12 %, forest 3 %``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.papers.charts import Chart, bar_chart, line_chart
from sfumato.papers.result import Comparison, Erratum, Part, ValueTable
from sfumato.report.texts import text_file

LISTS = (list, tuple, np.ndarray)
DrawnValues = tuple[Sequence[Any], Mapping[str, Sequence[float] | FloatArray]]


class _Measured(Formatter):
    """Puts measured numbers into a text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {self.format_field(each, format_spec)}" for name, each in value.items())  # pyright: ignore
        if isinstance(value, LISTS):
            return ", ".join(self.format_field(each, format_spec) for each in value)  # pyright: ignore
        written = format(value, format_spec)
        return written.replace("%", " %") if format_spec.endswith("%") else written


def put_in(text: str, numbers: Mapping[str, Any]) -> str:
    """Return a text with numbers in it.

    >>> put_in("errors {errors:.2f}; {share:.1%}", {"errors": [1, 2.345], "share": 0.12})
    'errors 1.00, 2.35; 12.0 %'
    """
    return _Measured().vformat(text, (), numbers)


def read_errata(package: str, numbers: Mapping[str, object]) -> tuple[Erratum, ...]:
    """Return the errata of a paper in the order of its ``errata.toml``.

    >>> read_errata("sfumato.papers.kmeans_geometry", {})
    Traceback (most recent call last):
    KeyError: 'tiny_aligned'
    """
    items = text_file("errata", package)["erratum"]
    return tuple(Erratum.model_validate({key: put_in(text, numbers) for key, text in item.items()}) for item in items)


def written_part(
    package: str,
    name: str,
    numbers: Mapping[str, Any],
    drawn: Iterable[DrawnValues] = (),
    more: Iterable[Comparison] = (),
    **shown: Any,
) -> Part:
    """Return a part with what ``parts.toml`` of its paper says of it: text, comparisons, notes, tables, chart titles.

    What has ``each`` stands once for each of the rows that are listed under that name in ``numbers``. ``drawn`` are the
    numbers of the charts in their order: a place for each value, and the heights by name. ``more`` comparisons and
    whatever else is ``shown`` follow. The table ``charts`` of the file has settings that all its charts share.
    """
    whole = text_file("parts", package)
    texts, shared = whole[name], whole.get("charts", {})
    charts = (
        _chart({**shared.get(style.get("kind", "lines"), {}), **style}, values, *both)
        for (style, values), both in zip(_repeated(texts.get("charts", ()), numbers), drawn, strict=True)
    )
    rows = _repeated(texts.get("comparisons", ()), numbers)
    return Part(
        text=_filled(texts.get("text", ()), numbers),
        comparisons=(
            *(Comparison(**{key: put_in(cell, values) for key, cell in row.items()}) for row, values in rows),
            *more,
        ),
        notes=_filled(texts.get("notes", ()), numbers),
        charts=(*charts, *shown.pop("charts", ())),
        values=(*(_table(item, numbers) for item in texts.get("values", ())), *shown.pop("values", ())),
        **shown,
    )


def _filled(lines: Iterable[str], numbers: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(put_in(line, numbers) for line in lines)


def _repeated(
    items: Iterable[Mapping[str, Any]], numbers: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield every item with the numbers that go into it, as often as it stands on the page."""
    for item in items:
        own = {key: value for key, value in item.items() if key != "each"}
        yield from ((own, values) for values in _rows(item["each"], numbers)) if "each" in item else ((own, numbers),)


def _rows(name: str, numbers: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all numbers with those of each row of that name; a row that is no mapping is called ``row``."""
    for row in numbers[name]:
        yield {**numbers, **(row if isinstance(row, Mapping) else {"row": row})}


def _table(item: Mapping[str, Any], numbers: Mapping[str, Any]) -> ValueTable:
    """Return a table of values: ``rows`` has the cells of a row by the name under which its numbers are listed."""
    header, rows = _filled(item["header"], numbers), item["rows"].items()
    cells = tuple(_filled(row, values) for name, row in rows for values in _rows(name, numbers))
    right = tuple(item["numbers"]) if "numbers" in item else tuple(range(item.get("words", 1), len(header)))
    return ValueTable(title=put_in(item.get("title", ""), numbers), header=header, rows=cells, numbers=right)


def _chart(
    style: dict[str, Any],
    numbers: Mapping[str, Any],
    at: Sequence[Any],
    heights: Mapping[str, Sequence[float] | FloatArray],
) -> Chart:
    """Return a chart; a horizontal line is at a number, or at the number of that name."""
    draw = {"lines": line_chart, "bars": bar_chart}[style.pop("kind", "lines")]
    title, label = (put_in(style.pop(key, ""), numbers) for key in ("title", "label"))
    axes = (put_in(style.pop("x"), numbers), put_in(style.pop("y"), numbers))
    if "rules" in style:
        places = style["rules"].items()
        style["rules"] = tuple((word, numbers[place] if isinstance(place, str) else place) for word, place in places)
    return draw(title, axes, at, {name: tuple(each) for name, each in heights.items()}, label, **style)
