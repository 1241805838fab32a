"""Open one sheet of an Excel or LibreOffice workbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.child_process import SAVED_AGAIN, forget, read_apart, require_package
from sfumato.table.sources.frames import arrow_engine
from sfumato.table.sources.source import Source, name_unnamed_columns, require_unique_columns


def open_workbook(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over one sheet of a workbook, which a process of its own reads."""
    import pyarrow as pa

    (path,) = paths
    require_package("python_calamine", "Excel files")
    answer, out = read_apart(path, "sheet.arrow", kind="workbook", sheet=dialect.sheet)
    if "refused" in answer:
        raise _refusal(path, dialect.sheet, answer)
    sheet, header = answer["sheet"], answer["header"]
    require_unique_columns(f"{path}, sheet {sheet}", [name for name in header if name.strip()])
    with engine_errors(path), pa.OSFile(str(out), "rb") as file:
        table: Any = pa.ipc.open_stream(file).read_all().rename_columns(name_unnamed_columns(header))
    forget(out)
    several = len(answer["sheets"]) > 1
    note = f"look at: the workbook has {len(answer['sheets'])} sheets, and {sheet!r} was read; --sheet names another"
    return Source(
        arrow_engine(table),
        "pandas",
        "table",
        dialect=dialect.over(Dialect(sheet=sheet if several else None)),
        notes=(note,) if several and dialect.sheet is None else (),
        types="rows",
    )


def _refusal(path: str, wanted: str | int | None, answer: Mapping[str, Any]) -> TableError:
    """Return why a workbook cannot be read, in words."""
    match answer["refused"]:
        case "password":
            step = "open it, save it without a password, and give that file"
            return TableError(f"{path!r} is a workbook with a password", next_step=step)
        case "sheet":
            step = "name one of them with --sheet"
            return TableError(f"the workbook {path!r} has no sheet {wanted!r}", answer["sheets"], step)
        case "empty":
            headline = f"sheet {answer['sheet']!r} of {path!r} is empty"
            return TableError(headline, next_step="name another sheet with --sheet")
        case "far":
            counts = f"{answer['filled']:,} of these {answer['spanned']:,} cells are filled"
            step = f"delete the rows and columns around {answer['cell']} and save it again, or save it as CSV"
            return TableError(f"the sheet of {path!r} reaches to {answer['cell']}", [f"only {counts}"], step)
        case _:
            return TableError(f"cannot read the workbook {path!r}: {answer['error']}", next_step=SAVED_AGAIN)
