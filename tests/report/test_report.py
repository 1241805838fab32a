from __future__ import annotations

import dataclasses
import json
import math
import re
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import AIM, Contingency, Histogram, Ledger, Marginals, Schema
from sfumato.bundle.document import ReleaseDocument, ReleasedTable
from sfumato.bundle.verify import verify_bundle
from sfumato.core.plan import StageNoise
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.report.charts.heatmap import HeatmapAxis, heatmap
from sfumato.report.release_page.data import MOST_TABLES, data_section
from sfumato.report.release_page.marginals import ReleasedMarginal, cell_labels, map_card, marginal_card
from sfumato.report.release_page.page import public_report
from sfumato.schema.column import Column

LARGEST_PAGE = 1_500_000
METHODS = [
    Histogram("age", 1.0),
    Contingency([["hours"], ["age", "sex"], ["region", "education", "sex"]], 1.0),
    Marginals(2.0),
    AIM(2.0, workload="2-way"),
]


@pytest.fixture(scope="session")
def table(frame, schema):
    return sfumato.read(frame, schema)


class Page(HTMLParser):
    """What matters of a page: attributes, element names, the text that people read, and the pictures."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.text = " ".join("".join(self.words).split())
        self.pictures = re.findall(r'<svg[^>]*role="img"[^>]*>.*?</svg>', text, re.DOTALL)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)
        self._apart(tag)

    def _apart(self, tag):
        """Set a space between elements; a link stands inside a sentence."""
        if tag != "a":
            self.words.append(" ")

    def handle_endtag(self, tag):
        self._apart(tag)
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data):
        if not self._inside:
            self.words.append(data)

    def values(self, attribute: str) -> list[str]:
        return [value or "" for _, attributes in self.elements for key, value in attributes.items() if key == attribute]


def page_of(made: sfumato.Release, files=None) -> str:
    kind = made.method.makes
    tables = [
        ReleasedTable(
            columns=names if kind == "counts" else data.column_names,
            kind=kind,
            rows=data.num_rows,
            parquet="data.parquet",
            csv="data.csv",
        )
        for names, data in made.tables.items()
    ]
    return public_report(ReleaseDocument.from_release(made, files, tables), made.schema, made.tables)


def made_from(counts: dict[str, np.ndarray], schema: Schema, columns, epsilon=1e4) -> sfumato.Release:
    return sfumato.release(sfumato.read(pd.DataFrame(counts), schema), Contingency(columns, epsilon), allow_weak=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_page_is_one_file_that_loads_nothing(table, method):
    text = page_of(sfumato.release(table, method))
    page = Page(text)
    assert len(text.encode()) < LARGEST_PAGE
    assert page.values("src") == []
    assert {link for link in page.values("href") if link[0] != "#"} == {"data:,"}
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "embed", "base", "form")]
    assert "default-src 'none'" in page.values("content")[1]
    without_library = re.sub(r'<script type="module">const.*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"https?://|@import|url\(", without_library)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_page_follows_from_the_public_files_alone(table, method, tmp_path):
    folder = sfumato.release(table, method).save(tmp_path / "b")
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    tables = {listed.columns: pq.ParquetFile(folder / listed.parquet).read() for listed in document.tables}
    assert public_report(document, Schema.load(folder / "schema.toml"), tables) == (folder / "report.html").read_text()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_chart_is_drawn_and_described(table, method):
    page = Page(page_of(sfumato.release(table, method)))
    assert len(page.pictures) > 1 or method.name == "histogram"
    for picture in page.pictures:
        label = re.search(r'aria-label="([^"]*)"', picture)
        assert label is not None and len(label.group(1)) > 20
        assert picture.count("<path") + picture.count("<rect") > 1
    assert sum(tag == "details" for tag, _ in page.elements) > 0


def test_the_page_says_what_is_promised_and_what_it_cost(table, tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("households", epsilon=5)
    ledger.spend("households", epsilon=1)
    made = sfumato.release(table, Histogram("age", 1.5), ledger=ledger)
    text = page_of(made)
    page = Page(text)
    for line in made.guarantee.statement().splitlines():
        assert line in page.text
    assert "This release cost epsilon 1.5." in page.text
    assert "The cap of table 'households' is epsilon 5. Spent in all: 2.5. Left: 2.5." in page.text
    assert 'class="before" style="width:20.000%"' in text
    assert 'class="this" style="width:30.000%"' in text
    assert "Noise on empty cells pulls it upward" in page.text
    assert "Who may be identified?" in page.text
    assert "sfumato verify DIR --ledger LEDGER" in page.text
    unrecorded = Page(page_of(sfumato.release(table, Histogram("age", 1.5)))).text
    assert "The cost of this release was not recorded" in unrecorded


def test_the_page_tells_how_synthetic_rows_came_about(table):
    text = Page(page_of(sfumato.release(table, Marginals(3.0), rows=400))).text
    assert "400 synthetic rows with 13 columns" in text
    for words in ("Rows drawn again to keep the rules", "Pairs of columns that the model", "Estimated from the noisy"):
        assert words in text
    assert "Shares of 400 released rows in 13 columns." in text and "Not drawn" not in text


def test_banners_say_what_must_not_be_missed(table, tmp_path):
    seeded = Page(page_of(sfumato.release(table, Histogram("age", 1.0), seed=3)))
    assert "NOT FOR RELEASE Not for release (seed 3)" in seeded.text
    plain = Page(page_of(sfumato.release(table, Histogram("age", 1.0))))
    assert "NOT FOR RELEASE" not in plain.text
    assert not [attributes for _, attributes in plain.elements if "banner" in (attributes.get("class") or "")]
    made = sfumato.release(table, Histogram("age", 1.0))
    made.save(tmp_path / "b", private_report=tmp_path / "private.html", table=table)
    private = Page((tmp_path / "private.html").read_text())
    assert "Custodian's copy: contains confidential values. Do not publish." in private.text
    assert "true count" in private.text
    assert "true count" not in plain.text


class Guess(Histogram):
    """A method without a proof."""

    name: ClassVar[str] = "guess"
    formal: ClassVar[bool] = False


def test_an_exposure_is_called_one(table, tmp_path):
    made = sfumato.release(table, Histogram("age", 1.0))
    event = Event(kind="heuristic", method="guess", table="households", adjacency="add-remove")
    guarantee = Guarantee(kind="heuristic", table="households")
    made = dataclasses.replace(made, method=Guess("age", 1.0), events=(event,), guarantee=guarantee)
    text = page_of(made)
    assert '<div class="banner warning" role="alert"><strong>No formal guarantee</strong>' in text
    assert "ε =" not in text
    assert "no bound is proved" in text
    (problem,) = verify_bundle(made.save(tmp_path / "b")).problems
    assert problem == "the method 'guess' is not one of sfumato's, so nothing that it states can be checked"


def test_the_custodians_copy_sets_true_values_beside_released_ones(tmp_path):
    columns = (Column("a", "category", values=("x", "y")), Column("b", "boolean"))
    schema = Schema("t", columns)
    table = sfumato.read(pd.DataFrame({"a": ["x"] * 31 + ["y"] * 12, "b": [True] * 43}), schema)
    for number, method in enumerate((Contingency([["a"], ["a", "b"]], 0.5), Marginals(0.5))):
        path = tmp_path / f"{number}.html"
        sfumato.release(table, method, rows=20).save(tmp_path / str(number), private_report=path, table=table)
        page = Page(path.read_text())
        assert {"31", "12"} <= set(page.text.split()) if number == 0 else "31 %" not in page.text


def test_names_and_values_cannot_break_the_page(tmp_path):
    bad = "</script><script>alert(1)</script>"
    schema = Schema.parse(f"""
