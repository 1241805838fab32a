"""Ledgers on SQLite and on a real PostgreSQL server, which is started once and only when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool


def run_on(postgres_url: str, statement: str) -> None:
    """Run one statement on the test server, outside a transaction."""
    address = sa.make_url(postgres_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)


@pytest.fixture
def postgres_ledger_url(postgres_url: str) -> Iterator[str]:
    """Address of an empty schema of its own on the test server."""
    name = f"ledger_{uuid4().hex[:12]}"
    run_on(postgres_url, f"CREATE SCHEMA {name}")
    yield (
        sa.make_url(postgres_url)
        .update_query_dict({"options": f"-csearch_path={name}"})
        .render_as_string(hide_password=False)
    )
    run_on(postgres_url, f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def postgres_database_url(postgres_url: str) -> str:
    """Address of an empty database of its own, for tests that change settings of a database."""
    name = f"ledger_{uuid4().hex[:12]}"
    run_on(postgres_url, f"CREATE DATABASE {name}")
    return sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty ledger, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres_ledger_url")
