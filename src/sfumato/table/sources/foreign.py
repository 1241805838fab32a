"""The process that reads workbooks and files of statistical programs: it may die of a damaged file, and nobody else.

It is started as a script by :mod:`sfumato.table.sources.child_process`, knows nothing of sfumato, reads one request
from standard input and answers with one line of JSON. Rows go into a private file that the request names.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

MIDNIGHT = dt.time()
ROWS_AT_ONCE = 200_000
MOST_LABELLED = 1_000
"""Distinct values of a labelled column beyond which its labels are no list of its values."""
READERS = {"sav": "read_sav", "por": "read_por", "dta": "read_dta", "sas": "read_sas7bdat", "xpt": "read_xport"}
BROKEN = (OSError, ValueError, LookupError, TypeError, ArithmeticError, NotImplementedError, RuntimeError)
"""What readers raise, beside their own errors, on a file that is damaged: half letters, days beyond all years."""
MANY_CELLS, FEW_FILLED = 10_000_000, 20
"""A sheet that spans more cells than this, of which not even one in so many is filled, was made so by accident."""
PLACE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^<>]*?\br=[\"']([A-Z]{0,3})(\d{1,7})[\"']")
CHUNK, LONGEST_TAG = 1 << 20, 1 << 12
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class RefusedError(Exception):
    """Why a file cannot be read: a reason that the parent knows, and facts about it."""

    def __init__(self, reason: str, **facts: Any) -> None:
        super().__init__(reason)
        self.answer = {"refused": reason, **facts}


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    sys.path[:] = request["packages"]
    limit(request["memory"], request["seconds"])
    try:
        answer = (read_workbook if request["kind"] == "workbook" else read_statistical)(request)
    except RefusedError as refused:
        answer = refused.answer
    except MemoryError:
        answer = {"refused": "memory"}
    sys.stdout.write(json.dumps(answer, default=str) + "\n")


def limit(memory: int, seconds: int) -> None:
    """Limit what this process may take, where the system can; no core is dumped, for it would hold rows."""
    try:
        import resource
    except ImportError:  # Windows
        return
    kinds = {"RLIMIT_DATA": memory, "RLIMIT_CPU": seconds, "RLIMIT_CORE": 0}
    for name, most in kinds.items():
        _, hard = resource.getrlimit(getattr(resource, name))
        within = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(getattr(resource, name), (within, hard))
        except (OSError, ValueError):  # macOS does not limit everything that it names
            continue


def read_workbook(request: Mapping[str, Any]) -> dict[str, Any]:
    """Write the rows of one sheet as an Arrow stream, in columns with numbers for names, and return its header."""
    _without_pandas()
    import pyarrow as pa
    import python_calamine as calamine

    path = request["path"]
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            names = list(book.sheet_names)
            sheet = _chosen(names, request["sheet"])
            refuse_far_cells(path, names.index(sheet))
            rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
    except calamine.PasswordError as error:
        raise RefusedError("password") from error
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError, *BROKEN) as error:
        raise RefusedError("damaged", error=type(error).__name__) from error
    filled = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if not filled:
        raise RefusedError("empty", sheet=sheet)
    header = [_text(cell) or "" for cell in filled[0]]
    table = pa.table({str(i): _column([row[i] for row in filled[1:]]) for i in range(len(header))})
    _write_stream(request["out"], table)
    return {"sheet": sheet, "sheets": names, "header": header}


def _without_pandas() -> None:
    """Put an empty package where pyarrow looks for pandas, which it would import for nothing in half a second."""
    empty = sys.modules["pandas"] = ModuleType("pandas")
    vars(empty)["__version__"] = "0"


def _write_stream(path: str, table: Any) -> None:
    import pyarrow as pa

    try:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)
    except OSError as error:
        raise RefusedError("room", error=error.strerror or "no space left on device") from error


def _chosen(names: Sequence[str], wanted: str | int | None) -> str:
    """Return the sheet with a name, or else with a number; the first one where nothing was said."""
    if wanted is None and names:
        return names[0]
    if str(wanted) in names:
        return str(wanted)
    if str(wanted).isdigit() and 1 <= int(wanted or 0) <= len(names):
        return names[int(wanted or 0) - 1]
    raise RefusedError("sheet", sheets=list(names))


def refuse_far_cells(path: str, number: int) -> None:
    """Refuse a sheet whose few cells span millions: the reader makes one of every empty cell between them."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        member = _member(archive, number)
        if member is None:
            return
        with archive.open(member) as file:
            columns, rows, filled = _extent(file)
    if columns * rows > MANY_CELLS and filled * FEW_FILLED < columns * rows:
        raise RefusedError("far", cell=f"{_letters(columns)}{rows}", filled=filled, spanned=columns * rows)


