"""What the rows leave in a bundle is noise and choices, and nothing else: every method x adjacency x origin of schema.

All noisy answers on a table are recorded and forced on a neighbour with a canary in every column (:mod:`replay`). The
two bundles must then be equal byte by byte, and the privacy loss of the run within what its events charge. Every
registered method with a formal guarantee takes part by its own example. ``make test`` tries every pair of a method, an
origin and an adjacency, ``make thorough`` all three together.
"""

from __future__ import annotations

import bisect
import dataclasses
import datetime as dt
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import replay
import sfumato
from covering import sampled
from sfumato import Ledger, PlausibleDeniability, Release, Schema
from sfumato.bundle.read import open_bundle
from sfumato.cli.main import run
from sfumato.core.method import Output
from sfumato.core.release import promised
from sfumato.dp_schema import buy_schema
from sfumato.errors import DraftSchemaError, PlanError, TableError
from sfumato.evaluate.calibrate import calibrate
from sfumato.privacy import noise
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.schema import Column
from sfumato.schema.confirm import SchemaProvenance
from sfumato.table import Table

ROWS = 240
CANARY = {"age": 7777, "spend": 913131.4142135, "since": dt.date(1931, 3, 7), "city": "CANARYTOWN"}
FORMAL = {name: info for name, info in sfumato.methods().items() if info.formal is not False}
ADJACENCIES = ("rows", "replace", "persons")
GAP = "that does not cover"
PERSON_ROWS = 2
"""Rows of one person that count; the canary person brings one more."""

STATED = """
[columns.age]
kind = "integer"
bounds = [0, 99]
outside = "clamp"
[columns.spend]
kind = "number"
bounds = [0, 400]
outside = "clamp"
[columns.since]
kind = "date"
bounds = [1990-01-01, 2019-12-31]
outside = "clamp"
[columns.city]
kind = "category"
values = ["Basel", "Bern", "Thun"]
outside = "missing"
missing = true
"""


def frame(adjacency: str, neighbour: bool) -> pd.DataFrame:
    """Return the table, or its neighbour: a row more, another row, or a person more, in the middle of the table."""
    dice = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "age": dice.integers(16, 90, ROWS),
            "spend": np.round(dice.gamma(2.0, 50.0, ROWS).clip(1, 399), 2),
            "since": [dt.date(1992 + int(year), 5, 1 + int(year)) for year in dice.integers(0, 25, ROWS)],
            "city": dice.choice(["Basel", "Bern", "Thun"], ROWS, p=[0.5, 0.3, 0.2]),
        }
    )
    if adjacency == "persons":
        rows["who"] = [f"p{i // 2:03d}" for i in range(ROWS)]
    if not neighbour:
        return rows
    times, name = (PERSON_ROWS + 1, {"who": "p500"}) if adjacency == "persons" else (1, {})
    canaries = pd.DataFrame([CANARY | name] * times)
    half = ROWS // 2
    last = rows[half + (adjacency == "replace") :]
    return pd.concat([rows[:half], canaries, last], ignore_index=True)


def described(schema: Schema, adjacency: str) -> Schema:
    """Return a schema with the adjacency, and with the column of people where these are protected."""
    if adjacency == "replace":
        return dataclasses.replace(schema, adjacency="replace", rows=ROWS)
    if adjacency == "rows":
        return schema
    columns = (*(column for column in schema if column.name != "who"), Column("who", "category", role="identifier"))
    return dataclasses.replace(schema, columns=columns, person="who", rows_per_person=PERSON_ROWS)


