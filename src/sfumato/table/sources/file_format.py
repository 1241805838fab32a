"""Detect a file's format from its first bytes; decompress gz, zst, bz2, xz and zip.

Nothing is opened by what its name says, and nothing is run: a pickle is named, never loaded.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.errors import TableError
from sfumato.schema.dialect import FILE_FORMATS
from sfumato.table.sources.scratch_space import disk_full_error, scratch_file

HEAD = 1 << 16
"""Bytes that are looked at."""
OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
"""How files begin that hold another one, pressed together."""
BZIP_BLOCK = bytes.fromhex("314159265359")
READABLE = {magic: name for name, each in FILE_FORMATS.items() for magic in each.magic}
"""How files begin that can be read."""
AS_CSV = "save the table as CSV or Parquet there, and give that file"
IN_R = "in R, write.csv(table, 'table.csv', row.names = FALSE) makes a file that can be read"
IN_PYTHON = "load it in Python and give the frame: sfumato.read(frame, schema); or save it as Parquet"
UNSUPPORTED_FORMATS: tuple[tuple[tuple[bytes, ...], str, str], ...] = (
    ((b"X\n\x00\x00",), "an R data file (RDS)", IN_R),
    ((b"RDX2\n", b"RDX3\n"), "an R workspace (RData)", IN_R),
    ((b"%PDF",), "a PDF document", "give the table that it was printed from; a printed table cannot be read back"),
    ((b"\xff\xd8\xff",), "a JPEG picture", "give the table itself, not a picture of it"),
    ((b"\x89PNG",), "a PNG picture", "give the table itself, not a picture of it"),
    ((b"GIF8",), "a GIF picture", "give the table itself, not a picture of it"),
    ((b"\x89HDF",), "an HDF5 file", IN_PYTHON),
    ((b"Obj\x01",), "an Avro file", IN_PYTHON),
    ((b"ORC",), "an ORC file", IN_PYTHON),
    ((b"FEA1",), "a Feather file of the first version", IN_PYTHON),
    ((b"\xd9\xd5\x05\xf9",), "the journal of an SQLite database", "give the database file itself, without -journal"),
    (
        (b"7\x7f\x06\x82", b"7\x7f\x06\x83"),
        "the log of an SQLite database",
        "give the database file itself, without -wal",
    ),
    (
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a Python pickle, which could run code when it is loaded",
        IN_PYTHON,
    ),
    ((b"\x93NUMPY",), "a NumPy array", IN_PYTHON),
    ((b"MATLAB",), "a MATLAB file", AS_CSV),
    ((b"\x00\x01\x00\x00Standard",), "a Microsoft Access database", AS_CSV),
    ((b"Rar!",), "a RAR archive", "take the table out of the archive, and give that file"),
    ((b"7z\xbc\xaf",), "a 7z archive", "take the table out of the archive, and give that file"),
    ((b"\x7fELF", b"MZ"), "a program", "give a table"),
    ((b"{\\rtf",), "a text document (RTF)", AS_CSV),
    ((b"PGDMP",), "a dump of a PostgreSQL database", "restore it, and give the table: \\copy t to 't.csv' csv header"),
)
"""How files begin that cannot be read, what they are, and what to do."""
OFFICE = {
    "word/": "a Word document",
    "ppt/": "a PowerPoint presentation",
    "META-INF/MANIFEST.MF": "a Java archive",
    "data.pkl": "a Python model, which could run code when it is loaded",
}


def detect_format(path: str, head: bytes, file: BinaryIO | None = None) -> str:
    """Return the format of a file, by its first bytes; refuse, by name, what cannot be read.

    ``file`` is the whole of it, for archives, whose list of contents stands at the end.
    """
    known = detect_compression(head) or _by_first_bytes(READABLE, head) or _other(path, head, file)
    if known:
        return known
    for magics, what, step in UNSUPPORTED_FORMATS:
        if any(head.startswith(magic) and not (magic.isalpha() and _is_texty(head)) for magic in magics):
            raise unsupported_format_error(path, what, step)
    _refuse_markup(path, head)
    return _json_kind(path, head) or "csv"


def unsupported_format_error(path: str, what: str, step: str) -> TableError:
    """Return the error for a file that has a name, but cannot be read."""
    return TableError(f"{path!r} is {what}", next_step=step)


def detect_compression(head: bytes) -> str | None:
    """Return how a file is pressed together, if it is."""
    compression = _by_first_bytes(PACKED, head)
    return None if compression == "bzip2" and head[4:10] != BZIP_BLOCK else compression


def _by_first_bytes(known: dict[bytes, str], head: bytes) -> str | None:
    return next((name for magic, name in known.items() if head.startswith(magic)), None)


def _is_texty(head: bytes) -> bool:
    """Whether the first bytes are characters that people read: a few letters alone prove nothing."""
    return all(byte >= 32 or byte in b"\t\r\n\x0c" for byte in head[:512])


def _other(path: str, head: bytes, file: BinaryIO | None) -> str | None:
    """Return formats whose mark is not simply how they begin."""
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _archive_kind(path, file)
    if head.startswith(OLD_OFFICE):
        return _old_office_kind(path, head, file)
    if b"SPSS PORT FILE" in head[:300]:
        return "por"
    # An old Stata file: version, byte order, type 1, unused 0.
    is_stata = len(head) > 100 and 102 <= head[0] <= 115 and head[1] in (1, 2) and head[2] == 1 and head[3] == 0
    return "dta" if is_stata else None


def _archive_kind(path: str, file: BinaryIO | None) -> str:
    """Tell a workbook from other documents and from an archive of files."""
    try:
        with zipfile.ZipFile(file or path) as archive:
            names = archive.namelist()
            mime = archive.read("mimetype")[:100] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        step = "copy or download it again"
        raise TableError(f"{path!r} is a zip archive or workbook that is broken: {error}", next_step=step) from error
    if any(name.startswith("xl/workbook") for name in names):
        return "xlsx"
    if b"spreadsheet" in mime:
        return "ods"
    for sign, what in OFFICE.items():
        if any(name.startswith(sign) or name.endswith("/" + sign) for name in names):
            raise unsupported_format_error(path, what, AS_CSV)
    if mime:
        raise unsupported_format_error(path, "an OpenDocument that is no table", AS_CSV)
    return "zip"


def _old_office_kind(path: str, head: bytes, file: BinaryIO | None) -> str:
    """Tell an old workbook from documents and from files with a password, which share one wrapping."""
    data = head if file is None else head + file.read(1 << 24)
    has = {word: word.encode("utf-16-le") in data for word in ("EncryptedPackage", "WordDocument", "Workbook", "Book")}
    if has["EncryptedPackage"]:
        raise unsupported_format_error(
            path, "an Office file with a password", "open it, save it without a password, and give that file"
        )
    if has["Workbook"] or has["Book"]:
        return "xls"
    raise unsupported_format_error(path, "a Word document" if has["WordDocument"] else "an old Office document", AS_CSV)


def _refuse_markup(path: str, head: bytes) -> None:
    start = head[:2000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<table", b"<head")):
        raise unsupported_format_error(
            path, "a web page (HTML), whatever its name says", "open it in a spreadsheet and save it as .xlsx"
        )
    if start.startswith(b"<?xml"):
        what = "an XML spreadsheet" if b"spreadsheet" in start else "an XML file"
        raise unsupported_format_error(path, what, "open it in a spreadsheet and save it as .xlsx")


def _json_kind(path: str, head: bytes) -> str | None:
    """Return whether a text holds one JSON object in each line, or a list of them."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"[") and start[1:200].lstrip().startswith((b"{", b"]")):
        return "json"
    if not start.startswith(b"{"):
        return None
    first = start.split(b"\n", 1)[0]
    try:
        if isinstance(json.loads(first), dict):
            return "jsonl"
    except (ValueError, RecursionError):
        if len(first) >= HEAD - 10:  # a line longer than what was looked at
            return "jsonl"
    if path.endswith((".json", ".jsonl", ".ndjson")):
        step = "write one object per line, or a list of objects: [{...}, {...}]"
        raise unsupported_format_error(path, "a JSON file that holds one object over several lines", step)
    return None


STREAMED_COMPRESSIONS = ("gzip", "zstd")
"""What an engine unpacks itself, while it reads."""
BROKEN = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)