def _member(archive: zipfile.ZipFile, number: int) -> str | None:
    """Return the file of a sheet within an .xlsx; None for other workbooks, which name no cells so."""
    names = set(archive.namelist())
    if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return None
    try:
        sheets = [each for each in _tree(archive, "xl/workbook.xml").iter() if _is(each, "sheet")]
        relations = _tree(archive, "xl/_rels/workbook.xml.rels")
        targets = {each.get("Id"): each.get("Target", "") for each in relations}
        target = targets[sheets[number].get(RELATION)]
    except (ElementTree.ParseError, LookupError):
        return None
    member = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return member if member in names else None


def _tree(archive: zipfile.ZipFile, member: str) -> Any:
    return ElementTree.fromstring(archive.read(member))  # noqa: S314  this process has limits, and expat its own


def _is(element: Any, tag: str) -> bool:
    return str(element.tag).rpartition("}")[2] == tag


def _extent(file: Any) -> tuple[int, int, int]:
    """Return the last column, the last row and the number of cells that a sheet names."""
    columns, rows, filled, left = 0, 0, 0, b""
    while chunk := file.read(CHUNK):
        text, _, left = (left + chunk).rpartition(b">")
        places = PLACE.findall(text)
        letters, digits = {letters for letters, _ in places}, {digits for _, digits in places}
        columns = max(columns, *map(_column_number, letters), 0)
        rows = max(rows, *map(int, digits), 0)
        filled += sum(bool(letters) for letters, _ in places)
        left = left[-LONGEST_TAG:]
    return columns, rows, filled