[table]
name = {json.dumps(bad)}
[columns.{json.dumps(bad)}]
kind = "category"
values = [{json.dumps(bad)}, "<img src=x onerror=alert(1)>", "{{{{ 7*7 }}}}"]
unit = "<b>"
""")
    made = made_from({bad: ["{{ 7*7 }}"] * 5}, schema, [bad])
    text = page_of(made)
    page = Page(text)
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert "img" not in {tag for tag, _ in page.elements}
    assert "<script>alert" not in text
    assert "{{ 7*7 }}" in page.text
    assert verify_bundle(made.save(tmp_path / "b"))


def test_axes_keep_the_order_of_the_schema_with_missing_last():
    schema = Schema.parse("""
[table]
name = "t"
[columns.size]
kind = "ordinal"
values = ["small", "medium", "large", "missing"]
missing = true
""")
    assert cell_labels(schema["size"]) == ("small", "medium", "large", "missing", "(missing)")
    card = marginal_card(1, ReleasedMarginal((schema["size"],), np.array([5, 9, 7, 2, 4]), None))
    assert [bar.label for bar in card.bars] == ["small", "medium", "large", "missing"]
    assert card.missing is not None and card.missing.released == "4", "missing stands apart"


def test_noise_bands_hold_95_percent_of_the_noise():
    k = np.arange(-4000, 4001)
    for kind, scale, weight in (
        ("discrete-laplace", 12.5, lambda k, s: np.exp(-np.abs(k) / s)),
        ("discrete-gaussian", 12.5, lambda k, s: np.exp(-(k**2) / (2 * s * s))),
    ):
        law = weight(k, scale) / weight(k, scale).sum()
        inside = law[np.abs(k) <= StageNoise(kind, scale).half_width()].sum()
        assert 0.94 < inside < 0.96
    assert StageNoise("discrete-gaussian", 2.0).half_width(9) == pytest.approx(3 * 3.92)
    assert StageNoise("discrete-laplace", 2.0).half_width(9) == pytest.approx(1.96 * 2 * math.sqrt(18))


def count_table(*columns: Column, truth: bool = False) -> ReleasedMarginal:
    shape = tuple(column.size for column in columns)
    counts = np.arange(math.prod(shape)).reshape(shape)
    return ReleasedMarginal(columns, counts, StageNoise("discrete-gaussian", 2.0), truth=counts + 1 if truth else None)


def levels(name: str, size: int) -> Column:
    return Column(name, "category", values=tuple(f"{name}{i}" for i in range(size)))


def test_long_axes_are_shortened_and_say_so():
    card = marginal_card(1, count_table(Column("c", "integer", bounds=(0, 999), bins=1000, missing=True)))
    assert str(card.picture).count("<rect") <= 120 and card.missing is not None and card.missing.released == "1,000"
    assert card.values is not None and (len(card.values.rows), card.values.left_out) == (150, 851)
    card = marginal_card(1, count_table(levels("l", 10_000)))
    assert [bar.released for bar in card.bars] == [f"{n:,}" for n in range(9988, 10_000)] and card.more == 9988


def test_tables_of_three_columns_are_small_multiples():
    card = map_card(1, count_table(levels("a", 4), levels("b", 3), levels("c", 5), truth=True))
    assert [panel.title for panel in card.panels][:2] == ["b: b0", "b: b0, true (confidential)"]
    assert len(card.panels) == 6 and [panel.true for panel in card.panels] == [False, True] * 3
    released, true = (re.findall(r'cell"[^>]*>([^<]+)<', str(panel.picture)) for panel in card.panels[2:4])
    assert len(released) == 20 and [int(word) + 1 for word in released] == [int(word) for word in true]


def test_a_map_is_turned_where_its_words_have_no_room_across():
    long = Column("c", "category", values=tuple(f"a rather long name, number {i}" for i in range(9)))
    for columns in ((levels("d", 3), long), (long, levels("d", 3))):
        picture = str(map_card(1, count_table(*columns)).panels[0].picture)
        assert "rotate" not in picture and picture.count("<title>a rather long name") == 9
        row = re.findall(r'cell"[^>]*>([^<]+)<', picture)[:3]
        assert row == (["0", "9", "18"] if columns[1] is long else ["0", "1", "2"])


def test_a_drawn_cell_stands_at_its_labels():
    counts = np.array([[0.0, 0, 0], [0, 0, 9]])
    svg = str(heatmap(counts, HeatmapAxis("d", ("u", "v")), HeatmapAxis("a", ("p", "q", "r")), "words"))
    assert re.findall(r'fill-opacity="1" d="M(\d) (\d)h1v1', svg) == [("2", "1")] and svg.count("fill-opacity") == 1
    spots = {word: (float(x), float(y)) for x, y, word in re.findall(r'x="([\d.]+)" y="([\d.]+)">([^<]+)<', svg)}
    assert spots["p"][0] < spots["q"][0] < spots["r"][0] and spots["u"][1] < spots["v"][1]


def test_large_tables_are_shown_column_by_column():
    schema = Schema.parse("""
[table]
name = "t"
[columns.a]
kind = "integer"
bounds = [0, 99]
[columns.b]
kind = "integer"
bounds = [0, 59]
""")
    values = np.arange(6000)
    made = made_from({"a": values % 100, "b": values % 60}, schema, ["a", "b"])
    page = Page(page_of(made))
    assert len(page.pictures) == 2
    assert "6,000 cells are too many to draw" in page.text
    cards = data_section(ReleaseDocument.from_release(made, {}, ()), schema, made.tables)["cards"]
    assert [card.numbers.rows[0][1] for card in cards] == ["6,000", "6,000"]
    assert {row[1] for row in cards[1].values.rows} == {"100"}


def test_only_so_many_tables_are_drawn():
    columns = [Column(f"c{i}", "boolean") for i in range(13)]
    pairs = [(a.name, b.name) for i, a in enumerate(columns) for b in columns[i + 1 :]]
    schema = Schema("t", tuple(columns))
    page = Page(page_of(made_from({column.name: [True, False] for column in columns}, schema, pairs)))
    assert len(pairs) > MOST_TABLES and len(page.pictures) == MOST_TABLES
    assert f"Not drawn: {len(pairs) - MOST_TABLES} more tables" in page.text
