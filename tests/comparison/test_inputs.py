"""What a comparison takes, and what it refuses by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from comparison.people import ROWS, people, schema, table
from sfumato.errors import ArgumentError, BundleError, PlanError, SchemaError, TableError
from sfumato.evaluate.compare.run import read_comparison_input, read_points
from sfumato.metrics.comparison_layout import ComparisonLayout
from sfumato.metrics.prediction import MOST_TARGETS, targets_of


def test_frames_files_arrow_and_tables_are_the_same_rows(tmp_path: Path) -> None:
    frame, true = people(2), table()
    frame.to_csv(tmp_path / "made.csv", index=False)
    given = [frame, pa.Table.from_pandas(frame), tmp_path / "made.csv", str(tmp_path / "made.csv")]
    read = [read_comparison_input(each, true, None, None).synthetic for each in [*given, sfumato.read(frame, schema())]]
    for each in read[1:]:
        assert np.allclose(each.points, read[0].points, equal_nan=True)
        assert np.array_equal(each.cells, read[0].cells)


def test_a_plain_table_takes_the_schema_that_is_given() -> None:
    both = read_comparison_input(people(2), people(1), people(3), schema())
    assert len(both.true) == len(both.synthetic) == ROWS and both.holdout is not None
    with pytest.raises(SchemaError, match="nobody says what the columns are"):
        read_comparison_input(people(2), people(1), None, None)


def test_releases_and_bundles_of_counts_are_refused(tmp_path: Path) -> None:
    counts = sfumato.release(table(), sfumato.Histogram("age", epsilon=1), ledger=False, seed=1)
    counts.save(tmp_path / "bundle")
    for given in (counts, tmp_path / "bundle"):
        with pytest.raises(BundleError, match="holds counts, not rows") as refused:
            sfumato.compare(given, table())
        assert "sfumato utility" in str(refused.value)
    with pytest.raises(BundleError, match="is not a bundle"):
        sfumato.compare(tmp_path, table())


def test_a_release_and_its_bundle_are_the_same(tmp_path: Path) -> None:
    made = sfumato.release(table(), sfumato.Grid(columns=["age", "years"], epsilon=5), ledger=False, seed=1)
    made.save(tmp_path / "bundle")
    whole = [read_comparison_input(each, people(1), None, None) for each in (made, tmp_path / "bundle")]
    assert np.array_equal(whole[0].synthetic.points, whole[1].synthetic.points)
    assert any("not in the release" in note and "income" in note for note in whole[0].notes)


def test_values_that_the_schema_does_not_know_count_as_missing_and_are_told() -> None:
    strange = people(2).assign(region="east", age=1000)
    both = read_comparison_input(strange, table(), None, None)
    assert np.isnan(both.synthetic.points[:, [0, 2]]).all()
    assert any("region: 600 values outside the schema, counted as missing" in note for note in both.notes)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (PlanError, lambda: sfumato.compare(pd.DataFrame({"other": range(20)}), table())),
        (PlanError, lambda: sfumato.compare(people(2), table(), target="height")),
        (TableError, lambda: sfumato.compare(people(2, 5), table())),
        (TableError, lambda: read_comparison_input(people(2), people(1).assign(age=1000), None, schema())),
        (ArgumentError, lambda: sfumato.compare(people(2), table(), hold_out=people(3))),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(error: type[Exception], call: object) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]


def test_targets_follow_from_public_facts() -> None:
    facts = schema().replace_columns({"owner": {"role": "target"}})
    layout = ComparisonLayout.of(facts, tuple(facts), *[read_points(people(1), facts, facts.names, "t")] * 2)
    assert targets_of(layout, None)[0] == "owner" and len(targets_of(layout, None)) == 5 <= MOST_TARGETS
    assert targets_of(layout, "age") == ("age",)