def _column_number(letters: bytes) -> int:
    """Return the number of a column from 1.

    >>> _column_number(b"A"), _column_number(b"XFD"), _letters(16384)
    (1, 16384, 'XFD')
    """
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _letters(number: int) -> str:
    return (_letters((number - 1) // 26) if number > 26 else "") + chr(65 + (number - 1) % 26) if number else "A"


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


def read_statistical(request: Mapping[str, Any]) -> dict[str, Any]:
    """Write the rows as Parquet, in pieces, and return what the file says of its columns."""
    import pyarrow.parquet as pq
    import pyreadstat

    distinct: dict[str, set[Any]] = {}
    try:
        reader, options = getattr(pyreadstat, READERS[request["format"]]), _options(request)
        missing = {} if request["format"] in ("por", "xpt") else {"user_missing": True}
        declared: Any = reader(request["path"], metadataonly=True, **missing, **options)[1]
        _refuse_repeated(list(declared.column_names))
        pieces = _pieces(pyreadstat, reader, request["path"], options, distinct)
        meta, first = next(pieces)
        with pq.ParquetWriter(request["out"], first.schema, compression="zstd") as out:
            out.write_table(first, row_group_size=1 << 17)
            for meta, piece in pieces:  # noqa: B007  the last one is kept
                out.write_table(piece.cast(first.schema), row_group_size=1 << 17)
    except pyreadstat.ReadstatError as error:  # its texts are constants of the reader
        raise RefusedError("damaged", error=str(error)) from error
    except (pyreadstat.PyreadstatError, *BROKEN) as error:
        raise RefusedError("damaged", error=type(error).__name__) from error
    return {
        "descriptions": meta.column_names_to_labels,
        "labels": {name: list(words.items()) for name, words in meta.variable_value_labels.items()},
        "ranges": getattr(declared, "missing_ranges", {}),
        "missing": getattr(declared, "missing_user_values", {}),
        "seen": {name: list(values) for name, values in distinct.items()},
    }


def _options(request: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"encoding": request["encoding"]} if request["encoding"] else {}
    catalog = Path(request["path"]).with_suffix(".sas7bcat")
    if request["format"] == "sas" and catalog.is_file():
        options["catalog_file"] = str(catalog)
    return options


def _refuse_repeated(names: Sequence[str]) -> None:
    if len({name.lower() for name in names}) < len(names):
        raise RefusedError("repeated", names=list(names))


def _pieces(
    pyreadstat: Any, reader: Any, path: str, options: dict[str, Any], distinct: dict[str, set[Any]]
) -> Iterator[tuple[Any, Any]]:
    """Yield what the file says and some rows as Arrow, at least once; values of labelled columns are remembered."""
    some = False
    for frame, meta in pyreadstat.read_file_in_chunks(reader, path, chunksize=ROWS_AT_ONCE, **options):
        some = True
        yield meta, _remembered(frame, meta, distinct)
    if not some:
        frame, meta = reader(path, **options)
        yield meta, _remembered(frame, meta, distinct)


def _remembered(frame: Any, meta: Any, distinct: dict[str, set[Any]]) -> Any:
    table = _typed(arrow_from_pandas(frame), meta.readstat_variable_types)
    for name in meta.variable_value_labels:
        held = distinct.setdefault(name, set())
        if name in table.column_names and len(held) <= MOST_LABELLED:
            held |= set(table.column(name).unique().to_pylist()) - {None}
    return table


def _typed(table: Any, kinds: Mapping[str, str]) -> Any:
    """Return a table in types that do not depend on which values are missing in some of its rows."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in table.column_names:
        column, kind = table.column(name), kinds.get(name, "")
        if kind == "string":
            columns[name] = _blank_as_null(column.cast(pa.string()))
        elif pa.types.is_integer(column.type) or (kind.startswith("int") and pa.types.is_floating(column.type)):
            columns[name] = column.cast(pa.int64())
        elif pa.types.is_null(column.type) or pa.types.is_floating(column.type):
            columns[name] = column.cast(pa.float64())
        else:
            columns[name] = column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
    return pa.table(columns)


def _blank_as_null(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    compute: Any = pc
    return compute.if_else(compute.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def arrow_from_pandas(frame: Any, infer: bool = True) -> Any:
    """Convert column by column, so that one column of mixed types is read as text instead of failing the table."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        try:
            array: Any = pa.Array.from_pandas(series)
            columns[str(name)] = array if infer or not is_open_type(series.dtype) else _texts(series, array)
        except (pa.ArrowException, OverflowError, TypeError, ValueError, ArithmeticError):
            as_text = str if infer else _written
            columns[str(name)] = pa.array([None if _is_null(v) else as_text(v) for v in series], pa.string())
    return pa.table(columns)


def is_open_type(dtype: Any) -> bool:
    """Whether a value of another kind would change a column's type, so that its rows decide it.

    So it is with objects and their categories, and with true and false, which cannot be missing. Whole numbers that
    become floats by a missing value are read alike.
    """
    return dtype == "object" or dtype == "category" or str(dtype) == "bool"


def _texts(series: Any, array: Any) -> Any:
    """Return every value as a text, whatever the others are."""
    import pyarrow as pa

    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        return array.cast(pa.string())
    return pa.array([None if _is_null(v) else _written(v) for v in series.astype(object)], pa.string())


def _written(value: Any) -> str:
    return str(value).lower() if type(value).__name__ in ("bool", "bool_") else str(value)


def _is_null(value: Any) -> bool:
    """Whether a value stands for none: None, NaN of any type, NaT and pandas' own NA, which does not compare."""
    import pandas as pd

    if isinstance(value, Decimal):
        return value.is_nan()
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


if __name__ == "__main__":
    main()