def as_csv(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_stata(rows: pd.DataFrame, folder: Path) -> Path:
    """Write codes with the labels of a code book, which are the same whatever the rows hold."""
    import pyreadstat

    book = {0: "Basel", 1: "Bern", 2: "Thun"}
    codes = {name: code for code, name in book.items()}
    coded = rows.assign(
        city=[codes.get(name, 9) for name in rows["city"]], since=[pd.Timestamp(day) for day in rows["since"]]
    )
    pyreadstat.write_dta(coded, folder / "t.dta", variable_value_labels={"city": book})
    return folder / "t.dta"


def stated(adjacency: str, source: Path) -> Schema:
    return described(Schema.parse(f'[table]\nname = "t"\n{STATED}'), adjacency)


def told_by_the_file(adjacency: str, source: Path) -> Schema:
    """Return a draft of a Stata file in which a code book declares the cities; all else has public sources, too."""
    facts = stated("rows", source)
    changes: dict[str, dict[str, Any]] = {
        column.name: {"bounds": column.bounds, "edges": None, "outside": "clamp", "missing": False, "decimals": None}
        for column in facts
        if column.bounds
    }
    draft = Schema.draft(source).replace_columns({**changes, "city": {"outside": "missing", "missing": True}})
    named = dict.fromkeys((*facts.names, "*"), "code book 2026")
    return described(draft.confirm(sources=named, by="custodian", person=False), adjacency)


def bought(adjacency: str, source: Path) -> Schema:
    """Return bought facts; the custodian knows besides that no number and no date is missing."""
    facts: dict[str, Any] = {"adjacency": "replace", "rows": ROWS} if adjacency == "replace" else {}
    if adjacency == "persons":
        facts = {"person": "who", "rows_per_person": PERSON_ROWS}
    schema = buy_schema(source, epsilon=11, delta="1e-6", by="custodian", ledger=False, **facts)
    return schema.replace_columns({column.name: {"missing": False} for column in schema if column.bounds})


def drafted(adjacency: str, source: Path) -> Schema:
    """Return what the rows taught, accepted by name."""
    draft = Schema.draft(source)
    changes = {column.name: {"outside": "clamp"} for column in draft if column.bounds}
    draft = draft.replace_columns({**changes, "city": {"outside": "missing", "missing": True}})
    return described(draft.confirm(accept_unchanged=True, by="custodian", person=False), adjacency)


ORIGINS: dict[str, Callable[[str, Path], Schema]] = {
    "stated": stated,
    "file": told_by_the_file,
    "bought": bought,
    "drafted": drafted,
}
FIRST_ALONE = ("file", "drafted")
"""Origins that take facts from a file of the first table; those of two tables have tests of their own below."""


@dataclass(frozen=True)
class Setting:
    """Two neighbouring tables, one after the other in the same file, and the schema by each of them."""

    folder: Path
    adjacency: str
    write: Callable[[pd.DataFrame, Path], Path]
    schemas: tuple[Schema, Schema]

    def apart(self, method: Any, more: Callable[[Release, Table], Release] = lambda made, _: made, **saving: Any):
        """Release both tables by the same answers; return what tells the bundles apart, and what was not charged.

        ``more`` is done with the release and its table before it is saved.
        """

        def released(neighbour: bool) -> replay.Shown:
            source, out, schema = self.write(frame(self.adjacency, neighbour), self.folder), self.folder / "out", None
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            schema = self.schemas[neighbour]
            book = Ledger(out / "ledger.db")
            book.open_table(schema.name, epsilon=100, delta="1e-3", adjacency=schema.adjacency)
            table = sfumato.read(source, schema)
            made = more(sfumato.release(table, method, ledger=book, rows=MADE.get(method.name)), table)
            return self.shown(made, out / "bundle", saving)

        return replay.apart(released)

    @staticmethod
    def shown(made: Release, bundle: Path, saving: Mapping[str, Any]) -> replay.Shown:
        """Save a release and return all that is seen of it: files, and what it says itself."""
        made.save(bundle, **saving)
        said = replay.texts(
            guarantee=made.guarantee.statement(),
            plan=made.plan.model_dump_json(),
            notes="\n".join(made.notes),
            statistics=repr(made.statistics),
            release=repr(made),
            account=repr(made.account),
        )
        return {**replay.files_of(bundle), **said}, made.events


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Setting]:
    """Return the tables of an origin and an adjacency with their schemas, which are drafted or bought once."""

    @cache
    def of(origin: str, adjacency: str) -> Setting:
        folder = tmp_path_factory.mktemp(f"{origin}-{adjacency}")
        write = as_stata if origin == "file" else as_csv

        def described_by(neighbour: bool) -> Schema:
            return ORIGINS[origin](adjacency, write(frame(adjacency, neighbour), folder))

        one = replay.recorded(lambda: described_by(False))
        two = one if origin in FIRST_ALONE else replay.forced(lambda: described_by(True), one)
        return Setting(folder, adjacency, write, (one.outcome(), two.outcome()))

    return of


