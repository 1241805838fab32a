from __future__ import annotations

import dataclasses
import html
import math
import re
import stat

import numpy as np
import pytest

from report.comparisons import HOSTILE, comparison
from report.test_report import Page
from sfumato.errors import BundleError
from sfumato.report.charts.axis import ticks
from sfumato.report.charts.heatmap import HeatmapAxis, heatmap
from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.comparison_cards import column_cards, measure_rows, nearness
from sfumato.report.comparison_page import comparison_page, equivalent_rows_text

LARGEST_PAGE = 5_000_000


@pytest.fixture(scope="module")
def found():
    return comparison()


@pytest.fixture(scope="module")
def page(found):
    return comparison_page(found)


def test_the_page_is_one_file_that_loads_nothing(page):
    read = Page(page)
    assert read.values("src") == []
    assert {link[0] for link in read.values("href")} == {"#", "d"} and "data:," in read.values("href")
    assert not [tag for tag, _ in read.elements if tag in ("img", "iframe", "object", "embed", "base", "form", "link ")]
    policy = next(value for value in read.values("content") if "default-src" in value)
    assert "default-src 'none'" in policy and policy.count("'sha256-") == 1 and "script-src 'unsafe" not in policy
    assert not re.search(r"https?://|@import|url\(", page)
    assert page.count("<style>") == 1


def test_the_banner_comes_first_and_then_the_verdict(page, found):
    text = Page(page).text
    places = [
        text.index(words)
        for words in (
            "Confidential: for the custodian's eyes. Do not publish.",
            "no part of a bundle and must never become one",
            found.grade,
            found.verdict,
            "For single columns as near as a random sample of 2,300 real rows would be.",
            "Every measure beside its yardstick",
            "What is worst",
            "Every column",
            "Strong relations, and the worst",
            "Predictions Models",
        )
    ]
    assert places == sorted(places)
    assert '<div class="banner danger" role="alert">' in page


def test_every_measure_stands_beside_its_yardstick(page, found):
    text = Page(page).text
    for measure in found.measures.values():
        assert measure.words in text and measure.name in text
    assert "0.061 0.048 to 0.079 0.012 0.009 to 0.016" in text
    rows = {row.name: row for row in measure_rows(found)}
    assert rows["Single columns"].standing == "5.1 times a second real sample"
    assert (rows["Share of skill kept"].standing, rows["Share of skill kept"].nearness) == (
        "85 % of a second real sample",
        "middling",
    )
    assert rows["Broken rules"].standing == "as good as a second real sample"


def test_every_column_and_relation_is_there_with_a_text_for_its_picture(page, found):
    read = Page(page)
    titles = re.findall(r'<article id="column-\d+"(?: class="tall")? data-name="([^"]*)"', page)
    assert [html.unescape(title) for title in titles] == [column.name for column in found.columns]
    assert len(re.findall(r'<article id="pair-\d+"', page)) == len(found.pairs)
    pictures = [attributes for tag, attributes in read.elements if tag == "svg"]
    numbers = sum(column.edges is not None for column in found.columns)
    maps = 2 * sum(bool(pair.true_table) for pair in found.pairs)
    expected = len(found.measures) + numbers + 1 + len(found.pairs) + maps + len(found.predictions)
    assert len(pictures) == expected
    assert all(each["role"] == "img" and len(each["aria-label"] or "") > 20 for each in pictures)
    assert "mean 1234 1300" in read.text and "5 % lie below 11 9" in read.text and "missing 10.0 % 5.0 %" in read.text
    ids = read.values("id")
    assert {link[1:] for link in read.values("href") if link[0] == "#"} <= set(ids) and len(ids) == len(set(ids))


def test_names_and_levels_are_text_and_nothing_else(page):
    assert HOSTILE not in page and html.escape(HOSTILE) in page
    made_up = comparison(3, 2)
    column = dataclasses.replace(
        made_up.columns[2], labels=('"><img src=x onerror=alert(1)>', "</style>", "b", "missing")
    )
    wrong = dataclasses.replace(
        made_up, columns=(column,), table="</title><b>", grade="<i>", verdict="<u>", notes=("<s>",)
    )
    read = Page(comparison_page(wrong))
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"img", "u", "s"} and '"><img src=x onerror=alert(1)>' in read.text
    assert sum(tag == "script" for tag, _ in read.elements) == 1


def test_missing_values_stand_apart_and_many_levels_are_cut_to_the_largest():
    cards = {card.name: card for card in column_cards(comparison())}
    assert cards["income"].missing.true == "10.0 %" and cards["age"].missing is None
    assert [bar.label[:7] for bar in cards["reason"].bars] == ["level 0", "level 1", "level 2"]
    many = cards["job"]
    assert len(many.bars) == 12 and many.more == 18 and many.values is not None and len(many.values.rows) == 31
    assert many.values.rows[-1] == ("missing", "10.0 %", "5.0 %")


