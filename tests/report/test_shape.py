"""The smooth shape behind noisy histograms: where it is drawn, from what, and that it is nearer the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Contingency, Histogram, Marginals, Schema
from sfumato.report.charts.figures import count_figures
from sfumato.report.charts.look import axis_of, bars
from sfumato.report.charts.shape import SHAPE_NOTE, smooth_shape
from sfumato.report.charts.views import View, fewer_bars
from sfumato.report.document import ReleaseDocument
from sfumato.rows.smooth.fine import widths_of
from sfumato.schema.column import Column

WAGE = Column("wage", "number", bounds=(0, 100), bins=40, missing=True)
SCHEMA = Schema(
    "t",
    (
        WAGE,
        Column("age", "integer", bounds=(0, 99)),
        Column("few", "integer", bounds=(0, 6)),
        Column("town", "category", values=tuple("abcdefghijkl")),
    ),
)
SIGMA = 20.0


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(4)
    rows = 3000
    wage = generator.gamma(4, 8, rows).clip(0, 99.9)
    wage[:200] = np.nan
    facts = {"age": generator.integers(0, 100, rows), "few": generator.integers(0, 7, rows)}
    return sfumato.read(
        pd.DataFrame({"wage": wage, **facts, "town": generator.choice(list("abcdefghijkl"), rows)}), SCHEMA
    )


def noisy_view(seed: int) -> tuple[View, np.ndarray]:
    """A view of smooth true counts with Gaussian noise, and those counts."""
    true = 2000 * np.exp(-(((np.arange(40) - 12) / 6) ** 2) / 2) / 15
    noise = np.random.default_rng(seed).normal(0, SIGMA, 41)
    counts = np.round(np.append(true, 200) + noise).astype(np.int64)
    return View(("wage",), (axis_of(WAGE),), counts, widths=widths_of(WAGE), variance=SIGMA**2), true


def test_the_shape_is_nearer_the_truth_than_the_bars():
    """20 seeds: the mean square error is less than half; believing the counts 100 times more gives that away."""
    ours, believed, released = [], [], []
    for seed in range(20):
        view, true = noisy_view(seed)
        errors = [smooth_shape(each) - true for each in (view, replace(view, variance=view.variance / 1e4))]
        ours.append(np.square(errors[0]).mean())
        believed.append(np.square(errors[1]).mean())
        released.append(np.square(view.counts[:40] - true).mean())
    assert np.mean(ours) < 0.5 * np.mean(released)
    assert np.mean(believed) > 0.5 * np.mean(released), "a wrong variance must be told apart"


def test_only_ordered_columns_with_cells_and_known_noise_have_a_shape():
    view, _ = noisy_view(1)
    assert smooth_shape(view) is not None
    assert smooth_shape(replace(view, variance=0.0)) is None
    assert smooth_shape(replace(view, widths=None)) is None
    few = replace(view, counts=view.counts[:7], widths=np.ones(7))
    assert smooth_shape(few) is None
    assert smooth_shape(replace(few, counts=view.counts[:8], widths=np.ones(8))) is not None


def test_merged_bars_have_the_shape_of_their_sums():
    column = Column("x", "number", bounds=(0, 400), bins=400, missing=True)
    counts = np.append(np.full(400, 30), 7)
    view = View(("x",), (axis_of(column),), counts, widths=widths_of(column), variance=9.0)
    merged = fewer_bars(view)
    assert merged.widths.sum() == pytest.approx(400)
    assert len(merged.widths) == len(merged.counts) - 1 == 80
    assert merged.variance == 9.0 * 5
    assert smooth_shape(merged) == pytest.approx(150.0)


@pytest.mark.parametrize("bins", [12, 40])
def test_the_line_runs_over_the_present_cells_in_their_order(bins):
    column = Column("wage", "number", bounds=(0, 100), bins=bins, missing=True)
    shape = np.arange(bins) + 0.5
    spec = bars(axis_of(column), np.arange(bins + 1), 2.0, shape=shape)
    line = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "line")
    along = "x" if bins == 12 else "y"
    assert line["encoding"][along]["field"] == "s"
    assert line["encoding"]["order"]["field"] == "i"
    rows = next(iter(spec["datasets"].values()))
    assert [row["s"] for row in rows[:-1]] == shape.tolist()
    assert "s" not in rows[-1], "missing has no place on the line"
    assert all(layer["mark"]["type"] != "line" for layer in bars(axis_of(column), np.arange(bins + 1))["layer"])


def notes_of(table, method) -> dict[str, bool]:
    """Which figures of a release have a smooth shape, by their titles."""
    made = sfumato.release(table, method, seed=1)
    return {
        figure.title: SHAPE_NOTE in figure.notes
        for figure in count_figures(ReleaseDocument.from_release(made, {}, ()), table.schema, made.tables)
    }


def test_reports_draw_it_for_numbers_and_say_so(table):
    found = notes_of(table, Contingency([["wage"], ["age"], ["few"], ["town"], ["few", "town"]], 1.0))
    assert found == {"wage": True, "age": True, "few": False, "town": False, "few x town": False}


def test_sums_of_a_large_table_have_it_too(table):
    found = notes_of(table, Contingency([["wage", "age", "few"]], 1.0))
    assert found == {
        "wage, from wage x age x few": True,
        "age, from wage x age x few": True,
        "few, from wage x age x few": False,
    }


def test_counts_of_drawn_rows_have_none(table):
    """They carry the chance of the draw besides the noise, which no event knows."""
    assert notes_of(table, Histogram("wage", 1.0)) == {"wage": True}
    assert notes_of(table, Histogram("wage", 1.0, synthetic=True)) == {"wage": False}


def test_the_shape_is_a_function_of_what_was_released(table, tmp_path):
    """The page is made anew from the bundle alone when it is verified; rows of a method get no shape."""
    from sfumato.report.verify import verify_bundle

    folder = sfumato.release(table, Histogram("wage", 0.5), seed=1).save(tmp_path / "histogram")
    assert SHAPE_NOTE in (folder / "report.html").read_text()
    check = verify_bundle(folder)
    assert check.ok, check.problems
    rows = sfumato.release(table, Marginals(1.0), seed=1, rows=50).save(tmp_path / "rows")
    assert SHAPE_NOTE not in (rows / "report.html").read_text()
