"""A real PostgreSQL server for the tests of the ledger, started once and only when a test asks for it."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool


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
