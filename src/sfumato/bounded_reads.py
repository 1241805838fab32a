"""Look for files, whatever a path is, and read small ones whole: no device, no pipe, and never more than a bound."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of a schema, a document of a bundle, or another text that is read as a whole."""


def is_folder(path: str | Path) -> bool:
    """Whether a folder is there; a path that no file can have is none.

    >>> is_folder("."), is_folder("x" * 5000), is_folder("a\\0b")
    (True, False, False)
    """
    return os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises for a name that is too long


def is_file(path: str | Path) -> bool:
    """Whether a file is there; a path that no file can have is none."""
    return os.path.isfile(path)  # noqa: PTH113


def bounded_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises OSError for a folder, a device, a pipe, and more than ``most`` bytes; at most one byte more is read.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def bounded_text(path: str | Path, most: int = MOST_BYTES, encoding: str = "utf-8") -> str:
    """Return the text of a regular file with plain line ends; raises as :func:`bounded_bytes` and UnicodeDecodeError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_bytes(b"one\\r\\ntwo")
    ...     bounded_text(Path(folder, "a.txt"))
    'one\\ntwo'
    """
    return bounded_bytes(path, most).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
