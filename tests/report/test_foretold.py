"""The forecast of what was released: public facts, at the number of rows that the release tells itself."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato
from sfumato import AIM, Schema
from sfumato.bundle import description
from sfumato.bundle.description import replanned_forecast
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT
from sfumato.bundle.verify import verify_bundle
from sfumato.core.forecast import ColumnForecast, Forecast
from sfumato.core.forecast_checks import public_row_count
from sfumato.evaluate import forecast as home
from sfumato.report.texts.summary import quality_lines

SCHEMA = Schema.parse("""
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [0, 19]
[columns.sex]
kind = "category"
values = ["f", "m"]
""")
FRAME = pd.DataFrame({"age": [i % 20 for i in range(600)], "sex": ["fm"[i % 3 > 0] for i in range(600)]})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    made = sfumato.release(sfumato.read(FRAME, SCHEMA), AIM(epsilon=1), rows=50, ledger=False, seed=1)
    return made.save(tmp_path_factory.mktemp("expected") / "bundle")


@pytest.fixture(autouse=True)
def fresh():
    """Let each test plan anew: the forecast of a release is kept, and these tests put others in its place."""
    description._foreseen.cache_clear()
    yield
    description._foreseen.cache_clear()


@pytest.fixture
def document(bundle) -> ReleaseDocument:
    return ReleaseDocument.from_json((bundle / DOCUMENT).read_text())


def known(_plan, _schema, method, rows):
    """Return a forecast of known numbers for any number of rows."""
    columns = (ColumnForecast("age", 0.1, 0.1), ColumnForecast("sex", 0.1, 0.1, drowned=True))
    errors = (0.0731, 0.21, 0.0191, 0.113, 0.0142, 0.0068, 0.57)
    return Forecast(method.name, rows, *errors, columns, (), (), "good for x; not for y", False)


def test_the_page_says_it_at_the_number_of_rows_that_the_release_tells(document, monkeypatch):
    monkeypatch.setattr(home, "forecast", known)
    forecast = replanned_forecast(document, SCHEMA)
    assert forecast.rows == round(document.statistics["noisy_total"]), (
        "not the 50 that were asked for, nor the true 600"
    )
    good = quality_lines(forecast)
    assert f"about {forecast.rows} rows" in good.basis
    assert good.verdict == "Expected to be good in part."
    assert [tuple(line) for line in good.lines] == [
        ("1.9 percentage points", "expected error of a share of rows"),
        ("0.11 standard deviations", "expected error of a mean (1.4 % of the public range)"),
        ("7.3 % of the rows", "land in the wrong cell of a single column"),
        ("21 % of the rows", "land in the wrong cell of a table of two columns"),
        ("0.57", "weakest correlation (or Cramer's V) that can be seen"),
        ("1 of 2 columns", "tells nothing: sex"),
    ]


def test_the_page_shows_it_and_verify_draws_the_same_page(bundle):
    assert "What it may be used for, and what not" in (bundle / "report.html").read_text()
    assert verify_bundle(bundle).ok


def test_another_page_does_not_verify(bundle, monkeypatch):
    monkeypatch.setattr(home, "forecast", known)
    assert "report.html is not the page" in verify_bundle(bundle).problems[0]


def test_what_has_no_forecast_has_no_card(document, monkeypatch):
    monkeypatch.setattr(home, "forecast", lambda *_: None)
    assert replanned_forecast(document, SCHEMA) is None
    monkeypatch.setattr(home, "forecast", known)
    own = document.model_copy(update={"method": document.method.model_copy(update={"module": "mine"})})
    assert replanned_forecast(own, SCHEMA) is None, "of a method of one's own nobody knows"
    exposed = document.model_copy(update={"method": document.method.model_copy(update={"formal": False})})
    assert replanned_forecast(exposed, SCHEMA) is None


def test_a_release_that_is_paid_for_is_not_lost_over_a_forecast(document, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(home, "forecast", broken)
    assert replanned_forecast(document, SCHEMA) is None


@pytest.mark.parametrize(
    ("stated", "statistics", "asked", "made", "rows"),
    [
        (700, {"noisy_total": 650.0}, None, 650, 700),
        (None, {"noisy_total": 650.4}, 50, 50, 650),
        (None, {"noisy_total": -3.0}, None, 1, 1),
        (None, {}, None, 640, 640),
        (None, {}, 50, 50, None),
        (None, {}, None, None, None),
    ],
)
def test_rows_are_those_that_are_public(stated, statistics, asked, made, rows):
    assert public_row_count(stated, statistics, asked, made) == rows
