"""Single columns are measured a second time where rows are few beside the noise: when, how well, and at what cost."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import sfumato
from mechanisms.graphical.test_budget import SCHEMAS, certified, clinic
from mechanisms.graphical.watching import Transcript, watch
from sfumato import AIM, MST
from sfumato.evaluate.forecast import noise_facts
from sfumato.mechanisms.hierarchical_histogram import CountedColumns, HistogramLayer
from sfumato.metrics.expected_errors import expected_metrics
from sfumato.privacy.accounting.gaussian_calibration import ZCDPFilter

METHOD = AIM(1, 1e-6)
ONCE, TWICE = 6, 11
"""Draws of the clinic's columns: three flat ones and three layers of the age; then the flat ones and two layers again.
"""


def watched(monkeypatch, kind: str, method=METHOD, rows: int = 300) -> Transcript:
    schema = SCHEMAS[kind]
    if schema.rows:
        schema = dataclasses.replace(schema, rows=rows)
    with monkeypatch.context() as patch:
        seen = watch(patch)
        sfumato.release(sfumato.read(clinic(rows), schema), method, ledger=False, seed=3)
    return seen


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize(("rows", "epsilon", "draws"), [(300, 1, TWICE), (3000, 15, ONCE)])
def test_few_rows_beside_the_noise_get_a_second_measurement_and_many_do_not(monkeypatch, kind, rows, epsilon, draws):
    seen = watched(monkeypatch, kind, AIM(epsilon, 1e-6), rows)
    assert seen.order.index("choice") == draws
    assert certified(seen, kind, epsilon, 1e-6)


def test_a_mutant_that_measures_again_for_nothing_is_caught(monkeypatch):
    again = CountedColumns.measure_again

    def free(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ZCDPFilter, "spend", lambda *_: None)
            return again(*arguments)

    monkeypatch.setattr(CountedColumns, "measure_again", free)
    assert not certified(watched(monkeypatch, "add-remove"), "add-remove", 1.0, 1e-6)


def test_mst_keeps_its_thirds(monkeypatch):
    seen = watched(monkeypatch, "add-remove", MST(1, 1e-6))
    assert seen.order.index("choice") == ONCE


def test_two_measurements_of_a_layer_are_weighed_by_their_precision():
    parts, generator = np.arange(50_000), np.random.default_rng(4)
    first, second = generator.normal(0, 3, 50_000), generator.normal(0, 1, 50_000)
    joined = HistogramLayer(parts, first, 3.0).joined(second, 1.0)
    assert joined.counts == pytest.approx(0.1 * first + 0.9 * second)
    assert joined.sigma == pytest.approx(0.9**0.5)
    assert joined.counts.std() == pytest.approx(joined.sigma, rel=0.02)


def test_the_plan_says_from_how_few_rows_on_and_the_forecast_knows_it():
    schema = SCHEMAS["add-remove"]
    plan, planned = METHOD.plan(schema), METHOD.planned(schema)
    (note,) = [note for note in plan.notes if "second time" in note]
    many, few = (int(word.replace(",", "")) for word in note.split() if word.replace(",", "").isdigit())
    assert not any("second time" in note for note in MST(1, 1e-6).plan(schema).notes)
    assert planned.noise_factors(2 * many / planned.whole_noise) == (1.0, 1.0)
    single, later = planned.noise_factors(few / 2 / planned.whole_noise)
    assert (single, later) == pytest.approx(((0.25 / 0.6) ** 0.5, (0.7 / 0.35) ** 0.5))
    facts = noise_facts(plan, schema, METHOD)
    now, then = facts.of_rows(2 * many), facts.of_rows(few / 2)
    assert (now.columns, now.pair_noise) == (facts.columns, facts.pair_noise)
    assert then.columns[0].noise == pytest.approx(single * now.columns[0].noise)
    assert then.pair_noise == pytest.approx(later * now.pair_noise)
    assert expected_metrics(facts, few / 2).tvd_2_q16 == expected_metrics(then, few / 2).tvd_2_q16
