"""How a text is encoded: told by its bytes, or said; whatever is not UTF-8 is turned into it privately, in a stream."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from sfumato.errors import TableError, UndecodedTextWarning
from sfumato.table.sources.packed import unpacking
from sfumato.table.sources.private import no_room, private_file

UTF8 = "utf-8"
UNDECODED = (
    "{path!r} is not all {encoding}, and nobody said how it is encoded: values with other letters count as unreadable; "
    "if there are many of them, say --encoding (latin-1, cp1252)"
)
CHUNK = 1 << 20
LOOKED_AT = 1 << 26
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


def encoding_of(path: str, said: str | None = None, files: int = 1, infer: bool = True) -> str:
    """Return how a text is encoded: by its mark, as it was said, or by its bytes; of many files, by fewer of each.

    Without ``infer`` the bytes of its rows do not count: it is UTF-8, or what its first bytes say.
    """
    with unpacking(path) as file:
        head = file.read(4096)
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    if said:
        return codecs.lookup(said).name
    return _wide(path, head) or (_looked_at(path, LOOKED_AT // files) if infer else UTF8)


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
    with unpacking(path) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _looked_at(path: str, most: int) -> str:
    decoder = codecs.getincrementaldecoder(UTF8)()
    seen = 0
    for chunk in _chunks(path):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            return _single_byte(path, chunk, error, seen)
        seen += len(chunk)
        if seen >= most:
            break
    return UTF8


def _single_byte(path: str, chunk: bytes, error: UnicodeDecodeError, seen: int) -> str:
    """Tell an old encoding from a damaged UTF-8, in which most letters are sound."""
    text = chunk.decode(UTF8, errors="surrogateescape")
    if len(BAD.findall(text)) <= len(GOOD.findall(text)):
        place = seen + error.start
        raise TableError(
            f"{path!r} is UTF-8 but for some bytes, the first of them {error.object[error.start]:#04x} at {place:,}",
            next_step="mend the file where it was joined or edited; or say how it is encoded: --encoding cp1252",
        )
    found = "latin-1"
    for more in _chunks(path):
        if UNDEFINED.search(more):
            raise _unknown(path)
        found = "cp1252" if WINDOWS.search(more) else found
    return found


def _unknown(path: str) -> TableError:
    return TableError(
        f"{path!r} is not UTF-8 text, and it holds bytes that cp1252 does not know either",
        next_step="say how it is encoded, such as --encoding cp850 (old Windows and DOS), mac-roman or shift_jis",
    )


def in_utf8(path: str, encoding: str, lenient: bool = False) -> str:
    """Return a file with the same text in UTF-8: itself, or a private copy that is gone when the program ends.

    Where that is ``lenient``, bytes that are no letters of the encoding are marked, and a warning says so.
    """
    if encoding in (UTF8, "utf-8-sig", "ascii") and not (lenient and not _is_utf8(path)):
        return path
    if lenient and encoding == UTF8:
        warnings.warn(UndecodedTextWarning(UNDECODED.format(path=path, encoding=encoding)), stacklevel=2)
    target = private_file(f"{Path(path).name.split('.')[0]}{'.tsv' if '.tsv' in Path(path).name else '.csv'}")
    decoder = codecs.getincrementaldecoder(encoding)("replace" if lenient else "strict")
    try:
        with target.open("x", encoding=UTF8, newline="") as out:
            for chunk in _chunks(path):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except UnicodeError as error:
        raise TableError(
            f"{path!r} is not written in {encoding}",
            next_step="say how it is encoded, such as --encoding cp1252; leave the option away to have it recognised",
        ) from error
    except OSError as error:
        raise no_room(error) from error
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