def test_equivalent_rows_are_rounded_and_never_promise_more_than_the_table():
    made_up = comparison()

    def said(rows: float):
        return equivalent_rows_text(dataclasses.replace(made_up, equivalent_rows={"single": rows}), "single")

    assert said(2347.0).number == "2,300" and said(4.0).number == "under 10"
    assert said(math.inf).number == said(5960.0).number == "5,960 or more"
    assert said(math.nan).number == "not known"
    assert nearness(0.0, 0.0)[0] == "near" and nearness(0.1, 0.0)[0] == "middling" and nearness(0.4, 0.0)[0] == "far"


def test_what_could_not_be_measured_does_not_stop_the_page():
    made_up = comparison(2, 1)
    measure = dataclasses.replace(made_up.measures["tvd_1_q16"], value=math.nan, low=math.nan, high=math.inf)
    pair = dataclasses.replace(made_up.pairs[0], true=math.nan, synthetic=math.nan, true_table=(), synthetic_table=())
    bare = dataclasses.replace(
        made_up, measures={"tvd_1_q16": measure}, pairs=(pair,), predictions={}, equivalent_rows={}, worst_columns=()
    )
    text = Page(comparison_page(bare)).text
    assert "none none to unbounded" in text and "No column stands out." in text and not re.search(r"\bnan\b", text)
    assert "No two columns have a strong relation." in Page(comparison_page(dataclasses.replace(bare, pairs=()))).text


def test_an_overlay_keeps_the_rows_of_unequal_cells_and_of_single_values():
    """Cells without width hold a single value; spread over an even grid, no row is lost and none moves far."""
    edges = np.array([0.0, 0.0, 1.0, 10.0, 100.0])
    even = HistogramBins(edges, np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])).even()
    assert np.ptp(np.diff(even.edges)) < 1e-9 and even.true is not None
    assert even.true.sum() == pytest.approx(1) and even.released.sum() == pytest.approx(1)
    first = even.edges[1]
    assert even.true[0] == pytest.approx(0.4 + 0.3 + 0.2 * (first - 1) / 9)


def test_ends_without_rows_are_left_out_and_a_single_high_cell_is_cut():
    sides = np.array([0.1] * 10 + [0.0] * 90), np.array([0.0] * 40 + [0.1] * 10 + [0.0] * 50)
    picture = str(histogram(HistogramBins(np.arange(101.0), *sides), "number", "words"))
    assert re.findall(r"<text[^>]*>([^<]*)", picture)[-6:] == ["0", "10", "20", "30", "40", "50"]
    high = np.array([0.5, 0.2, 0.2, 0.1, 0]), np.array([0.9, 0.05, 0.05, 0, 0])
    spike = str(histogram(HistogramBins(np.arange(6.0), *high), "integer", "words"))
    assert "cut: true 90.0 %, here 50.0 %" in spike


@pytest.mark.parametrize(
    ("low", "high", "kind", "words"),
    [
        (0, 1, "number", ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0, 6, "integer", ["0", "2", "4", "6"]),
        (-3e6, 3e6, "number", ["-2M", "0", "2M"]),
        (1e6, 1e6 + 10, "integer", ["1,000,000", "1,000,010"]),
        (7305, 19723, "date", ["1990", "2000", "2010", "2020"]),
        (19000, 19030, "date", ["2022-01-08", "2022-02-07"]),
        (5, 5, "number", ["5"]),
    ],
)
def test_ticks_are_round_few_and_told_apart(low, high, kind, words):
    assert [word for _, word in ticks(low, high, kind)] == words


def test_a_heat_map_is_darkest_where_most_rows_are_and_upside_down_for_numbers():
    table = np.array([[0.0, 0.5], [0.0, 0.125]])
    levels, numbers = HeatmapAxis("a", ("x", "y")), HeatmapAxis("a", edges=(0.0, 1.0, 9.0))
    below, above = (str(heatmap(table, side, levels, "words", top=0.5)) for side in (levels, numbers))
    assert (
        '<path fill-opacity="1" d="M1 0h1v1h-1z"/>' in below and '<path fill-opacity="0.5" d="M1 1h1v1h-1z"/>' in below
    )
    assert '<path fill-opacity="1" d="M1 1h1v1h-1z"/>' in above


def test_200_columns_stay_light():
    text = comparison_page(comparison(200, 200))
    assert len(text.encode()) < LARGEST_PAGE
    assert len(re.findall(r'<article id="column-', text)) == 200


def test_the_file_is_for_its_owner_alone_and_never_in_a_bundle(tmp_path, page, found):
    written = found.save(tmp_path / "comparison.html")
    assert written.read_text(encoding="utf-8") == page
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    inside = tmp_path / "bundle" / "deep"
    inside.mkdir(parents=True)
    (tmp_path / "bundle" / "release.json").write_text("{}")
    (tmp_path / "link").symlink_to(inside)
    refused = {
        "exists already": written,
        "lies inside the bundle": inside / "c.html",
        "a comparison holds confidential values": tmp_path / "link" / "c.html",
        "there is no folder": tmp_path / "nowhere" / "c.html",
        "is a folder": tmp_path,
        "must be a path": 7,
    }
    for words, place in refused.items():
        with pytest.raises(BundleError, match=words) as error:
            found.save(place)
        assert error.value.next_step
    assert not list(inside.iterdir()) and not (tmp_path / "nowhere").exists()
