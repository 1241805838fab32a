"""Sentences that depend on numbers, at their ends: epsilon, rows and columns, few and many, and no ledger."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import sfumato
from report.every_page import people_table
from report.reading import words_of
from sfumato import Ledger, Marginals, Schema
from sfumato.bundle.document import ReleaseDocument, ReleasedTable
from sfumato.papers.two_stage import TwoStageAsPublished
from sfumato.report.release_page.page import public_report
from sfumato.schema.column import Column

BROKEN = re.compile(
    r"\bnan\b|\binf\b|\bNone\b|\d[eE][-+]\d\d|\b1 (?:rows|columns|tables|pairs|cells|points)\b|\b100 % sure"
)
"""What no number may make of a sentence; powers of ten are for deltas alone, which are taken out first."""
DELTA = re.compile(r"delta(?: =)? [\d.]+e-\d+|probability of at most [\d.]+e-\d+")


def a_table(columns: int) -> sfumato.Table:
    """Return 60 rows of so many columns of two kinds."""
    generator = np.random.default_rng(2)
    names = [f"c{i}" for i in range(columns)]
    facts = [
        Column(name, "integer", bounds=(0, 9)) if i % 2 else Column(name, "category", values=("a", "b"))
        for i, name in enumerate(names)
    ]
    values = {
        name: generator.integers(0, 10, 60) if i % 2 else generator.choice(["a", "b"], 60)
        for i, name in enumerate(names)
    }
    return sfumato.read(pd.DataFrame(values), Schema("ends", tuple(facts)))


def first_screen(made: sfumato.Release, rows: int | None = None) -> str:
    """Return the words of the first screen, as if so many rows had been released."""
    data = next(iter(made.tables.values()))
    size = data.num_rows if rows is None else rows
    listed = ReleasedTable(columns=data.column_names, kind="rows", rows=size, parquet="data.parquet", csv="data.csv")
    document = ReleaseDocument.from_release(made, tables=[listed])
    if rows is not None:
        document = document.model_copy(update={"statistics": {**document.statistics, "noisy_total": rows}})
    page = words_of(public_report(document, made.schema, made.tables))
    screen = page[page.index("<main") : page.index('<h2 id="data"')]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", screen)).strip()


def require_sound(words: str) -> None:
    """Refuse words that a number has broken."""
    found = BROKEN.search(DELTA.sub("", words))
    assert found is None, words[max(0, found.start() - 80) : found.end() + 40]


@pytest.fixture(scope="module")
def narrow() -> sfumato.Table:
    return a_table(2)


@pytest.mark.parametrize("rows", [5, 5_000_000])
@pytest.mark.parametrize("epsilon", [0.01, 15])
def test_epsilon_and_rows(narrow, epsilon, rows):
    words = first_screen(sfumato.release(narrow, Marginals(epsilon), rows=20, ledger=False), rows)
    require_sound(words)
    assert f"{rows:,} synthetic rows with 2 columns." in words
    strong = "This is a strong promise" in words
    assert strong == (epsilon == 0.01) and ("stays hidden" in words) == strong
    assert ("Strong protection" in words) == strong and f"epsilon = {epsilon}" in words
    if (epsilon, rows) == (0.01, 5):
        assert "The noise is comparable to the rows." in words and "Good for" not in words
    if (epsilon, rows) == (15, 5_000_000):
        assert "Expected to be good." in words and "Single columns: their shares" in words.partition("Not for")[0]
        assert "some 1 row)" in words or "rows)" in words


def test_two_hundred_columns_are_counted_and_not_listed():
    words = first_screen(sfumato.release(a_table(200), Marginals(1.0, pairs=[]), rows=20, ledger=False))
    require_sound(words)
    assert "20 synthetic rows with 200 columns." in words and "100 numbers" in words and "and 186 more" in words
    assert len(words) < 4_000


def test_a_ledger_is_named_and_so_is_its_absence(narrow, tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("ends", epsilon=3)
    recorded = first_screen(sfumato.release(narrow, Marginals(1.0), rows=20, ledger=ledger))
    assert "of a cap of epsilon 3, 2 is left" in recorded and "no ledger" not in recorded
    without = first_screen(sfumato.release(narrow, Marginals(1.0), rows=20, ledger=False))
    assert "Its cost is in no ledger, so no cap protects the table." in without


def test_a_seeded_run_promises_nothing(narrow):
    words = first_screen(sfumato.release(narrow, Marginals(0.01), rows=20, ledger=False, seed=4))
    require_sound(words)
    assert "No promise: a test run" in words and "Anyone outside: whoever knows the seed can remove the noise" in words
    assert "Strong protection" not in words


def test_an_exposure_promises_nothing_and_has_no_epsilon():
    words = first_screen(sfumato.release(people_table(), TwoStageAsPublished("y", inputs=["a", "b"]), ledger=False))
    require_sound(words)
    assert "No formal promise" in words and "Being called anonymous or differentially private" in words
    assert "epsilon" not in words and "ε" not in words


def test_broken_sentences_are_found():
    """The mutant: words as a careless number would make them."""
    for words in ("a mean by nan", "1 rows with 2 columns", "off by 1e-05", "at most 100 % sure", "off by inf sd"):
        with pytest.raises(AssertionError):
            require_sound(words)
    require_sound("epsilon = 1 and delta = 1e-09 of 1 row")
