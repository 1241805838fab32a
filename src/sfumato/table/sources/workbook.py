"""Workbooks of Excel and LibreOffice: one sheet, whose first row names the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sfumato.errors import MissingExtra, TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.sources.frames import memory_engine
from sfumato.table.sources.source import Source, named, refuse_duplicates

MIDNIGHT = dt.time()


def open_workbook(path: str, dialect: Dialect) -> Source:
    """Return a source over one sheet of a workbook."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise MissingExtra("Excel files need python-calamine", next_step="pip install 'sfumato[formats]'") from error
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            names = list(book.sheet_names)
            sheet = _chosen(path, names, dialect.sheet)
            rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
    except calamine.PasswordError as error:
        step = "open it, save it without a password, and give that file"
        raise TableError(f"{path!r} is a workbook with a password", next_step=step) from error
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError, OSError, ValueError) as error:
        step = "open it and save it again as .xlsx, or as CSV"
        raise TableError(f"cannot read the workbook {path!r}: {error}"[:400], next_step=step) from error
    several = len(names) > 1
    note = f"look at: the workbook has {len(names)} sheets, and {sheet!r} was read; --sheet names another"
    found = Dialect(sheet=sheet if several else None)
    return Source(
        memory_engine(_table(path, sheet, rows)),
        "pandas",
        "table",
        dialect=dialect.over(found),
        notes=(note,) if several and dialect.sheet is None else (),
        types="rows",
    )


def _chosen(path: str, names: Sequence[str], wanted: str | int | None) -> str:
    """Return the sheet with a name, or else with a number; the first one where nothing was said."""
    if wanted is None and names:
        return names[0]
    if str(wanted) in names:
        return str(wanted)
    if str(wanted).isdigit() and 1 <= int(wanted or 0) <= len(names):
        return names[int(wanted or 0) - 1]
    raise TableError(f"the workbook {path!r} has no sheet {wanted!r}", list(names), "name one of them with --sheet")


def _table(path: str, sheet: str, rows: list[list[Any]]) -> Any:
    import pyarrow as pa

    filled = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if not filled:
        raise TableError(f"sheet {sheet!r} of {path!r} is empty", next_step="name another sheet with --sheet")
    header = [_text(cell) or "" for cell in filled[0]]
    refuse_duplicates(f"{path}, sheet {sheet}", [name for name in header if name.strip()])
    names = named(header)
    return pa.table({name: _column([row[i] for row in filled[1:]]) for i, name in enumerate(names)})


def _column(cells: Sequence[Any]) -> Any:
    """Return the cells of a column in the one type that they have; where they have several, as texts."""
    import pyarrow as pa

    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        whole = all(float(value).is_integer() and abs(value) < 2**53 for value in values if value is not None)
        return pa.array(values, pa.float64()).cast(pa.int64()) if whole else pa.array(values, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds and kinds <= {dt.date, dt.datetime}:
        return _days(values)
    return pa.array([_text(value) for value in values], pa.string())


def _days(values: Sequence[Any]) -> Any:
    """Return dates as such, and as times where one of them is not midnight."""
    import pyarrow as pa

    times = [v if isinstance(v, dt.datetime) or v is None else dt.datetime.combine(v, MIDNIGHT) for v in values]
    if all(v is None or v.time() == MIDNIGHT for v in times):
        return pa.array([v and v.date() for v in times], pa.date32())
    return pa.array(times, pa.timestamp("us"))


def _text(value: Any) -> str | None:
    """Return a cell as a spreadsheet shows it: whole numbers without a point."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime) and value.time() == MIDNIGHT:
        return value.date().isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
