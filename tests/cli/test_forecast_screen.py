"""What a custodian sees around a forecast, and the stop where noise would drown the rows: before anything is spent."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import sfumato
from sfumato import AIM, Ledger, Schema
from sfumato.cli.console import Console
from sfumato.cli.release.screen import ask_row_count
from sfumato.core.forecast import ColumnForecast, Forecast
from sfumato.core.forecast_checks import NOTE
from sfumato.errors import OverwhelmedError, PlanError
from sfumato.evaluate import forecast as home

SCHEMA = """
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [0, 19]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
ROWS, NEEDED = 437, 1000
ASKED = ("--schema", "s.toml", "--epsilon", "1")
RELEASE = ("release", "p.csv", *ASKED, "--seed", "1")


def foretold(plan, schema, method, rows):
    """Return a forecast that follows from the number of rows alone: fewer than 1,000 of them drown."""
    drowned = rows is not None and rows < NEEDED
    verdict = "of use from about 1,000 rows on" if rows is None else f"{'noise' if drowned else 'good'} at {rows:,}"
    errors = dict.fromkeys(
        ("tvd_1_q16", "tvd_2_q16", "share_error", "mean_error_sd", "mean_error_range", "median_error_range")
    )
    columns = tuple(ColumnForecast(column.name, 0.1, 0.1, drowned=drowned) for column in schema)
    needed = (("single columns", NEEDED),)
    return Forecast(
        method=method.name,
        rows=rows,
        **errors,
        smallest_relation=None,
        columns=columns,
        rows_needed=needed,
        advice=(),
        verdict=verdict,
        overwhelmed=drowned,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(home, "forecast", foretold)
    monkeypatch.setattr(Forecast, "sentences", lambda self, advice=True: (f"verdict: {self.verdict}", "sentence two"))
    Path("s.toml").write_text(SCHEMA)
    Path("p.csv").write_text("age,sex\n" + "".join(f"{i % 20},{'fm'[i % 3 > 0]}\n" for i in range(ROWS)))
    Ledger("L").open_table("people", epsilon=5, delta="1e-6")
    return tmp_path


def nothing_happened() -> bool:
    return Ledger("L").history() == () and not Path("b").exists()


def test_a_plan_shows_the_verdict_first_the_cost_next_and_the_stages_last(folder, sfumato_cli):
    code, out, _ = sfumato_cli("plan", *ASKED, "--about-rows", "5000")
    places = [out.index(words) for words in ("verdict: good at 5,000", "sentence two", "cost:", "noise ±")]
    assert code == 0
    assert places == sorted(places)
    assert "joint" not in out
    body = json.loads(sfumato_cli("plan", *ASKED, "--about-rows", "5000", "--json")[1])
    assert (body["forecast"]["verdict"], body["forecast"]["rows"]) == ("good at 5,000", 5000)
    assert json.loads(sfumato_cli("plan", *ASKED, "--json")[1])["forecast"]["rows"] is None


def test_a_plan_fits_a_narrow_terminal(folder, sfumato_cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = sfumato_cli("plan", *ASKED)[1]
    table = [line for line in out.splitlines() if line.startswith("│")]
    assert all(line.split("│")[2].strip() for line in table), "no stage goes over two lines"
    assert len(table) <= 6


def test_a_release_that_noise_would_drown_stops_before_anything_is_spent(folder, sfumato_cli):
    code, out, err = sfumato_cli(*RELEASE, "--ledger", "L", "--out", "b", "--about-rows", "500")
    assert (code, out) == (2, "")
    assert err.startswith("OverwhelmedError: the noise of this release is comparable to the rows of table 'people'")
    assert "noise at 500" in err
    assert "--anyway" in err
    assert str(ROWS) not in err, "how many rows there are is not printed"
    assert nothing_happened()


def test_whether_there_is_a_bundle_does_not_depend_on_the_true_number_of_rows(folder, sfumato_cli):
    for rows, place in ((ROWS, "b"), (1, "c")):
        Path("p.csv").write_text("".join(Path("p.csv").read_text().splitlines(keepends=True)[: rows + 1]))
        code, out, _ = sfumato_cli(*RELEASE, "--no-ledger", "--out", place)
        assert (code in (0, 3), "of use from about 1,000 rows on" in out, Path(place).exists()) == (True, True, True)


def test_somebody_at_a_terminal_is_asked_how_many_rows_there_are(folder, monkeypatch):
    table = sfumato.read("p.csv", Schema.load("s.toml"))
    planned = sfumato.plan(table, AIM(epsilon=1))
    monkeypatch.setattr("sys.stdin", Answers("many\n500\n\n"))
    assert (ask_row_count(Console(), planned), ask_row_count(Console(), planned)) == (500, None)
    assert ask_row_count(Console(json=True), planned) is None
    assert ask_row_count(Console(), sfumato.plan(table, AIM(epsilon=1), about_rows=9)) is None


class Answers(io.StringIO):
    """Somebody who types."""

    def isatty(self):
        return True


def test_anyway_releases_it(folder, sfumato_cli):
    code, out, _ = sfumato_cli(*RELEASE, "--ledger", "L", "--out", "b", "--anyway")
    assert code == 3 or code == 0
    assert Path("b/report.html").exists()
    assert len(Ledger("L").history()) == 1
    assert NOTE not in out, "no number of rows is public, so no file says that there are few"


def test_what_was_said_decides_and_enters_no_mechanism(folder, sfumato_cli):
    for place, said in {"b": "5000", "c": "100000"}.items():
        code, out, _ = sfumato_cli(*RELEASE, "--no-ledger", "--out", place, "--about-rows", said)
        assert (code, f"expected:  good at {int(said):,}" in out) == (0, True)
    assert Path("b/data.parquet").read_bytes() == Path("c/data.parquet").read_bytes()
    assert "100,000" not in Path("c/release.json").read_text() + Path("c/report.html").read_text()
    assert "100000" not in Path("c/release.json").read_text()


def test_a_public_number_of_rows_decides(folder, sfumato_cli):
    public = SCHEMA.replace('"people"\n', f'"people"\nadjacency = "replace"\nrows = {ROWS}\n')
    Path("s.toml").write_text(public)
    code, _, err = sfumato_cli(*RELEASE, "--no-ledger", "--out", "b")
    assert (code, f"noise at {ROWS}" in err, Path("b").exists()) == (2, True, False)


def test_the_screen_of_a_release_is_lean_and_ends_with_what_to_do_next(folder, sfumato_cli):
    out = sfumato_cli(*RELEASE, "--ledger", "L", "--out", "b", "--anyway")[1]
    assert "model settled" not in out
    assert "part of the cost" not in out
    words = ("released:", "What is promised", "verdict:   verdict: ", "bundle:", "report:", "next: sfumato compare")
    places = [out.index(each) for each in words]
    assert places == sorted(places)
    for verb in ("compare", "uncertainty", "verify"):
        assert f"next: sfumato {verb} {Path('b').absolute()}" in out
    assert "--statistic 'mean age'" in out
    verbose = sfumato_cli(*RELEASE, "--no-ledger", "--out", "c", "--anyway", "--verbose")[1]
    assert "model settled: " in verbose


def test_a_method_without_a_forecast_is_neither_told_nor_stopped(folder, sfumato_cli, monkeypatch):
    monkeypatch.setattr(home, "forecast", lambda *_: None)
    code, out, _ = sfumato_cli(*RELEASE, "--no-ledger", "--out", "b")
    assert (code, "expected:" in out, "verdict:" in out) == (0, False, False)
    assert json.loads(sfumato_cli("plan", *ASKED, "--json")[1])["forecast"] is None


def test_the_library_notes_it_where_it_is_public_and_never_stops(folder):
    table = sfumato.read("p.csv", Schema.load("s.toml"))
    silent = sfumato.release(table, AIM(epsilon=1), ledger=False, seed=1)
    told = sfumato.release(table, AIM(epsilon=1), ledger=False, seed=1, about_rows=500)
    assert NOTE not in silent.notes
    assert NOTE in told.notes
    assert told.data.equals(silent.data)


def test_synthesize_stops_unless_it_is_wanted_anyway(folder, sfumato_cli):
    with pytest.raises(OverwhelmedError):
        sfumato.synthesize("p.csv", ledger="L", seed=1, name="people")
    assert nothing_happened()
    made = sfumato.synthesize("p.csv", ledger=False, seed=1, name="people", anyway=True)
    assert made.data.shape[1] == 2
    assert sfumato.synthesize("p.csv", ledger=False, seed=1, about_rows=5000).data.shape[1] == 2
    code, _, err = sfumato_cli("synthesize", "p.csv", "--ledger", "L", "--name", "people", "--seed", "1", "--out", "b")
    assert (code, "OverwhelmedError" in err, nothing_happened()) == (2, True, True)
    wanted = ("synthesize", "p.csv", "--no-ledger", "--seed", "1", "--out", "b", "--anyway")
    assert sfumato_cli(*wanted)[0] == 0


def test_a_number_of_rows_that_is_none_is_refused(folder, sfumato_cli):
    with pytest.raises(PlanError, match="about_rows"):
        sfumato.plan(Schema.load("s.toml"), AIM(epsilon=1), about_rows=-3)
    assert sfumato_cli("plan", *ASKED, "--about-rows", "0")[0] == 2