CASES: dict[str, Callable[[Schema], Any]] = {
    # k is stated: to find it from epsilon takes seconds
    "plausible-deniability": lambda _: PlausibleDeniability(k=20, t=5, gamma=4, epsilon0=1),
}
"""Methods whose own example is not run here."""
MADE = {"plausible-deniability": 5}
"""Rows to make, where each of them costs."""
REFUSED = ("grid", "cluster-geometry", "plausible-deniability", "pseudo-posterior", "two-stage")
"""Methods that protect a row, and refuse by the schema alone a table in which a person may have several."""
VARIANTS: dict[str, Callable[[Schema], Any]] = {
    "histogram with Gaussian noise": lambda _: sfumato.Histogram("city", 1, delta="1e-6", noise="gaussian"),
    "histogram of drawn counts": lambda _: sfumato.Histogram("spend", epsilon=1, synthetic=True),
    "entropy of two columns": lambda _: sfumato.EntropyRelease(["city", "age"], 1, order=0.5, rows_at_least=100),
    "aim for a target": lambda _: sfumato.AIM(epsilon=2, target="city"),
    "a clipped posterior": lambda _: sfumato.PseudoPosterior("age", ["spend"], "normal", epsilon=2, way="clipped"),
    "the kernel of plausible deniability": lambda _: PlausibleDeniability(
        k=20, t=5, gamma=4, epsilon0=1, model="kernel", columns=["city", "since"]
    ),
}


def example(name: str, schema: Schema) -> Any:
    """Return the method as its own example runs it; one whose example does not fit needs a case here."""
    try:
        return CASES.get(name, FORMAL[name].cls.example)(schema)
    except Exception as error:
        raise AssertionError(f"the example of {name} does not fit the table of this test: give it a case") from error


@pytest.mark.parametrize(("name", "origin", "adjacency"), sampled(FORMAL, ORIGINS, ADJACENCIES))
def test_a_bundle_of_a_neighbour_is_equal_byte_by_byte(name, origin, adjacency, setting):
    if adjacency == "persons" and name in REFUSED:
        with pytest.raises(PlanError, match="a person may hold"):
            sfumato.plan(stated(adjacency, Path()), FORMAL[name].cls.example(stated("rows", Path())))
        return
    given = setting(origin, adjacency)
    assert given.schemas[0].to_toml() == given.schemas[1].to_toml()
    assert agree(given.apart(example(name, given.schemas[0])))


def agree(found: list[str]) -> bool:
    """Whether nothing was found; otherwise pytest shows all of it."""
    assert not found, "\n".join(found)
    return True


