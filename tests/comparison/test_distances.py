"""Distances by hand: what two small tables have in common can be counted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from comparison.people import people, schema
from sfumato import Schema
from sfumato.evaluate.compare.run import read_points
from sfumato.metrics.association import correlations, cramers_v
from sfumato.metrics.binning import Binning, Marginal
from sfumato.metrics.comparison_layout import ComparisonLayout
from sfumato.metrics.distances import distances, total_variation
from sfumato.schema.column import Column


def laid(
    frame: pd.DataFrame, facts: Schema, synthetic: pd.DataFrame | None = None
) -> tuple[ComparisonLayout, np.ndarray, np.ndarray]:
    points, released = (
        read_points(each, facts, facts.names, "t") for each in (frame, frame if synthetic is None else synthetic)
    )
    return ComparisonLayout.of(facts, tuple(facts), released, points), points, released


def test_a_number_has_cells_of_equal_released_mass_open_ends_and_one_for_missing() -> None:
    values = np.append(np.arange(160.0), np.nan)
    cells = Binning.q16(Column("n", "number", bounds=(0, 160), missing=True), values)
    codes = cells.codes(values)
    assert cells.size == 19 and codes[-1] == 18
    counts = np.bincount(codes[:-1], minlength=18)
    assert counts[0] == counts[17] == 0 and set(counts[1:17]) <= {9, 10, 11}
    assert cells.codes(np.array([-1.0, 160.0])).tolist() == [0, 17]


def test_a_spike_has_a_cell_of_its_own_so_that_a_tail_beside_it_is_seen() -> None:
    released = np.append(np.zeros(96), [1.0, 2.0, 3.0, 9.0])
    cells = Binning.q16(Column("n", "number", bounds=(0, 9)), released)
    below, spike, near, tail = cells.codes(np.array([-0.1, 0.0, 0.4, 9.0]))
    assert below < spike < near == tail < cells.size - 1
    smeared = np.append(np.zeros(60), np.full(40, 5.0))
    marginal = Marginal.of([cells.codes(released)], [cells.size])
    assert total_variation(marginal.counts, marginal.count([cells.codes(smeared)])) == np.float64(0.36)


def test_large_marginals_are_counted_by_the_cells_that_occur() -> None:
    one, other = np.array([0, 5, 5]), np.array([5, 5, 10**9])
    huge, small = Marginal.of([one], [10**10]), Marginal.of([one], [10])
    assert huge.occupied is not None and small.occupied is None
    assert (
        total_variation(huge.counts, huge.count([other]))
        == total_variation(small.counts, small.count([np.array([5, 5, 9])]))
        == np.float64(1 / 3)
    )


def test_distances_are_those_of_the_definition() -> None:
    facts = Schema.parse(
        '[table]\nname = "t"\n[columns.a]\nkind = "category"\nvalues = ["x", "y"]\nmissing = true\n'
        '[columns.n]\nkind = "integer"\nbounds = [0, 9]\n'
    )
    true = pd.DataFrame({"a": ["x"] * 6 + ["y"] * 6, "n": [1, 2] * 6})
    made = pd.DataFrame({"a": ["x"] * 9 + [None] * 3, "n": [2] * 12})
    layout, points, released = laid(true, facts, made)
    found = distances(layout, layout.side(points), layout.side(released))
    assert np.allclose(found.columns, [0.5, 0.5])
    assert found.values["tvd_1_q16"] == 0.5
    assert found.values["tvd_2_q16"] == 0.75
    assert found.values["missing_error"] == 0.25
    assert found.values["mean_error_sd"] == 1.0
    assert "pearson_error" not in found.values and "association_error" in found.values
    assert "tvd_3_q16" not in found.values and found.values["rule_violations"] == 0.0


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
    layout, points, _ = laid(true, facts)
    assert not layout.side(points).broken.any()
    made = true.assign(b=["2"] * 5 + ["1", "2"] * 7 + ["1"])
    broken = layout.side(read_points(made, facts, facts.names, "m")).broken
    assert broken.sum() == (made["b"] != true["b"]).sum() > 0


def test_pairs_and_triples_follow_from_the_schema_alone() -> None:
    facts = schema()
    layouts = [laid(people(seed), facts)[0] for seed in (1, 2)]
    assert layouts[0].pairs == layouts[1].pairs and len(layouts[0].pairs) == 10
    assert len(layouts[0].triples) == 10
