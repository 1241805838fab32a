"""Private scratch space of this process: an in-memory DuckDB and an owner-only temporary folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from sfumato.errors import TableError

_NUMBERS = count(1)
EXTENSIONS = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")
"""Settings by which DuckDB would fetch what a query lacks."""


def connect() -> Any:
    """Return a private in-memory DuckDB, which fetches no extension from anywhere.

    A larger streaming buffer lets reading overlap with counting.
    """
    import duckdb

    connection = duckdb.connect(config={"temp_directory": spill_folder(), **dict.fromkeys(EXTENSIONS, "false")})
    connection.execute("SET streaming_buffer_size = '64MB'")
    _hide_bar(connection)
    return connection


def _hide_bar(connection: Any) -> None:
    """Switch DuckDB's progress bar off: it would be printed among the output of ``python -c``.

    In a notebook without ipywidgets it is off, and DuckDB refuses any word about it.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.execute("SET enable_progress_bar = false")


def scratch_file(name: str) -> Path:
    """Return the path of a new file that nobody else can read, and that is gone when the program ends."""
    folder = Path(spill_folder()) / f"file-{os.getpid()}-{next(_NUMBERS)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise disk_full_error(error) from error
    return folder / Path(name).name


def write_scratch_parquet(name: str, schema: Any, batches: Iterable[Any]) -> str:
    """Write Arrow tables, one after the other, to a private Parquet file and return its path."""
    import pyarrow.parquet as pq

    path = scratch_file(f"{name}.parquet")
    try:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(batch, row_group_size=1 << 17)
    except OSError as error:
        raise disk_full_error(error) from error
    return str(path)


def disk_full_error(error: OSError) -> TableError:
    """Return the error of a temporary folder that cannot be used."""
    step = "make room there, or set TMPDIR to a folder that you may write to"
    return TableError(f"there is no temporary folder to use: {error.strerror}", next_step=step)


def spill_folder() -> str:
    """Return where an engine may put rows that do not fit into memory: a folder (0700) for nobody else's eyes.

    It lies in the temporary folder that TMPDIR names, and is gone when the program ends.
    """
    return _folder_of(os.getpid())


@lru_cache(maxsize=8)
def _folder_of(process: int) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="sfumato-")
    except OSError as error:
        raise disk_full_error(error) from error
    atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    """Remove the folder, unless this is a copy of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
