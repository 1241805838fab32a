"""Two pages, one number: a metric has one value for one release, whoever asks."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato
from sfumato import AIM
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.evaluate.compare.run import read_comparison_input
from sfumato.evaluate.quality.questions import PublicFacts, misplaced
from sfumato.metrics import binning
from sfumato.metrics.association import STRONG
from sfumato.metrics.catalogue import CATALOGUE, metric
from sfumato.metrics.evaluation_input import open_evaluation_input
from sfumato.metrics.rows_view import read_rows_view
from sfumato.report.release_page.associations import strongest_associations
from sfumato.table.rows import stream_column_arrays

NAMES = ("tvd_1_q16", "tvd_2_q16")


@pytest.fixture(scope="module")
def table():
    """Six groups whose means are half a standard deviation apart, a number that follows income, gaps and a spike."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 6, 1500)
    income = 50 + 4 * group + rng.normal(0, 8, 1500)
    frame = {
        "group": np.array(list("abcdef"))[group],
        "income": np.where(rng.random(1500) < 0.1, np.nan, income.clip(0, 120)),
        "wealth": np.where(rng.random(1500) < 0.1, 0, (2 * income + rng.normal(0, 20, 1500)).clip(0, 300)),
        "size": rng.integers(1, 6, 1500),
        "owner": rng.random(1500) < 0.5,
    }
    schema = sfumato.Schema.parse(
        '[table]\nname = "t"\n[columns.group]\nkind = "category"\nvalues = ["a", "b", "c", "d", "e", "f"]\n'
        '[columns.income]\nkind = "number"\nbounds = [0, 120]\nmissing = true\n'
        '[columns.wealth]\nkind = "number"\nbounds = [0, 300]\n[columns.size]\nkind = "integer"\nbounds = [1, 9]\n'
        '[columns.owner]\nkind = "boolean"\n'
    )
    import pandas as pd

    return sfumato.read(pd.DataFrame(frame), schema)


@pytest.fixture(scope="module")
def release(table):
    return sfumato.release(table, AIM(epsilon=3), ledger=False, seed=1)


@pytest.fixture(scope="module")
def comparison(release, table):
    return sfumato.compare(release, table)


def by_quality(release, table) -> dict[str, float]:
    """Return what quality counts, before noise."""
    subject = open_evaluation_input(release)
    public = PublicFacts.of(subject.rows, release.schema)
    counted, rows = public.released.empty_counts(), 0
    for values in stream_column_arrays(table, public.names):
        rows += len(values[public.names[0]])
        for names, counts in public.released.count(values).items():
            counted[names] += counts
    sets = dict(zip(NAMES, (public.singles, public.pairs), strict=True))
    return {name: float(misplaced(public, each, counted) / rows) for name, each in sets.items()}


def by_calibrate(release, table) -> dict[str, float]:
    trial = Trial(table, release.method, 0, released=release.tables)
    return {name: metric(name).measure(trial) for name in NAMES}


def test_compare_calibrate_and_quality_before_noise_say_the_same(release, table, comparison):
    stated = {name: comparison.measures[name].value for name in NAMES}
    assert stated == pytest.approx(by_calibrate(release, table), abs=1e-12)
    assert stated == pytest.approx(by_quality(release, table), abs=1e-12)
    assert 0.01 < stated["tvd_1_q16"] < stated["tvd_2_q16"]


def test_a_context_with_cells_of_its_own_is_caught(release, table, comparison, monkeypatch):
    """The mutant: calibrate alone cuts numbers into 8 cells."""
    monkeypatch.setattr(binning, "CELLS", 8)
    mutant = by_calibrate(release, table)
    assert all(abs(mutant[name] - comparison.measures[name].value) > 1e-4 for name in NAMES)


def test_the_report_and_the_comparison_have_the_same_strong_pairs(release, comparison):
    """The comparison lists what is strong in the private rows; the strengths of released rows are the report's."""
    rows = next(iter(release.tables.values()))
    shown = strongest_associations(read_rows_view(rows, release.schema, rows.column_names))
    names = [column.name for column in shown.points.columns]
    reported = {(names[each.one], names[each.other]): (each.measure, each.value) for each in shown.relations}
    compared = {pair.names: (pair.measure, pair.synthetic) for pair in comparison.pairs}
    assert {("group", "income"), ("income", "wealth")} <= set(reported)
    for pair, stated in reported.items():
        assert compared[pair] == pytest.approx(stated), pair
    for pair in comparison.pairs:
        assert (abs(pair.synthetic) >= STRONG) == (pair.names in reported), pair.names
    assert compared["group", "income"][0] == "correlation ratio of ranks"


def test_the_forecast_states_its_expectation_under_the_same_names(release, table):
    forecast = sfumato.plan(table, AIM(epsilon=3), about_rows=1500).forecast
    assert set(NAMES) <= set(CATALOGUE) and all(0 < getattr(forecast, name) < 1 for name in NAMES)


def test_a_comparison_is_read_in_the_cells_of_the_release(release, table):
    both = read_comparison_input(release, table, None, None)
    released = read_rows_view(next(iter(release.tables.values())), table.schema, both.layout.names).by_name()
    for cells in both.layout.binnings:
        again = binning.Binning.q16(cells.column, released[cells.column.name])
        assert np.array_equal(cells.codes(released[cells.column.name]), again.codes(released[cells.column.name]))
