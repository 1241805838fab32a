"""A database file runs nothing: base tables only unless a view is named, and no query reaches another file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from sfumato import Schema
from sfumato.errors import TableError
from sfumato.progress import progress_listener
from sfumato.schema.dialect import Dialect
from sfumato.table.sources import open_source
from sfumato.table.sources.scratch_space import EXTENSIONS, connect

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(n) AS n FROM r"


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request, tmp_path: Path) -> Path:
    """Return a file with a table, a plain view and one that never ends; in DuckDB also views of other files."""
    path = tmp_path / f"t.{request.param}"
    connection = (duckdb if request.param == "duckdb" else sqlite3).connect(str(path))
    connection.execute("CREATE TABLE people (age INTEGER)")
    connection.execute("INSERT INTO people VALUES (1), (2), (2)")
    connection.execute("CREATE VIEW older AS SELECT age + 1 AS age FROM people")
    connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
    if request.param == "duckdb":
        (tmp_path / "secret.txt").write_text("a secret")
        connection.execute(f"CREATE VIEW secrets AS SELECT content FROM read_text('{tmp_path}/secret.txt')")
        connection.execute(f"CREATE VIEW listing AS SELECT * FROM glob('{tmp_path}/*')")
        connection.execute("CREATE VIEW shape AS SELECT current_setting('enable_external_access') AS a")
    connection.commit()
    connection.close()
    return path


def test_the_only_table_is_read_and_a_view_only_by_name(database: Path):
    source = open_source(database)
    assert (source.engine.relation.fetchall(), source.notes) == ([(1,), (2,), (2,)], ())
    view = open_source(database, Dialect(sheet="older"))
    assert view.engine.relation.fetchall() == [(2,), (3,), (3,)]
    assert "'older' is a view" in view.notes[0]
    assert Schema.draft(database, sheet="older").source.sheet == "older"
    with pytest.raises(TableError, match="no table 'nobody'") as caught:
        open_source(database, Dialect(sheet="nobody"))
    assert {"people", "older (a view, whose query is run when it is named)"} <= set(caught.value.problems)


def test_a_view_of_a_duckdb_file_reaches_no_other_file(tmp_path: Path, database: Path):
    if database.suffix == ".sqlite":
        return
    for view in ("secrets", "listing"):
        with pytest.raises(TableError) as caught:
            open_source(database, Dialect(sheet=view))
        assert "a secret" not in str(caught.value)
    assert open_source(database, Dialect(sheet="shape")).engine.relation.fetchall() == [(False,)]
    locked = open_source(database).engine.relation
    settings = "SELECT current_setting('lock_configuration'), current_setting('enable_external_access')"
    assert locked.query("x", settings).fetchall() == [(True, False)]


def test_no_connection_of_ours_fetches_extensions():
    connection = connect()
    assert [connection.sql(f"SELECT current_setting('{name}')").fetchone() for name in EXTENSIONS] == [(False,)] * 3


def test_an_endless_view_can_be_stopped(database: Path):
    class StoppedError(BaseException):
        pass

    began = time.monotonic()

    def stop(_stage: str, _done: float | None) -> None:
        if time.monotonic() - began > 0.5:
            raise StoppedError

    with progress_listener(stop), pytest.raises(StoppedError):
        open_source(database, Dialect(sheet="endless"))
    assert time.monotonic() - began < 60


def test_ctrl_c_stops_it_on_the_command_line(database: Path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    call = [sys.executable, "-c", "from sfumato.cli import main; main()", "schema", "draft", str(database)]
    with subprocess.Popen(
        [*call, "--sheet", "endless"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in err) == (130, True), err