@pytest.mark.parametrize("adjacency", ["rows", "replace"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_so_are_bundles_by_other_ways_of_a_method(variant, adjacency, setting):
    given = setting("stated", adjacency)
    assert agree(given.apart(VARIANTS[variant](given.schemas[0])))


def promise(schema: Schema) -> Guarantee:
    """Return what a release on this schema promises, from the schema alone."""
    method = sfumato.Histogram("age", epsilon=1)
    return promised(schema, sfumato.plan(schema, method), recorded=True)


def test_the_first_line_names_the_gap_of_a_draft_and_of_nothing_else(setting):
    promises = {origin: promise(setting(origin, "rows").schemas[0]) for origin in ORIGINS}
    assert {origin for origin, made in promises.items() if GAP in made.headline()} == {"drafted"}
    assert "code book 2026" in promises["file"].statement()


# What is in a bundle besides the release.


def test_copies_and_expected_errors_are_equal(setting):
    """Rows in other formats, and reruns of the method on the released rows."""
    method, also = sfumato.MST(epsilon=2, columns=["age", "city", "since"]), ("jsonl", "sqlite", "xlsx", "sav", "dta")
    assert agree(setting("stated", "rows").apart(method, reruns=1, also=also))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_statement_of_quality_is_equal(adjacency, tmp_path, setting):
    given = setting("stated", adjacency)
    method = sfumato.Marginals(epsilon=2, columns=["age", "city"])

    def measured(neighbour: bool) -> replay.Shown:
        table = sfumato.read(given.write(frame(adjacency, neighbour), given.folder), given.schemas[0])
        made = sfumato.release(table, method, ledger=False)
        bundle = made.save(emptied(tmp_path / "out") / "bundle")
        quality = sfumato.quality(bundle, table, epsilon=1, ledger=False)
        quality.save(bundle)
        said = replay.texts(quality=repr(quality), guarantee=quality.guarantee.statement())
        return {**replay.files_of(bundle), **said}, (*made.events, *quality.events)

    assert agree(replay.apart(measured))


@pytest.mark.parametrize("adjacency", ["rows", "replace"])
def test_a_ladder_and_the_rung_it_kept_are_equal(adjacency, tmp_path, setting):
    given = setting("stated", adjacency)

    def climbed(neighbour: bool) -> replay.Shown:
        table = sfumato.read(given.write(frame(adjacency, neighbour), given.folder), given.schemas[0])
        search = {"grid": [0.5, 1, 2], "score_epsilon": 0.5, "ledger": False, "cost": "private"}
        found = calibrate(sfumato.Histogram("city", epsilon=1), "tvd_1_bins <= 0.3", table, **search)
        files, _ = given.shown(found.release, emptied(tmp_path / "out") / "bundle", {})
        return {**files, **replay.texts(ladder=repr(found))}, found.release.events

    assert agree(replay.apart(climbed))


def emptied(folder: Path) -> Path:
    """Return a new folder in the place of an old one, so that both tables have the same paths."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


# The same rows in other files and frames. With a stated schema nothing of their form may be seen.


def _as_latin(rows: pd.DataFrame, folder: Path) -> Path:
    rows = rows.replace({"city": {"CANARYTOWN": "Zürich"}})
    rows.to_csv(folder / "t.csv", index=False, encoding="latin-1")
    return folder / "t.csv"


def _as_odd_csv(rows: pd.DataFrame, folder: Path) -> Path:
    """Write numbers of the canary row in quotes, with zeros before and behind, and a city of two lines."""
    odd = rows.astype(object).replace({"age": {7777: "007777.00"}, "city": {"CANARYTOWN": 'Canary,\n"Town"'}})
    odd.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def _as_json_lines(rows: pd.DataFrame, folder: Path) -> Path:
    """Write lines of which the canary's alone has one more key."""
    plain = [{key: str(value) if key == "since" else value for key, value in row.items()} for row in _records(rows)]
    lines = [json.dumps(row | ({"hiv_test": "positive"} if row["age"] == CANARY["age"] else {})) for row in plain]
    (folder / "t.jsonl").write_text("\n".join(lines))
    return folder / "t.jsonl"


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return json.loads(rows.assign(since=rows["since"].astype(str)).to_json(orient="records", double_precision=15))


def _as_parquet(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def _as_excel(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_excel(folder / "t.xlsx", index=False, engine="xlsxwriter")
    return folder / "t.xlsx"


def _as_sqlite(rows: pd.DataFrame, folder: Path) -> Path:
    (folder / "t.sqlite").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "t.sqlite")) as file:
        rows.astype({"since": str}).to_sql("t", file, index=False)
    return folder / "t.sqlite"


def _with_a_hole(rows: pd.DataFrame, _: Path) -> pd.DataFrame:
    """Return a frame whose whole numbers pandas turns into floats, since the canary has none."""
    return rows.assign(age=rows["age"].where(rows["age"] != CANARY["age"]))


FORMS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "CSV of another encoding": _as_latin,
    "CSV with odd numbers and quotes": _as_odd_csv,
    "JSON lines with a key of one row": _as_json_lines,
    "Parquet": _as_parquet,
    "Excel": _as_excel,
    "SQLite": _as_sqlite,
    "pandas": lambda rows, _: rows,
    "pandas with a hole": _with_a_hole,
    "pandas categories": lambda rows, _: rows.astype({"city": "category"}),
    "polars": lambda rows, _: pl.from_pandas(rows),
    "Arrow dictionaries": lambda rows, _: pa.Table.from_pandas(rows.astype({"city": "category"}), preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_row_is_not_seen(form, tmp_path, setting):
    schema = setting("stated", "rows").schemas[0].replace_columns({"age": {"missing": True}})
    method = sfumato.MST(epsilon=2, columns=["age", "city"])

    def released(neighbour: bool) -> replay.Shown:
        folder = emptied(tmp_path / "out")
        table = sfumato.read(FORMS[form](frame("rows", neighbour), folder), schema)
        return Setting.shown(sfumato.release(table, method, ledger=False), folder / "bundle", {})

    assert agree(replay.apart(released))


def test_the_command_line_says_the_same(tmp_path, monkeypatch, capsys, setting):
    """Standard output, standard error, exit code and bundle; the number of rows is a guess of the custodian's."""
    given = setting("stated", "rows")
    monkeypatch.chdir(tmp_path)
    given.schemas[0].save("t.toml")
    wish = ("--method", "mst", "--epsilon", "2", "--about-rows", "300", "--reruns", "0", "--also", "jsonl", "--verbose")

    def released(neighbour: bool) -> replay.Shown:
        said = command("release", neighbour, capsys, "--schema", "t.toml", *wish)
        return said, open_bundle("bundle").document.events

    assert agree(replay.apart(released))


def command(verb: str, neighbour: bool, capsys: Any, *words: str, rows: pd.DataFrame | None = None) -> dict[str, bytes]:
    """Run a command on ``t.csv`` in the current folder with a ledger of its own; return files and what it printed."""
    for left in (Path("bundle"), Path("book")):
        shutil.rmtree(left, ignore_errors=True)
    Path("book").mkdir()
    as_csv(frame("rows", neighbour) if rows is None else rows, Path())
    Ledger("book/ledger.db").open_table("t", epsilon=100, delta="1e-3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sfumato", verb, "t.csv", *words, "--out", "bundle", "--ledger", "book/ledger.db"])
        code = run()
    printed = capsys.readouterr()
    entries = repr([entry.event for entry in Ledger("book/ledger.db").history()])
    files = replay.files_of(Path("bundle")) if Path("bundle").exists() else {}
    return {**files, **replay.texts(exit=str(code), output=printed.out, errors=printed.err, ledger=entries)}


# What is learned of a table before it has a schema.


def purchase(write: Callable[[pd.DataFrame, Path], Any], folder: Path, **facts: Any) -> Callable[[bool], replay.Shown]:
    """Return the purchase of the facts of a table: the schema, as it would be published."""

    def bought_facts(neighbour: bool) -> replay.Shown:
        source = write(frame("rows", neighbour), emptied(folder / "out"))
        schema = buy_schema(source, epsilon=8, delta="1e-6", ledger=False, by="custodian", **facts)
        return replay.texts(schema=schema.to_toml(), notes="\n".join(schema.notes), line=repr(schema)), ()

    return bought_facts


def uncharged(found: list[str]) -> list[str]:
    """Return what tells two runs apart, besides their cost: a schema does not say its event."""
    return [line for line in found if "its events charge" not in line]


@pytest.mark.parametrize(
    "form", ["CSV with odd numbers and quotes", "Parquet", "pandas", "Arrow dictionaries", "SQLite"]
)
def test_a_purchase_shows_its_noisy_counts_alone(form, tmp_path):
    assert agree(uncharged(replay.apart(purchase(FORMS[form], tmp_path))))


def test_a_purchase_of_named_columns_of_json_lines_shows_no_other_key(tmp_path):
    write = FORMS["JSON lines with a key of one row"]
    assert agree(uncharged(replay.apart(purchase(write, tmp_path, columns=["age", "city"]))))


def test_a_key_that_one_row_has_is_not_bought(tmp_path):
    assert agree(uncharged(replay.apart(purchase(FORMS["JSON lines with a key of one row"], tmp_path), refused=True)))


def test_the_encoding_of_one_row_is_not_bought(tmp_path):
    found = uncharged(replay.apart(purchase(_as_latin, tmp_path), refused=True))
    assert agree([line for line in found if not line.startswith("(warnings)")])  # these are the custodian's alone


def test_synthesize_with_bought_facts_looks_at_no_row_uncharged(tmp_path):
    def released(neighbour: bool) -> replay.Shown:
        codes = [f"c{i % 60}" for i in range(4000)] + ["c60"] * neighbour
        rows = pd.DataFrame({"age": [18 + i % 60 for i in range(len(codes))], "city": "Bern", "code": codes})
        wish = {"epsilon": 8, "buy": 4, "method": "mst", "ledger": False, "anyway": True, "by": "custodian"}
        made = sfumato.synthesize(rows, name="t", about_rows=4000, **wish)
        files, events = Setting.shown(made, emptied(tmp_path / "out") / "bundle", {})
        return files, events

    assert agree(uncharged(replay.apart(released)))


def test_whether_there_is_a_bundle_does_not_depend_on_the_number_of_rows(tmp_path, monkeypatch, capsys, setting):
    monkeypatch.chdir(tmp_path)
    dataclasses.replace(setting("stated", "rows").schemas[0]).save("t.toml")
    least = fewest_rows(setting("stated", "rows").schemas[0])
    wish = ("--schema", "t.toml", "--method", "mst", "--epsilon", "1", "--reruns", "0")

    def released(neighbour: bool) -> replay.Shown:
        rows = pd.concat([frame("rows", False)] * 20)[: least - 1 + neighbour]
        return command("release", neighbour, capsys, *wish, rows=rows), ()

    assert agree(uncharged(replay.apart(released, moved=False)))


def fewest_rows(schema: Schema) -> int:
    """Return from how many rows on noise does not drown them."""
    made = sfumato.plan(schema, sfumato.MST(epsilon=1))
    return bisect.bisect_left(range(1, 4000), True, key=lambda rows: not made.forecast_for(rows).overwhelmed) + 1


def asks_or_names(schema: Callable[[bool], Schema]) -> list[str]:
    """Return on which of two tables a draft was confirmed without a question and without a gap in the first line."""
    silent: list[str] = []
    for neighbour in (False, True):
        try:
            made = promise(schema(neighbour))
        except DraftSchemaError:
            continue
        if GAP not in made.headline():
            silent.append(f"{'the neighbour' if neighbour else 'the first table'}: {made.statement()}")
    return silent


def test_labels_that_the_rows_taught_are_asked_about(tmp_path):
    def confirmed(neighbour: bool) -> Schema:
        rows = frame("rows", neighbour).drop(columns=["since"])
        levels = ["Basel", "Bern", "Thun", *(["CANARYTOWN"] if neighbour else [])]
        rows["city"] = pd.Categorical(rows["city"], levels)
        rows.to_stata(tmp_path / "t.dta", write_index=False)
        return Schema.draft(tmp_path / "t.dta").confirm(sources={"age": "q", "spend": "q"}, by="me")

    assert not asks_or_names(confirmed)


def test_a_kind_that_one_row_taught_is_asked_about(tmp_path):
    def confirmed(neighbour: bool) -> Schema:
        rows = frame("rows", neighbour)[["age"]].astype(object)
        rows["visits"] = [3.5 if neighbour and i == 7 else i % 9 for i in range(len(rows))]
        draft = Schema.draft(as_csv(rows, tmp_path))
        facts = {"bounds": (0, 9999), "decimals": None, "step": None, "trailing_zeros": False, "edges": None}
        return draft.replace_columns(dict.fromkeys(["age", "visits"], facts)).confirm(by="me")

    assert not asks_or_names(confirmed)


def test_two_drafts_differ_in_facts_that_both_promises_name(tmp_path):
    drafts = [drafted("rows", as_csv(frame("rows", neighbour), tmp_path)) for neighbour in (False, True)]
    assert all(GAP in promise(schema).headline() for schema in drafts)
    assert drafts[0].names == drafts[1].names
    kept = ("source", "bought", "from_rows", "drafted")
    apart = {
        (one.name, fact.name)
        for one, two in zip(*drafts, strict=True)
        for fact in dataclasses.fields(one)
        if fact.name not in kept and getattr(one, fact.name) != getattr(two, fact.name)
    }
    named = [
        {(told.subject, told.fact) for told in SchemaProvenance.of(s).facts if told.provenance.origin == "rows"}
        for s in drafts
    ]
    assert {("age", "bounds"), ("spend", "bounds"), ("since", "bounds"), ("city", "values")} <= apart
    assert apart <= named[0] | named[1]
    assert {subject for subject, _ in apart} <= {subject for subject, _ in named[0]} & {
        subject for subject, _ in named[1]
    }


# Mutants: what this test is for.


FACTS = {
    "rows": lambda rows: rows.count(),
    "maximum": lambda rows: rows["spend"].cast("float64").max(),
    "levels": lambda rows: rows["city"].nunique(),
}


@pytest.mark.parametrize("fact", FACTS)
def test_an_uncharged_fact_is_found_with_its_file_and_its_line(fact, monkeypatch, setting):
    true_run = sfumato.Histogram.run

    def telling(self: Any, table: Table, *arguments: Any) -> Output:
        made, engine = true_run(self, table, *arguments), table.source.engine
        told = engine.aggregate(engine.table.aggregate(fact=FACTS[fact](engine.table))).to_pylist()[0]
        return dataclasses.replace(made, statistics={**made.statistics, **told})

    monkeypatch.setattr(sfumato.Histogram, "run", telling)
    found = setting("stated", "rows").apart(sfumato.Histogram("age", epsilon=1))
    shown = next(line for line in found if line.startswith("release.json"))
    assert '"fact"' in shown
    assert any(line.startswith("(statistics)") for line in found)


def test_an_uncharged_fact_in_a_note_is_found(monkeypatch, setting):
    true_run = sfumato.MST.run

    def noting(self: Any, table: Table, *arguments: Any) -> Output:
        made = true_run(self, table, *arguments)
        return dataclasses.replace(made, notes=(*made.notes, f"drawn from {table.count_rows():,} rows"))

    monkeypatch.setattr(sfumato.MST, "run", noting)
    found = setting("stated", "rows").apart(sfumato.MST(epsilon=2, columns=["age", "city"]))
    assert {"README.md", "release.json", "(notes)"} <= {line.partition(":")[0] for line in found}
    assert any("drawn from 241 rows" in line for line in found)


@pytest.mark.parametrize(
    "method", [sfumato.Histogram("age", epsilon=1), sfumato.MST(epsilon=2, columns=["age", "city"])]
)
def test_half_the_noise_is_found_by_the_loss(method, monkeypatch, setting):
    true_add = noise._add
    monkeypatch.setattr(noise, "_add", lambda counts, scale, *rest: true_add(counts, scale / 2, *rest))
    found = setting("stated", "rows").apart(method)
    assert found and all("the run cost" in line for line in found)


def test_noise_beside_the_tape_is_found(monkeypatch, setting):
    """Noise that is drawn elsewhere is the same on both tables, so that what differs are the true counts."""
    unheard = lambda counts, *_: counts + np.random.default_rng().integers(-3, 4, np.shape(counts))  # noqa: E731
    monkeypatch.setattr(noise, "_add", unheard)
    found = setting("stated", "rows").apart(sfumato.Histogram("age", epsilon=1))
    assert any(line.startswith("data.csv") for line in found)


def test_a_question_that_depends_on_the_rows_is_found(monkeypatch, setting):
    """A table of as many cells as there are values, and a step that only one of the tables takes."""

    def asking(self: Any, table: Table, plan: Any, randomness: Any, rows: Any = None) -> Output:
        noise.add_laplace(np.zeros(table.count_rows(), int), 1.0, 1, randomness)
        return true_run(self, table, plan, randomness, rows)

    true_run = sfumato.Histogram.run
    monkeypatch.setattr(sfumato.Histogram, "run", asking)
    found = setting("stated", "rows").apart(sfumato.Histogram("age", epsilon=1))
    assert found == [
        "step 1: the first table asked for laplace noise of scale 1 on a table of shape (240,), the neighbour asks for "
        "laplace noise of scale 1 on a table of shape (241,)"
    ]


def test_an_error_on_one_side_alone_is_found(monkeypatch, setting):
    true_run = sfumato.Histogram.run

    def failing(self: Any, table: Table, *arguments: Any) -> Output:
        if table.count_rows() > ROWS:
            raise TableError("too many rows", next_step="none")
        return true_run(self, table, *arguments)

    monkeypatch.setattr(sfumato.Histogram, "run", failing)
    found = setting("stated", "rows").apart(sfumato.Histogram("age", epsilon=1))
    assert len(found) == 1
    assert found[0].startswith("a result; on the neighbour TableError")


def test_a_method_that_no_case_fits_is_told_by_name(monkeypatch):
    monkeypatch.setitem(FORMAL, "histogram", dataclasses.replace(FORMAL["histogram"], cls=object))
    with pytest.raises(AssertionError, match="the example of histogram does not fit"):
        example("histogram", stated("rows", Path()))