def first_bytes(path: str) -> bytes:
    """Return the first bytes of a file; refuse one that is empty or not ours to read."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise TableError(f"cannot read {path!r}: {error.strerror}", next_step="check the file's permissions") from error
    if not head:
        raise TableError(f"{path!r} is empty (0 bytes)", next_step="give a file with a header line and rows")
    return head


def compression_of(path: str) -> str | None:
    """Return how a file is pressed together, if it is."""
    return detect_compression(first_bytes(path))


@contextmanager
def open_decompressed(path: str) -> Generator[BinaryIO]:
    """Open a file, or what is inside one that is pressed together, for reading its bytes."""
    openers = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open, "zstd": _zstd}
    opener: Any = openers.get(compression_of(path) or "", open)
    try:
        with opener(path, "rb") as file:
            yield cast("BinaryIO", file)
    except BROKEN as error:
        if isinstance(error, UnicodeError):
            raise
        raise TableError(f"cannot read {path!r}: {error}", next_step="copy or download the file again") from error


def _zstd(path: str, mode: str) -> Any:
    import pyarrow as pa

    del mode
    return pa.input_stream(path, compression="zstd")


def decompressed_file(path: str, member: str | int | None) -> tuple[str, str]:
    """Return a file that can be opened, and its format; archives give the member that was asked for."""
    kind = _kind_of(path)
    return _plain(path, _extracted(path, member)) if kind == "zip" else _uncompressed(path, kind)


def _kind_of(path: str) -> str:
    with open(path, "rb") as file:
        return detect_format(path, first_bytes(path), file)


def _plain(path: str, inner: str) -> tuple[str, str]:
    """Return a file that came out of an archive, which may be pressed together, but is no archive again."""
    kind = _kind_of(inner)
    if kind == "zip":
        raise TableError(f"{path!r} holds another archive", next_step="take the table out of it, and give that file")
    return _uncompressed(inner, kind)


def _uncompressed(path: str, kind: str) -> tuple[str, str]:
    """Return a file as it is where it is plain or the engine unpacks it; anything else is unpacked here."""
    if kind not in PACKED.values():
        return path, kind
    with open_decompressed(path) as file:
        head = file.read(HEAD)
        if not head:
            raise TableError(f"{path!r} holds nothing", next_step="give a file with a header line and rows")
        if kind in STREAMED_COMPRESSIONS and format_inside(path, head) in ("csv", "jsonl", "json"):
            return path, format_inside(path, head)
        inner = scratch_file(Path(path).stem or "table")
        _copied(file, inner, head)
    return _plain(path, str(inner))


def format_inside(path: str, head: bytes) -> str:
    """Return the format of a compressed file's content; archives in archives are refused by name."""
    if head[257:262] == b"ustar":
        raise TableError(f"{path!r} is a tar archive", next_step="take the table out of it, and give that file")
    archive = head.startswith((b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")))
    return "packed" if archive else detect_format(path, head)


def _copied(file: BinaryIO, target: Path, head: bytes = b"") -> None:
    try:
        with target.open("xb") as out:
            out.write(head)
            shutil.copyfileobj(file, out, 1 << 20)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise
        raise disk_full_error(error) from error


def _extracted(path: str, member: str | int | None) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            info = _chosen(path, archive, member)
            if info.flag_bits & 1:
                step = "take the table out of it with the password, and give that file"
                raise TableError(f"{path!r} is a zip archive with a password", next_step=step)
            target = scratch_file(Path(info.filename).name)
            with archive.open(info) as file:
                _copied(cast("BinaryIO", file), target)
    except (*BROKEN, NotImplementedError) as error:
        raise TableError(f"cannot unpack {path!r}: {error}", next_step="copy or download the file again") from error
    return str(target)


def _chosen(path: str, archive: zipfile.ZipFile, member: str | int | None) -> zipfile.ZipInfo:
    """Return the member that was named, or the only one."""
    members = [info for info in archive.infolist() if not info.is_dir() and not _is_litter(info.filename)]
    if member is not None:
        wanted = [info for info in members if str(member) in (info.filename, Path(info.filename).name)]
        by_number = str(member).isdigit() and 1 <= int(member) <= len(members)
        chosen = wanted or ([members[int(member) - 1]] if by_number else [])
    else:
        chosen = members if len(members) == 1 else []
    if not chosen:
        what = (
            "holds no file"
            if not members
            else f"holds {len(members)} files"
            if member is None
            else f"has no {member!r}"
        )
        listed = [info.filename for info in members[:20]]
        step = f"name one of them: --sheet '{listed[0]}'" if members else "give a table"
        raise TableError(f"the archive {path!r} {what}", listed, step)
    return chosen[0]


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or Path(name).name in (".DS_Store", "Thumbs.db", "desktop.ini")
