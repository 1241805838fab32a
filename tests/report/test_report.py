from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import vl_convert

import sfumato
from sfumato import AIM, Contingency, Histogram, Ledger, Marginals, Schema
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.report import charts
from sfumato.report.charts import figures
from sfumato.report.charts.figures import chart_sets, one_way, three_way, two_way
from sfumato.report.charts.views import Spread, View
from sfumato.report.document import ReleaseDocument, ReleasedTable
from sfumato.report.release_page import public_page
from sfumato.report.verify import verify_bundle
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
    """What matters of a page: attributes, element names, the text that people read, and the embedded charts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())
        charts_text = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)
        self.charts = json.loads(charts_text.group(1)) if charts_text else {"charts": {}}

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
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
    return public_page(ReleaseDocument.from_release(made, files, tables), made.schema, made.tables)


def made_from(counts: dict[str, np.ndarray], schema: Schema, columns, epsilon=1e4) -> sfumato.Release:
    return sfumato.release(sfumato.read(pd.DataFrame(counts), schema), Contingency(columns, epsilon), allow_weak=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_page_is_one_file_that_loads_nothing(table, method):
    text = page_of(sfumato.release(table, method))
    page = Page(text)
    assert len(text.encode()) < LARGEST_PAGE
    assert page.values("src") == []
    assert page.values("href") == ["data:,"]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "embed", "base", "form")]
    assert "default-src 'none'" in page.values("content")[1]
    without_library = re.sub(r'<script type="module">const.*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"https?://|@import|url\(", without_library)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_page_follows_from_the_public_files_alone(table, method, tmp_path):
    folder = sfumato.release(table, method).save(tmp_path / "b")
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    tables = {listed.columns: pq.ParquetFile(folder / listed.parquet).read() for listed in document.tables}
    assert public_page(document, Schema.load(folder / "schema.toml"), tables) == (folder / "report.html").read_text()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_chart_is_drawn_and_described(table, method):
    page = Page(page_of(sfumato.release(table, method)))
    places = {attributes["id"]: attributes for _, attributes in page.elements if attributes.get("class") == "chart"}
    assert set(places) == set(page.charts["charts"]) != set()
    for place in places.values():
        assert place["role"] == "img"
        assert len(place["aria-label"] or "") > 20
    for spec in page.charts["charts"].values():
        svg = vl_convert.vegalite_to_svg(charts.static_spec(spec))
        assert svg.count("<path") > 2
    assert "noscript" in {tag for tag, _ in page.elements}
    assert sum(tag == "details" for tag, _ in page.elements) >= len({key.split("-")[1] for key in places})


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
    assert "Not drawn: 1 more column;" in text


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
        specs = Page(path.read_text()).charts["charts"]
        bars = next(iter(specs["chart-1-1"]["datasets"].values()))
        assert {row["x"]: row["t"] for row in bars} == {"x": 31, "y": 12}
        assert any(len(spec.get("layer", [])) == 3 for spec in specs.values())
    assert "31" in Page(path.read_text()).text


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
    assert sum(tag == "script" for tag, _ in page.elements) == 3
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
    axis = charts.axis_of(schema["size"])
    assert axis.labels == ("small", "medium", "large", "missing", "(missing)")
    svg = vl_convert.vegalite_to_svg(charts.static_spec(charts.bars(axis, np.arange(5), 1.0)))
    shown = [label for label in re.findall(r"<text[^>]*>([^<]+)</text>", svg) if label in axis.labels]
    assert tuple(shown) == axis.labels


def test_noise_bands_hold_95_percent_of_the_noise():
    k = np.arange(-4000, 4001)
    for kind, scale, weight in (
        ("discrete-laplace", 12.5, lambda k, s: np.exp(-np.abs(k) / s)),
        ("discrete-gaussian", 12.5, lambda k, s: np.exp(-(k**2) / (2 * s * s))),
    ):
        law = weight(k, scale) / weight(k, scale).sum()
        inside = law[np.abs(k) <= Spread(kind, scale).half_width()].sum()
        assert 0.94 < inside < 0.96
    assert Spread("discrete-gaussian", 2.0).half_width(9) == pytest.approx(3 * 3.92)
    assert Spread("discrete-laplace", 2.0).half_width(9) == pytest.approx(1.96 * 2 * math.sqrt(18))


def _view(*shape: int, ordered: bool = True, missing: bool = False, truth: bool = False) -> View:
    axes = tuple(charts.Axis(f"c{i}", tuple(f"l{j}" for j in range(n)), ordered, missing) for i, n in enumerate(shape))
    counts = np.arange(math.prod(shape)).reshape(shape)
    return View(tuple(axis.title for axis in axes), axes, counts, 2.0, counts + 1 if truth else None)


def _marks(spec) -> list[dict]:
    """The rows of a chart; the cells of a heat map with the labels that the chart looks up."""
    values = spec["datasets"][(spec.get("data") or spec["layer"][0]["data"])["name"]]
    if isinstance(values[0], dict):
        return values
    lookups = [step["from"]["data"]["name"] for step in spec["transform"] if "lookup" in step]
    across, down = (spec["datasets"][name] for name in lookups)
    return [
        {"x": across[i % len(across)]["x"], "y": down[i // len(across)]["y"], "n": value}
        for i, value in enumerate(values)
    ]


def test_long_axes_are_shortened_and_say_so():
    figure = one_way(_view(1001, missing=True))
    rows = _marks(figure.panels[0].spec)
    assert len(rows) == 78
    assert (rows[0]["x"], rows[-1]["x"]) == ("l0 to l12", "l1000")
    assert sum(row["n"] for row in rows) == 1000 * 1001 // 2
    assert "sums of 13 neighbouring cells" in figure.notes[0]
    assert (len(figure.rows), figure.left_out) == (150, 851)
    figure = one_way(_view(10_000, ordered=False))
    assert [row["n"] for row in _marks(figure.panels[0].spec)] == list(range(9960, 10_000))
    assert "40 largest of 10,000" in figure.notes[0]


def test_tables_of_three_columns_are_small_multiples():
    figure = three_way(_view(4, 3, 5, truth=True))
    assert [panel.title for panel in figure.panels][:2] == ["c1: l0", "c1: l0, true (confidential)"]
    assert len(figure.panels) == 6
    released, true = (_marks(panel.spec) for panel in figure.panels[2:4])
    assert len(released) == 20
    assert released[0] == {"x": "l0", "y": "l0", "n": 5}
    assert [row["n"] + 1 for row in released] == [row["n"] for row in true]


def test_heat_maps_run_along_their_longer_axis():
    wide, tall = (two_way(_view(*shape)).panels[0].spec for shape in ((3, 9), (9, 3)))
    assert wide["encoding"]["x"]["axis"]["title"] == "c1"
    assert tall["encoding"]["x"]["axis"]["title"] == "c0"
    cell = next(row for row in _marks(tall) if (row["x"], row["y"]) == ("l7", "l2"))
    assert cell["n"] == 7 * 3 + 2


def test_a_drawn_cell_stands_at_its_labels():
    across, down = charts.Axis("a", ("p", "q", "r"), False), charts.Axis("d", ("u", "v"), False)
    counts = np.array([[0, 0, 0], [0, 0, 9]])
    spec = charts.heat(across, down, counts, 9, legend=False, palette=charts.PAPER)
    svg = vl_convert.vegalite_to_svg(charts.static_spec(spec))
    cells = re.findall(r'd="M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)[^>]*opacity="([\d.]+)"', svg)
    shades = {(round(float(x) / float(w)), round(float(y) / float(h))): float(o) for x, y, w, h, o in cells if w != h}
    assert shades == {(i, j): 1.0 if (i, j) == (2, 1) else 0.04 for i in range(3) for j in range(2)}


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
    assert len(page.charts["charts"]) == 2
    assert "6,000 cells, too many to draw" in page.text
    assert {row["n"] for row in _marks(page.charts["charts"]["chart-2-1"])} == {100}


def test_only_so_many_tables_are_drawn(table, schema):
    names = schema.releasable
    pairs = [[a, b] for i, a in enumerate(names[2:6]) for b in names[6:]] + [[name] for name in names]
    page = Page(page_of(sfumato.release(table, Contingency(pairs, 1.0))))
    drawn = {key.split("-")[1] for key in page.charts["charts"]}
    assert len(drawn) == figures.MOST_FIGURES
    assert f"Not drawn: {len(pairs) - figures.MOST_FIGURES} more tables" in page.text


def test_pairs_of_the_model_come_first_among_the_charts(table):
    made = sfumato.release(table, Marginals(3.0), rows=50)
    document = ReleaseDocument.from_release(made)
    sets = chart_sets(document, made.schema, next(iter(made.tables.values())).column_names)
    assert [len(names) for names in sets] == [1] * 12 + [2] * 3
    assert sets[-1] in {tuple(edge) for edge in made.statistics["tree"]}


def drawn(page, folder) -> subprocess.CompletedProcess[str]:
    """What headless Chromium makes of a page: its elements, and what it logged."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here: install it to see the page drawn")
    quiet = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update"
    options = [*quiet.split(), "disable-sync", "enable-logging=stderr", "virtual-time-budget=20000", "dump-dom"]
    command = [
        chromium,
        *(f"--{option}" for option in (*options, f"user-data-dir={folder / 'profile'}")),
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.browser
@pytest.mark.parametrize("method", [METHODS[1], METHODS[3]], ids=lambda method: method.name)
def test_a_browser_draws_every_chart(table, method, tmp_path):
    folder = sfumato.release(table, method).save(tmp_path / "b")
    done = drawn(folder / "report.html", tmp_path)
    charts_there = len(Page((folder / "report.html").read_text()).charts["charts"])
    assert len(re.findall(r'<svg[^>]*class="marks"', done.stdout)) == charts_there > 3
    assert "CONSOLE" not in done.stderr, done.stderr
    assert '<details class="values">' in done.stdout


HOSTILE = ['a\\"b', "a\\", "a\nb", "a\u2028b", "constructor", "toString", '"}+warn(1)+{"', "__proto__", "</script><b>"]


def hostile_schema() -> Schema:
    """Columns and levels that were read as code, or stopped the drawing, where nobody escaped them."""
    columns = [Column(name, "category", values=("u", "v")) for name in HOSTILE]
    return Schema("hostile", (*columns, Column("levels", "category", values=(*HOSTILE, "hasOwnProperty"))))


@pytest.mark.browser
def test_hostile_names_and_levels_blank_no_chart(tmp_path):
    schema = hostile_schema()
    frame = pd.DataFrame({name: ["u", "v"] for name in HOSTILE} | {"levels": HOSTILE[:2]})
    sets = [[name] for name in schema.names] + [["levels", HOSTILE[0]]]
    folder = sfumato.release(sfumato.read(frame, schema), Contingency(sets, 1.0)).save(tmp_path / "b")
    assert verify_bundle(folder)
    done = drawn(folder / "report.html", tmp_path)
    assert len(re.findall(r'<svg[^>]*class="marks"', done.stdout)) == len(sets)
    assert "CONSOLE" not in done.stderr, done.stderr
    assert 'class="undrawn"' not in done.stdout


@pytest.mark.browser
def test_a_chart_that_fails_says_so_and_no_foreign_script_runs(table, tmp_path):
    text = page_of(sfumato.release(table, Contingency([["sex"], ["region"]], 1.0)))
    broken = text.replace('"title":"sex","type":"nominal"', '"title":"sex\\\\","type":"nominal"')
    assert broken != text
    evil = '<script>document.title = "taken"</script><img src="x" onerror="document.title = 1">'
    (tmp_path / "page.html").write_text(broken.replace("</main>", f"{evil}</main>"))
    done = drawn(tmp_path / "page.html", tmp_path)
    assert done.stdout.count('<p class="undrawn">This chart could not be drawn.') == 1
    assert len(re.findall(r'<svg[^>]*class="marks"', done.stdout)) == 1
    assert "<title>households: contingency release</title>" in done.stdout
    policy = Page(text).values("content")[1]
    assert "unsafe-eval" not in policy and policy.count("'sha256-") == 2
    assert "script-src 'unsafe-inline'" not in policy
