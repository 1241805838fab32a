"""File formats, and the dialect of a file: delimiter, decimal mark, date format, missing markers, encoding, sheet.

A dialect says how to read texts and where they stand, and synthetic files are written by it again.

Adding a format touches the module that reads or writes it, one line here, a test and a docs page. Functions stand here
by their addresses and are imported when a file of the format is opened, so this table needs none of their packages.
"""

from __future__ import annotations

import codecs
import dataclasses
import io
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from sfumato.errors import SchemaError
from sfumato.schema.column_checks import is_text

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


TEXT, PARQUET, JSON = f"{READERS}.files:open_text", f"{READERS}.files:open_parquet", f"{READERS}.files:open_json"
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
DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'", "\u00a0", "\u202f", "_")


@dataclass(frozen=True)
class Dialect:
    """How values are written in a file; None stands for the plain form.

    >>> Dialect(delimiter=";", decimal=",").stated()
    {'delimiter': ';', 'decimal': ','}
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside the empty field."""
    encoding: str | None = None
    sheet: str | int | None = None
    """Sheet of a workbook, by name or by number from 1; table of a database file."""
    format: str | None = None
    """What kind of file it is, one of FILE_FORMATS; told from its first bytes by default."""

    def __post_init__(self) -> None:
        marks: Any = self.missing
        object.__setattr__(self, "missing", (marks,) if isinstance(marks, str) else tuple(marks or ()))
        if self.thousands == "." and self.decimal is None:  # nothing else can be meant
            object.__setattr__(self, "decimal", ",")
        if problems := self._problems():
            raise SchemaError("invalid file-format options", problems, "correct [source], or the options that read")

    def _problems(self) -> list[str]:
        checks = (
            (_is_delimiter(self.delimiter), f"delimiter {self.delimiter!r} is not one character; write ';' or a tab"),
            (self.decimal in (None, *DECIMALS), f"decimal {self.decimal!r} is unknown; use '.' or ','"),
            (
                self.thousands in (None, *THOUSANDS),
                f"thousands {self.thousands!r} is unknown; use '.', ',' or ' '",
            ),
            (
                self.thousands is None or self.thousands != (self.decimal or "."),
                f"decimal and thousands are both {self.thousands!r}",
            ),
            (
                _is_date_format(self.date_format),
                f"date_format {self.date_format!r} needs %d, %m, %Y: %d.%m.%Y",
            ),
            (all(is_text(mark) for mark in self.missing), "missing needs texts, such as 'N/A'"),
            (_is_encoding(self.encoding), f"encoding {self.encoding!r} is unknown; use utf-8, cp1252 or latin-1"),
            (_is_sheet(self.sheet), f"sheet {self.sheet!r} needs a name, or a number from 1"),
            (self.format in (None, *FILE_FORMATS), f"format {self.format!r} is unknown; use {', '.join(FILE_FORMATS)}"),
        )
        return [f"[source] {problem}" for holds, problem in checks if not holds]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Read a ``[source]`` section; every problem is reported at once."""
        known = [item.name for item in dataclasses.fields(cls)]
        strange = [f"[source]: unknown key {key!r}; known are {', '.join(known)}" for key in facts if key not in known]
        dialect: Self | None = None
        try:
            dialect = cls(**{key: value for key, value in facts.items() if key in known})
        except (SchemaError, TypeError) as error:
            strange += error.problems if isinstance(error, SchemaError) else ["[source] missing needs a list of texts"]
        if strange or dialect is None:
            raise SchemaError("invalid file-format options", strange, "correct the option, or [source] in the schema")
        return dialect

    def stated(self) -> dict[str, Any]:
        """Return the stated options by name."""
        facts = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return {
            key: list(value) if key == "missing" else value for key, value in facts.items() if value not in (None, ())
        }

    def as_options(self) -> str:
        """Return the options of the command line that say the same, to be copied.

        >>> print(Dialect(decimal=",", missing=("N", "k. A.")).as_options())
        --decimal ',' --missing N --missing 'k. A.'
        """
        options = {key: value for key, value in self.stated().items() if key != "format"}
        pairs = [
            (key, one) for key, value in options.items() for one in (value if isinstance(value, list) else [value])
        ]
        return " ".join(f"--{key.replace('_', '-')} {_quoted(str(value))}" for key, value in pairs)

    @classmethod
    def from_options(cls, text: str) -> Self:
        """Read what :meth:`as_options` writes.

        >>> Dialect.from_options("--decimal ',' --missing N --missing 'k. A.'").stated()
        {'decimal': ',', 'missing': ['N', 'k. A.']}
        """
        parts, options = iter(shlex.split(text)), dict[str, Any]()
        for option in parts:
            key, value = option.removeprefix("--").replace("-", "_"), next(parts, "")
            if key == "missing":
                options.setdefault(key, []).append(value)
            else:
                options[key] = "\t" if value == "tab" else value
        return cls.of(options)

    def over(self, other: Dialect) -> Self:
        """Return this dialect, completed by another: options go before the schema."""
        mine, theirs = self.stated(), other.stated()
        return type(self)(**{**theirs, **mine})


def _quoted(text: str) -> str:
    """Return a text as a shell wants it; a lone mark stands in quotes, so that it is seen."""
    if text == "\t":
        return "tab"
    safe = re.fullmatch(r"[\w%./:+-]+", text, flags=re.ASCII) and re.search(r"\w", text)
    return text if safe else "'" + text.replace("'", "'\\''") + "'"


def _is_delimiter(mark: Any) -> bool:
    return mark is None or (isinstance(mark, str) and len(mark) == 1 and mark.isascii() and mark not in '"\r\n\x00')


def _is_date_format(words: Any) -> bool:
    if words is None:
        return True
    return is_text(words) and any(sign in words for sign in ("%Y", "%y")) and "%m" in words + ("%m" * ("%b" in words))


def _is_encoding(name: Any) -> bool:
    if name is None:
        return True
    try:  # codecs such as hex and zip turn bytes into bytes, which only io refuses; io knows "locale", codecs do not
        return isinstance(name, str) and bool(codecs.lookup(name)) and bool(io.TextIOWrapper(io.BytesIO(), name))
    except (LookupError, ValueError):
        return False


def _is_sheet(sheet: Any) -> bool:
    if isinstance(sheet, str):
        return is_text(sheet) and sheet.strip() != ""
    return sheet is None or (isinstance(sheet, int) and not isinstance(sheet, bool) and sheet >= 1)


DEFAULT_DIALECT = Dialect()
"""What nobody said anything about."""
