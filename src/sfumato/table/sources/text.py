"""Text tables: CSV and its kin. Every field is read as text, and nothing by guessing: the schema says what it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engine import DuckDBEngine, engine_errors
from sfumato.table.sources.encoding import encoding_note, encoding_of, in_utf8
from sfumato.table.sources.packed import STREAMED, packing_of, unpacking
from sfumato.table.sources.plain import quoted
from sfumato.table.sources.private import connect
from sfumato.table.sources.source import FORMATS, Source, named, refuse_duplicates

ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".zip")


def open_text(paths: Sequence[str], dialect: Dialect, infer: bool = True) -> Source:
    """Return a source over one or several text files with one header.

    Without ``infer`` a text is UTF-8 unless it was said otherwise, or its first bytes say so; letters that are not are
    marked, so that their values are unreadable.
    """
    delimiter = dialect.delimiter or _default_delimiter(paths[0])
    encodings = [encoding_of(path, dialect.encoding, len(paths), infer) for path in paths]
    lenient = not infer and dialect.encoding is None
    plain = [in_utf8(path, encoding, lenient) for path, encoding in zip(paths, encodings, strict=True)]
    headers = [_header(path, delimiter) for path in plain]
    if len({tuple(header) for header in headers}) > 1:
        raise TableError(
            f"the {len(paths)} files do not have the same columns",
            [f"{path}: {', '.join(header)}" for path, header in zip(paths, headers, strict=True)],
            "give files with one common header",
        )
    with engine_errors(paths[0]):
        relation = connect().sql(_csv_query(plain, headers[0], delimiter))
    note = encoding_note(encodings[0]) if infer and not dialect.encoding else ""
    found = Dialect(
        delimiter=None if delimiter == "," else delimiter,
        encoding=None if encodings[0] == "utf-8" or not infer else encodings[0],
    )
    notes = (note,) if note else ()
    return Source(DuckDBEngine(relation), "pandas", "table", is_text=True, dialect=dialect.over(found), notes=notes)


def _csv_query(paths: Sequence[str], names: Sequence[str], delimiter: str) -> str:
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    files = ", ".join(quoted(path) for path in paths)
    options = f"auto_detect=false, header=true, delim={quoted(delimiter)}, quote='\"', escape='\"'{_packing(paths)}"
    return f"SELECT * FROM read_csv([{files}], {options}, columns={{{columns}}})"  # noqa: S608  all parts are quoted


def _packing(paths: Sequence[str]) -> str:
    """Say how files are pressed together where their names do not."""
    found = {packing_of(path) for path in paths}
    return f", compression={quoted(packing)}" if len(found) == 1 and (packing := found.pop()) in STREAMED else ""


def _default_delimiter(path: str) -> str:
    name = Path(path).name.lower()
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return "\t" if name.endswith((".tsv", ".tab")) else ","


def _header(path: str, delimiter: str) -> list[str]:
    try:
        with unpacking(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            names = next(csv.reader(text, delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path!r} is not UTF-8 text (byte {error.object[error.start]:#04x} near the start)",
            next_step="say how it is encoded, such as --encoding cp1252",
        ) from error
    except csv.Error as error:
        raise TableError(f"cannot read {path!r}: {error}", next_step=f"readable are: {FORMATS}") from error
    _refuse_bad_header(path, names)
    return named(names)


def _refuse_bad_header(path: str, names: Sequence[str]) -> None:
    if not any(name.strip() for name in names):
        raise TableError(f"{path!r} has no header line", next_step="put the column names into the first line")
    refuse_duplicates(path, [name for name in names if name.strip()])
    if any("\x00" in name for name in names):
        raise TableError(f"{path!r} is not a text table", next_step=f"readable are: {FORMATS}")
