"""Open files by path or glob, each by its format; delimited text in any encoding, with every field as text."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import glob
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import TableError, UndeclaredColumnsError, UndecodedTextWarning
from sfumato.lazy import load_object
from sfumato.schema.dialect import FILE_FORMATS, Dialect
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.file_format import (
    STREAMED_COMPRESSIONS,
    compression_of,
    decompressed_file,
    open_decompressed,
)
from sfumato.table.sources.frames import arrow_engine, uuids_as_text
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.sources.scratch_space import connect, disk_full_error, scratch_file
from sfumato.table.sources.source import FORMATS, UNNAMED, Source, name_unnamed_columns, require_unique_columns

LARGEST_EXACT = 2**53
JSON_FORMS = {"jsonl": "newline_delimited", "json": "array"}


def open_path(pattern: str, dialect: Dialect, infer: bool = True, names: Sequence[str] | None = None) -> Source:
    """Return a source over a file, or over several of one kind.

    Without ``infer`` names, types and the encoding are what the file declares and what was said; ``names`` are those of
    the columns of a format that declares none.
    """
    paths = _matching(pattern)
    opened_files = [decompressed_file(path, dialect.sheet) for path in paths]
    kinds = {kind for _, kind in opened_files}
    if len(kinds) > 1 or (len(paths) > 1 and not all(FILE_FORMATS[kind].several for kind in kinds)):
        raise TableError(
            f"the {len(paths)} files of {pattern!r} do not make one table",
            [f"{path}: {kind}" for path, (_, kind) in zip(paths[:20], opened_files, strict=False)],
            "give one file, or several CSV, Parquet or JSON lines files of one kind",
        )
    kind = kinds.pop()
    files = [path for path, _ in opened_files]
    opened = _open(kind, files, dialect) if infer else _declared(kind, files, dialect, names)
    name = Path(paths[0]).name.split(".")[0] if kind != "parquet" else Path(paths[0]).stem
    written = dataclasses.replace(opened.dialect, format=kind)
    return dataclasses.replace(opened, name=name or "table", dialect=written)


def _open(kind: str, paths: Sequence[str], dialect: Dialect) -> Source:
    return load_object(FILE_FORMATS[kind].reader)(paths, dialect, kind)


def _declared(kind: str, paths: Sequence[str], dialect: Dialect, names: Sequence[str] | None) -> Source:
    """Return a source of which nothing was inferred from the rows, so that no row decides how another one is read.

    A workbook, an SQLite file and JSON have no types for columns: a reader chooses them by looking at every row, and
    one row more can turn whole numbers into decimals or texts. Here every value of theirs is a text of its own.
    """
    from sfumato.table.sources.files import open_text

    if kind == "csv":
        return open_text(paths, dialect, kind, infer=False)
    if kind in JSON_FORMS:
        with engine_errors(paths[0]):
            return Source(DuckDBEngine(json_texts(paths, names, JSON_FORMS[kind])), "pandas", "table", dialect=dialect)
    opened = _open(kind, paths, dialect)
    return opened if opened.types == "declared" else dataclasses.replace(opened, engine=as_texts(opened.engine))


def _matching(pattern: str) -> list[str]:
    try:
        return _files(pattern)
    except (OSError, ValueError, RuntimeError) as error:  # NUL, half characters, thousands of characters
        shown = repr(pattern) if len(pattern) <= 200 else f"{pattern[:200]!r}..."
        raise TableError(f"{shown} is no path: {error}"[:400], next_step=f"readable are: {FORMATS}") from error


def _files(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        raise TableError(
            f"{pattern!r} is a directory, not a table",
            next_step=f"give a file or a glob, for example '{pattern.rstrip('/')}/*.parquet'",
        )
    if path.is_file():
        return [pattern]
    paths = sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())
    if not paths:
        raise TableError(f"no file at {pattern!r}", next_step=f"check the path; readable are: {FORMATS}")
    return paths


def open_parquet(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over Parquet files, whose row groups are read in parallel."""
    from sfumato.table.engines.duckdb import ParquetEngine

    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().read_parquet(list(paths)))
    return Source(ParquetEngine(relation, tuple(paths)), "pandas", "table", dialect=dialect)


