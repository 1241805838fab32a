"""The smooth shape behind noisy histograms: where it is drawn, from what, and that it is nearer the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Contingency, Histogram, Marginals, Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.core.plan import StageNoise
from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.release_page.data import data_section
from sfumato.report.release_page.marginals import ReleasedMarginal, merged_cells, smoothed_density
from sfumato.sampling.fine_cells import cell_widths
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


SHAPE = 'class="shape"'
"""How the curve stands in a picture and in the legend of a page."""


def noisy_counts(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth true counts with Gaussian noise, and those counts."""
    true = 2000 * np.exp(-(((np.arange(40) - 12) / 6) ** 2) / 2) / 15
    return np.round(true + np.random.default_rng(seed).normal(0, SIGMA, 40)), true


def test_the_shape_is_nearer_the_truth_than_the_bars():
    """20 seeds: the mean square error is less than half; believing the counts 100 times more gives that away."""
    ours, believed, released = [], [], []
    for seed in range(20):
        counts, true = noisy_counts(seed)
        errors = [
            smoothed_density(counts, cell_widths(WAGE), variance) - true for variance in (SIGMA**2, SIGMA**2 / 1e4)
        ]
        ours.append(np.square(errors[0]).mean())
        believed.append(np.square(errors[1]).mean())
        released.append(np.square(counts - true).mean())
    assert np.mean(ours) < 0.5 * np.mean(released)
    assert np.mean(believed) > 0.5 * np.mean(released), "a wrong variance must be told apart"


def test_only_cells_enough_with_known_noise_have_a_shape():
    counts, _ = noisy_counts(1)
    assert smoothed_density(counts, cell_widths(WAGE), SIGMA**2) is not None
    assert smoothed_density(counts, cell_widths(WAGE), 0.0) is None
    assert smoothed_density(counts[:7], np.ones(7), SIGMA**2) is None
    assert smoothed_density(counts[:8], np.ones(8), SIGMA**2) is not None


def test_merged_bars_have_the_shape_of_their_sums():
    column = Column("x", "number", bounds=(0, 400), bins=400, missing=True)
    counts = np.append(np.full(400, 30), 7)
    merged = merged_cells(ReleasedMarginal((column,), counts, StageNoise("discrete-gaussian", 3.0)))
    assert len(merged.released) == 100 and merged.edges[-1] == 400
    assert merged.released == pytest.approx(120) and merged.shape == pytest.approx(120.0)
    assert merged.noise == pytest.approx(1.96 * 3 * 2)


def test_the_curve_runs_over_the_cells_in_their_order():
    counts = np.array([9, 14, 30, 50, 41, 33, 21, 16, 12, 8])
    true = np.array([8.0, 15, 28, 52, 44, 31, 22, 15, 11, 9])
    cells = HistogramBins(np.linspace(0, 100, 11), counts, shape=true, counts=True)
    drawn = str(histogram(cells, "number", "words"))
    path = drawn.split(SHAPE)[1].split('d="M')[1].split('"')[0]
    points = [tuple(map(float, point.split())) for point in path.split("L")]
    assert len(points) == 10 and [x for x, _ in points] == sorted(x for x, _ in points)
    assert np.argmin([y for _, y in points]) == np.argmax(true), "down is low"
    assert SHAPE not in str(histogram(HistogramBins(cells.edges, counts, counts=True), "number", "words"))


def shapes_of(table, method) -> dict[str, bool]:
    """Which cards of a release have a smooth shape, by their names."""
    made = sfumato.release(table, method, seed=1)
    shown = data_section(ReleaseDocument.from_release(made, {}, ()), table.schema, made.tables)
    assert shown["keys"]["shape"] == any(SHAPE in str(card.picture) for card in shown["cards"])
    return {card.name: SHAPE in str(card.picture) for card in shown["cards"]}


def test_reports_draw_it_for_numbers_and_say_so(table):
    found = shapes_of(table, Contingency([["wage"], ["age"], ["few"], ["town"], ["few", "town"]], 1.0))
    assert found == {"wage": True, "age": True, "few": False, "town": False}


def test_sums_of_a_large_table_have_it_too(table):
    found = shapes_of(table, Contingency([["wage", "age", "few"]], 1.0))
    assert found == {"wage": True, "age": True, "few": False}


def test_counts_of_drawn_rows_have_none(table):
    """They carry the chance of the draw besides the noise, which no event knows."""
    assert shapes_of(table, Histogram("wage", 1.0)) == {"wage": True}
    assert shapes_of(table, Histogram("wage", 1.0, synthetic=True)) == {"wage": False}


def test_the_shape_is_a_function_of_what_was_released(table, tmp_path):
    """The page is made anew from the bundle alone when it is verified; rows of a method get no shape."""
    from sfumato.bundle.verify import verify_bundle

    folder = sfumato.release(table, Histogram("wage", 0.5), seed=1).save(tmp_path / "histogram")
    assert SHAPE in (folder / "report.html").read_text()
    check = verify_bundle(folder)
    assert check.ok, check.problems
    rows = sfumato.release(table, Marginals(1.0), seed=1, rows=50).save(tmp_path / "rows")
    assert SHAPE not in (rows / "report.html").read_text()


def test_the_words_of_the_line_stand_above_bars_that_would_hide_them():
    level, hill = (
        HistogramBins(np.linspace(0, 10, 11), made) for made in (np.linspace(0.16, 0.17, 10), np.hanning(10) / 5)
    )
    assert ">line: 15 %<" in str(histogram(level, "number", "words"))
    assert ">line: " not in str(histogram(hill, "number", "words"))
