"""File formats: how each is recognised, and the modules that read and write it.

Adding a format touches the module that reads or writes it, one line here, a test and a docs page. Functions stand here
by their addresses and are imported when a file of the format is opened, so this table needs none of their packages.
"""

from __future__ import annotations

from typing import NamedTuple

SAS = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
READERS, WRITERS = "sfumato.table.sources", "sfumato.table.writing.formats"


class FileFormat(NamedTuple):
    """One format of files that hold a table."""

    reader: str
    """Address of a function (paths, dialect, name of the format) that returns a source."""
    magic: tuple[bytes, ...] = ()
    """How its files begin, where that alone tells it from all others."""
    copy: str | None = None
    """Ending of the copy of released rows beside CSV and Parquet, for tables that came in this format."""
    writer: str | None = None
    """Address of the function (path, rows, schema) that writes such a copy."""
    package: str | None = None
    """Package that the writer needs."""
    several: bool = False
    """Whether several files make one table."""


TEXT, PARQUET, JSON = f"{READERS}.text_files:open_text", f"{READERS}.files:open_parquet", f"{READERS}.files:open_json"
LABELLED = f"{READERS}.child_process:open_statistical"
WORKBOOK = FileFormat(f"{READERS}.child_process:open_workbook", (), ".xlsx", f"{WRITERS}:write_xlsx", "xlsxwriter")
FILE_FORMATS: dict[str, FileFormat] = {
    "csv": FileFormat(TEXT, several=True),
    "parquet": FileFormat(PARQUET, (b"PAR1",), several=True),
    "arrow": FileFormat(f"{READERS}.files:open_arrow", (b"ARROW1",)),
    "xlsx": WORKBOOK,
    "xls": WORKBOOK,
    "ods": WORKBOOK,
    "sav": FileFormat(LABELLED, (b"$FL2", b"$FL3"), ".sav", f"{WRITERS}:write_sav", "pyreadstat"),
    "por": FileFormat(LABELLED),
    "dta": FileFormat(LABELLED, (b"<stata_dta>",), ".dta", f"{WRITERS}:write_dta", "pyreadstat"),
    "sas": FileFormat(LABELLED, (SAS,)),
    "xpt": FileFormat(LABELLED, (b"HEADER RECORD*******LIB",)),
    "jsonl": FileFormat(JSON, several=True, copy=".jsonl", writer=f"{WRITERS}:write_jsonl"),
    "json": FileFormat(JSON),
    "duckdb": FileFormat(f"{READERS}.databases:open_duckdb_file"),
    "sqlite": FileFormat(
        f"{READERS}.databases:open_sqlite",
        (b"SQLite format 3\x00",),
        copy=".sqlite",
        writer=f"{WRITERS}:write_sqlite",
    ),
}
"""By the name that ``format`` has in a dialect, which is also the usual ending."""