def open_json(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over JSON rows: one object in each line, or a list of objects."""
    files = ", ".join(sql_string(path) for path in paths)
    query = f"SELECT * FROM read_json([{files}], format={sql_string(JSON_FORMS[kind])}, sample_size=-1)"  # noqa: S608  quoted
    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().sql(query))
        require_unique_columns(paths[0], relation.columns)
    return Source(DuckDBEngine(relation), "pandas", "table", dialect=dialect, names="rows", types="rows")


def open_arrow(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over one Arrow (Feather) file."""
    import pyarrow as pa

    with engine_errors(paths[0]):
        table: Any = pa.ipc.open_file(pa.memory_map(paths[0])).read_all()
        table.validate(full=True)  # damaged offsets would lead anywhere
        require_unique_columns(paths[0], table.column_names)
    return Source(arrow_engine(table), "pandas", "table", dialect=dialect)


def as_texts(engine: Any) -> DuckDBEngine:
    """Return an engine whose columns are texts, each value written as if it stood alone; nameless columns are left out.

    How far the rows of a sheet reach decides how many columns without a name it has, so none of them is public.
    """
    relation = engine.relation
    named = [pair for pair in zip(relation.columns, relation.types, strict=True) if not UNNAMED.fullmatch(pair[0])]
    written = (f"{_written(sql_identifier(name), str(kind))} AS {sql_identifier(name)}" for name, kind in named)
    return DuckDBEngine(relation.project(", ".join(written)))


def _written(column: str, kind: str) -> str:
    text = f"CAST({column} AS VARCHAR)"
    if kind in ("DOUBLE", "FLOAT"):
        whole = f"{column} = floor({column}) AND abs({column}) < {LARGEST_EXACT}"
        return f"CASE WHEN {whole} THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE {text} END"
    if kind.startswith("TIMESTAMP"):
        day = f"CAST({column} AS DATE)"
        return f"CASE WHEN {column} = {day} THEN CAST({day} AS VARCHAR) ELSE {text} END"
    return text


def json_texts(paths: Sequence[str], names: Sequence[str] | None, form: str) -> Any:
    """Return a relation of the named keys of JSON rows, as texts; a key that no row has is missing everywhere."""
    if not names:
        raise UndeclaredColumnsError(
            "rows of JSON bring their own names, and one row may bring a name that no other has: so the names of "
            f"{paths[0]!r} are not public, and none of them was bought; nothing was spent",
            next_step="name the columns that are public knowledge: columns=['age', 'town'] (--columns age,town)",
        )
    files = ", ".join(sql_string(path) for path in paths)
    columns = ", ".join(f"{sql_string(name)}: 'VARCHAR'" for name in names)
    query = f"SELECT * FROM read_json([{files}], format={sql_string(form)}, columns={{{columns}}})"  # noqa: S608  quoted
    return connect().sql(query)


UTF8 = "utf-8"
UNDECODED = (
    "{path!r} is not all {encoding}, and nobody said how it is encoded: values with other letters count as unreadable; "
    "if there are many of them, say --encoding (latin-1, cp1252)"
)
CHUNK = 1 << 20
BYTES_EXAMINED = 1 << 26
"""Bytes that are searched for a letter that is not UTF-8, before the rest is left to the engine."""
BOMS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Marks at the start of a text that say how it is encoded."""
WINDOWS = re.compile(rb"[\x80-\x9f]")
"""Bytes that are letters, quotes and the euro of Windows; in latin-1 they mean nothing."""
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
BAD, GOOD = re.compile("[\udc80-\udcff]"), re.compile("[^\x00-\x7f\udc80-\udcff]")


def detect_encoding(path: str, stated: str | None = None, files: int = 1, infer: bool = True) -> str:
    """Return how a text is encoded: by its mark, as it was said, or by its bytes; of many files, by fewer of each.

    Without ``infer`` the bytes of its rows do not count: it is UTF-8, or what its first bytes say.
    """
    with open_decompressed(path) as file:
        head = file.read(4096)
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    if stated:
        return codecs.lookup(stated).name
    return _wide(path, head) or (_looked_at(path, BYTES_EXAMINED // files) if infer else UTF8)


def _wide(path: str, head: bytes) -> str | None:
    """Return which UTF-16 has no mark; refuse what is no text at all."""
    if b"\x00" not in head:
        return None
    odd, even = head[1::2], head[::2]
    if odd.count(0) > len(odd) / 2 and not even.count(0):
        return "utf-16-le"
    if even.count(0) > len(even) / 2 and not odd.count(0):
        return "utf-16-be"
    raise TableError(
        f"{path!r} is not a text table: it holds NUL bytes, and its first bytes are of no known format",
        next_step="save the table as CSV (UTF-8), Parquet or .xlsx, and give that file",
    )


def _chunks(path: str) -> Iterator[bytes]:
    with open_decompressed(path) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _looked_at(path: str, most: int) -> str:
    decoder = codecs.getincrementaldecoder(UTF8)()
    position = 0
    for chunk in _chunks(path):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            return _single_byte(path, chunk, error, position)
        position += len(chunk)
        if position >= most:
            break
    return UTF8


def _single_byte(path: str, chunk: bytes, error: UnicodeDecodeError, position: int) -> str:
    """Tell an old encoding from a damaged UTF-8, in which most letters are sound."""
    text = chunk.decode(UTF8, errors="surrogateescape")
    if len(BAD.findall(text)) <= len(GOOD.findall(text)):
        place = position + error.start
        raise TableError(
            f"{path!r} is UTF-8 but for some bytes, the first of them {error.object[error.start]:#04x} at {place:,}",
            next_step="correct the file where it was joined or edited; or say how it is encoded: --encoding cp1252",
        )
    encoding = "latin-1"
    for more in _chunks(path):
        if UNDEFINED.search(more):
            raise _unknown(path)
        encoding = "cp1252" if WINDOWS.search(more) else encoding
    return encoding


def _unknown(path: str) -> TableError:
    return TableError(
        f"{path!r} is not UTF-8 text, and it holds bytes that cp1252 does not know either",
        next_step="say how it is encoded, such as --encoding cp850 (old Windows and DOS), mac-roman or shift_jis",
    )


def convert_to_utf8(path: str, encoding: str, lenient: bool = False) -> str:
    """Return a file with the same text in UTF-8: itself, or a private copy that is gone when the program ends.

    Where that is ``lenient``, bytes that are no letters of the encoding are marked, and a warning says so.
    """
    if encoding in (UTF8, "utf-8-sig", "ascii") and not (lenient and not _is_utf8(path)):
        return path
    if lenient and encoding == UTF8:
        warnings.warn(UndecodedTextWarning(UNDECODED.format(path=path, encoding=encoding)), stacklevel=2)
    target = scratch_file(f"{Path(path).name.split('.')[0]}{'.tsv' if '.tsv' in Path(path).name else '.csv'}")
    decoder = codecs.getincrementaldecoder(encoding)("replace" if lenient else "strict")
    try:
        with target.open("x", encoding=UTF8, newline="") as out:
            for chunk in _chunks(path):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except UnicodeError as error:
        raise TableError(
            f"{path!r} is not written in {encoding}",
            next_step="say how it is encoded, such as --encoding cp1252; omit the option to have it detected",
        ) from error
    except OSError as error:
        raise disk_full_error(error) from error
    return str(target)


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        for chunk in _chunks(path):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def encoding_note(encoding: str) -> str:
    """Return what a draft says about an encoding that was recognised."""
    if encoding == UTF8:
        return ""
    other = {"latin-1": "Western European", "cp1252": "Western European, Windows"}.get(encoding)
    doubt = f" ({other}); if letters look wrong, say --encoding" if other else ""
    return f"look at: the text was recognised as {encoding}{doubt}"


ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".zip")


def open_text(paths: Sequence[str], dialect: Dialect, kind: str = "csv", infer: bool = True) -> Source:
    """Return a source over one or several text files with one header.

    Without ``infer`` a text is UTF-8 unless it was said otherwise, or its first bytes say so; letters that are not are
    marked, so that their values are unreadable.
    """
    delimiter = dialect.delimiter or _default_delimiter(paths[0])
    encodings = [detect_encoding(path, dialect.encoding, len(paths), infer) for path in paths]
    lenient = not infer and dialect.encoding is None
    plain = [convert_to_utf8(path, encoding, lenient) for path, encoding in zip(paths, encodings, strict=True)]
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
    detected = Dialect(
        delimiter=None if delimiter == "," else delimiter,
        encoding=None if encodings[0] == "utf-8" or not infer else encodings[0],
    )
    notes = (note,) if note else ()
    return Source(DuckDBEngine(relation), "pandas", "table", is_text=True, dialect=dialect.over(detected), notes=notes)


def _csv_query(paths: Sequence[str], names: Sequence[str], delimiter: str) -> str:
    columns = ", ".join(f"{sql_string(name)}: 'VARCHAR'" for name in names)
    files = ", ".join(sql_string(path) for path in paths)
    options = f"auto_detect=false, header=true, delim={sql_string(delimiter)}, quote='\"', escape='\"'{_packing(paths)}"
    return f"SELECT * FROM read_csv([{files}], {options}, columns={{{columns}}})"  # noqa: S608  all parts are quoted


def _packing(paths: Sequence[str]) -> str:
    """Say how files are pressed together where their names do not."""
    compressions = {compression_of(path) for path in paths}
    return (
        f", compression={sql_string(packing)}"
        if len(compressions) == 1 and (packing := compressions.pop()) in STREAMED_COMPRESSIONS
        else ""
    )


def _default_delimiter(path: str) -> str:
    name = Path(path).name.lower()
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return "\t" if name.endswith((".tsv", ".tab")) else ","


def _header(path: str, delimiter: str) -> list[str]:
    try:
        with open_decompressed(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            names = next(csv.reader(text, delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path!r} is not UTF-8 text (byte {error.object[error.start]:#04x} near the start)",
            next_step="say how it is encoded, such as --encoding cp1252",
        ) from error
    except csv.Error as error:
        raise TableError(f"cannot read {path!r}: {error}", next_step=f"readable are: {FORMATS}") from error
    _refuse_bad_header(path, names)
    return name_unnamed_columns(names)


def _refuse_bad_header(path: str, names: Sequence[str]) -> None:
    if not any(name.strip() for name in names):
        raise TableError(f"{path!r} has no header line", next_step="put the column names into the first line")
    require_unique_columns(path, [name for name in names if name.strip()])
    if any("\x00" in name for name in names):
        raise TableError(f"{path!r} is not a text table", next_step=f"readable are: {FORMATS}")
