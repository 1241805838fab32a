"""Files that hold another file: gz, zst, bz2, xz and zip. What an engine cannot stream is unpacked privately."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.errors import TableError
from sfumato.table.sources.private import no_room, private_file
from sfumato.table.sources.recognise import HEAD, PACKED, packing, recognised

STREAMED = ("gzip", "zstd")
"""What an engine unpacks itself, while it reads."""
BROKEN = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)


def head_of(path: str) -> bytes:
    """Return the first bytes of a file; refuse one that is empty or not ours to read."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise TableError(f"cannot read {path!r}: {error.strerror}", next_step="check the file's permissions") from error
    if not head:
        raise TableError(f"{path!r} is empty (0 bytes)", next_step="give a file with a header line and rows")
    return head


def packing_of(path: str) -> str | None:
    """Return how a file is pressed together, if it is."""
    return packing(head_of(path))


@contextmanager
def unpacking(path: str) -> Generator[BinaryIO]:
    """Open a file, or what is inside one that is pressed together, for reading its bytes."""
    openers = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open, "zstd": _zstd}
    opener: Any = openers.get(packing_of(path) or "", open)
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


def unpacked(path: str, member: str | int | None) -> tuple[str, str]:
    """Return a file that can be opened, and its format; archives give the member that was asked for."""
    head = head_of(path)
    with open(path, "rb") as file:
        kind = recognised(path, head, file)
    if kind == "zip":
        return _plain(path, _extracted(path, member))
    return (path, kind) if kind not in PACKED.values() else _unpressed(path, kind)


def _plain(path: str, inner: str) -> tuple[str, str]:
    """Return a file that came out of an archive, which may be pressed together, but is no archive again."""
    head = head_of(inner)
    with open(inner, "rb") as file:
        kind = recognised(inner, head, file)
    if kind == "zip":
        raise TableError(f"{path!r} holds another archive", next_step="take the table out of it, and give that file")
    return (inner, kind) if kind not in PACKED.values() else _unpressed(inner, kind)


def _unpressed(path: str, pressed: str) -> tuple[str, str]:
    """Return a text as it is where the engine unpacks it itself; anything else is unpacked here."""
    with unpacking(path) as file:
        head = file.read(HEAD)
        if not head:
            raise TableError(f"{path!r} holds nothing", next_step="give a file with a header line and rows")
        if pressed in STREAMED and recognised_inside(path, head) in ("csv", "jsonl", "json"):
            return path, recognised_inside(path, head)
        inner = private_file(Path(path).stem or "table")
        _copied(file, inner, head)
    return _plain(path, str(inner))


def recognised_inside(path: str, head: bytes) -> str:
    """Return what is inside a file that is pressed together; tables that are pressed twice are told by name too."""
    if head[257:262] == b"ustar":
        raise TableError(f"{path!r} is a tar archive", next_step="take the table out of it, and give that file")
    archive = head.startswith((b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")))
    return "packed" if archive else recognised(path, head)


def _copied(file: BinaryIO, target: Path, head: bytes = b"") -> None:
    try:
        with target.open("xb") as out:
            out.write(head)
            shutil.copyfileobj(file, out, 1 << 20)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise
        raise no_room(error) from error


def _extracted(path: str, member: str | int | None) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            info = _chosen(path, archive, member)
            if info.flag_bits & 1:
                step = "take the table out of it with the password, and give that file"
                raise TableError(f"{path!r} is a zip archive with a password", next_step=step)
            target = private_file(Path(info.filename).name)
            with archive.open(info) as file:
                _copied(cast("BinaryIO", file), target)
    except (*BROKEN, NotImplementedError) as error:
        raise TableError(f"cannot unpack {path!r}: {error}", next_step="copy or download the file again") from error
    return str(target)


def _chosen(path: str, archive: zipfile.ZipFile, member: str | int | None) -> zipfile.ZipInfo:
    """Return the member that was named, or the only one."""
    found = [info for info in archive.infolist() if not info.is_dir() and not _is_litter(info.filename)]
    if member is not None:
        wanted = [info for info in found if str(member) in (info.filename, Path(info.filename).name)]
        by_number = str(member).isdigit() and 1 <= int(member) <= len(found)
        found_now = wanted or ([found[int(member) - 1]] if by_number else [])
    else:
        found_now = found if len(found) == 1 else []
    if not found_now:
        what = "holds no file" if not found else f"holds {len(found)} files" if member is None else f"has no {member!r}"
        listed = [info.filename for info in found[:20]]
        step = f"name one of them: --sheet '{listed[0]}'" if found else "give a table"
        raise TableError(f"the archive {path!r} {what}", listed, step)
    return found_now[0]


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or Path(name).name in (".DS_Store", "Thumbs.db", "desktop.ini")
