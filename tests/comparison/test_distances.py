"""Distances by hand: what two small tables have in common can be counted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from comparison.people import people, schema
from sfumato import Schema
from sfumato.evaluate.compare.cells import cells_of, paired_counts, tvd
from sfumato.evaluate.compare.distances import correlations, cramers_v, distances
from sfumato.evaluate.compare.sides import ComparisonLayout, read_points
from sfumato.schema.column import Column


def laid(frame: pd.DataFrame, facts: Schema) -> tuple[ComparisonLayout, np.ndarray]:
    points = read_points(frame, facts, facts.names, "the table")
    return ComparisonLayout.of(facts, tuple(facts), points), points


def test_a_number_has_cells_of_equal_true_mass_and_one_for_missing() -> None:
    values = np.append(np.arange(160.0), np.nan)
    cells = cells_of(Column("n", "number", bounds=(0, 160), missing=True), values)
    codes = cells.of(values)
    assert cells.size == 17 and codes[-1] == 16
    assert np.bincount(codes[:-1]).tolist() == [10] * 16


def test_a_spike_has_a_cell_of_its_own_so_that_a_tail_beside_it_is_seen() -> None:
    true = np.append(np.zeros(96), [1.0, 2.0, 3.0, 9.0])
    cells = cells_of(Column("n", "number", bounds=(0, 9)), true)
    spike, near, tail = cells.of(np.array([0.0, 0.4, 1.0]))
    assert spike == near != tail
    smeared = np.append(np.zeros(60), np.full(40, 5.0))
    assert tvd(*paired_counts(cells.of(true), cells.of(smeared), cells.size)) == np.float64(0.36)


def test_huge_tables_are_counted_by_the_cells_that_occur() -> None:
    one, other = np.array([0, 5, 5]), np.array([5, 5, 10**9])
    assert (
        tvd(*paired_counts(one, other, 10**10))
        == tvd(*paired_counts(one, np.array([5, 5, 9]), 10))
        == np.float64(1 / 3)
    )


def test_distances_are_those_of_the_definition() -> None:
    facts = Schema.parse(
        '[table]\nname = "t"\n[columns.a]\nkind = "category"\nvalues = ["x", "y"]\nmissing = true\n'
        '[columns.n]\nkind = "integer"\nbounds = [0, 9]\n'
    )
    true = pd.DataFrame({"a": ["x"] * 6 + ["y"] * 6, "n": [1, 2] * 6})
    made = pd.DataFrame({"a": ["x"] * 9 + [None] * 3, "n": [2] * 12})
    layout, points = laid(true, facts)
    found = distances(layout, layout.side(points), layout.side(read_points(made, facts, facts.names, "m")))
    assert np.allclose(found.columns, [0.5, 0.5])
    assert found.values["tvd_1"] == 0.5
    assert found.values["tvd_2"] == 0.75
    assert found.values["missing_error"] == 0.25
    assert found.values["mean_error"] == 1.0
    assert "pearson_error" not in found.values and "cramer_error" not in found.values
    assert "tvd_3" not in found.values and found.values["rule_violations"] == 0.0


def test_correlations_are_those_of_pandas() -> None:
    frame = people(1)[["age", "income", "years"]].astype(float)
    assert np.allclose(correlations(frame.to_numpy()), frame.corr().to_numpy())
    constant = np.column_stack([frame["age"], np.ones(len(frame))])
    assert correlations(constant)[0, 1] == 0


def test_cramer_v_of_independent_levels_is_not_lifted_by_chance() -> None:
    generator = np.random.default_rng(0)
    found = [cramers_v(generator.multinomial(300, [1 / 25] * 25).reshape(5, 5).astype(float)) for _ in range(200)]
    plain = np.sqrt(16 / 300 / 4)  # what V without the correction has on average, about
    assert np.mean(found) < plain / 2


def test_rules_without_a_map_take_it_from_the_true_rows() -> None:
    facts = Schema.parse(
        '[table]\nname = "t"\n[columns.a]\nkind = "category"\nvalues = ["x", "y"]\n'
        '[columns.b]\nkind = "category"\nvalues = ["1", "2"]\n[[rules]]\ncheck = "a determines b"\n'
    )
    true = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["1", "2"] * 10})
    layout, points = laid(true, facts)
    assert not layout.side(points).broken.any()
    made = true.assign(b=["2"] * 5 + ["1", "2"] * 7 + ["1"])
    broken = layout.side(read_points(made, facts, facts.names, "m")).broken
    assert broken.sum() == (made["b"] != true["b"]).sum() > 0


def test_pairs_and_triples_follow_from_the_schema_alone() -> None:
    facts = schema()
    layouts = [laid(people(seed), facts)[0] for seed in (1, 2)]
    assert layouts[0].pairs == layouts[1].pairs and len(layouts[0].pairs) == 10
    assert len(layouts[0].triples) == 10
