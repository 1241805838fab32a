"""Four releases whose truth is known, and what attacks say about each.

Seeds are fixed, so that nothing here is left to chance. On a fresh sample and on noise some attack is called working
with probability at most alpha = 0.05 (Holm over 11 exact tests, 600 targets on each side); the seed is one where none
is. A copy and 5 % of leaked records are found with overwhelming probability. Each is a mutant of the next: a verdict
that called a copy safe, or a fresh sample a leak, fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato
from comparison.people import noise, people, schema, table
from risk.released_people import LEAKED, leaking
from sfumato.errors import ArgumentError, RiskError, SchemaError, TableError
from sfumato.risk import attack_release
from sfumato.risk.attacks.attack import fisher_p_value
from sfumato.risk.attacks.attacker_view import AttackerView
from sfumato.risk.attacks.membership import max_gap_p_value, threshold
from sfumato.risk.attacks.singling_out import matches, multivariate_predicates, univariate_predicates
from sfumato.risk.on_release.result import ReleaseAttackReport, ReleaseAttackResult, holm, judge_attacks

pytestmark = pytest.mark.xdist_group("attacks on known releases")  # computed once, for all tests that look at it

MADE: dict[str, Any] = {
    "itself": lambda: people(1),
    "fresh": lambda: people(2),
    "noise": lambda: noise(4),
    "leaked": leaking,
}


@pytest.fixture(scope="module")
def known() -> dict[str, ReleaseAttackReport]:
    true, held = table(), people(7)
    return {name: attack_release(make(), true, held, seed=5) for name, make in MADE.items()}


def _named(found: ReleaseAttackReport, start: str) -> ReleaseAttackResult:
    return next(each for each in found.results if each.attack.startswith(start))


def test_the_table_itself_gives_everybody_away(known: dict[str, ReleaseAttackReport]) -> None:
    found = known["itself"]
    assert found.grade == "gives its people away" and found.advantage_low > 0.9
    assert _named(found, "Membership, nearest").rate == 1.0 and _named(found, "Membership, nearest").control == 0.0
    for kind in ("one column", "several columns"):
        assert _named(found, f"Singling out, {kind}").rate == 1.0
        assert _named(found, f"Singling out, {kind}").succeeds
    assert _named(found, "Linkage").rate > 0.8 > 0.05 > (_named(found, "Linkage").control or 0.0)
    assert all(each.succeeds for each in found.of("inference"))
    assert _named(found, "Distance").rate > 0.99 and "overfitting, not privacy" in _named(found, "Distance").notes[0]


def test_a_fresh_sample_gives_nobody_away(known: dict[str, ReleaseAttackReport]) -> None:
    found = known["fresh"]
    assert found.grade == "nothing found" and not found.works and not found.worst_records
    several = _named(found, "Singling out, several columns")
    assert several.rate > 0.1 and abs(several.rate - (several.control or 0.0)) < 0.05
    assert several.baseline < several.rate  # a useful release beats no release, for members and for others alike


def test_noise_gives_nobody_away(known: dict[str, ReleaseAttackReport]) -> None:
    found = known["noise"]
    assert found.grade == "nothing found" and not found.works
    several = _named(found, "Singling out, several columns")
    assert abs(several.rate - several.baseline) < 0.04  # rows of the public domain are what the baseline is made of


def test_leaked_records_are_found_and_named(known: dict[str, ReleaseAttackReport]) -> None:
    found = known["leaked"]
    assert found.grade == "exposes some people" and found.works
    nearest = _named(found, "Membership, nearest")
    assert nearest.succeeds and 0.03 < nearest.rate < 0.08 and (nearest.control or 0.0) < 0.01
    assert len(nearest.worst) == 10 and all(row <= LEAKED for row in nearest.worst)
    assert sum(row <= LEAKED for row, _ in found.worst_records[:5]) == 5


def test_every_attack_has_its_yardsticks_and_all_intervals_hold_together(known: dict[str, ReleaseAttackReport]) -> None:
    for found in known.values():
        assert len(found.results) == 11
        for each in found.results:
            assert each.interval.level == pytest.approx(1 - 0.05 / 22)
            assert each.threat.goal and each.threat.knowledge and each.p is not None
            assert each.adjusted is not None and each.adjusted >= each.p
            assert (each.control is None) == (each.criterion == "overfitting")
            assert each.ceiling is None  # nobody promised anything


def test_without_a_holdout_what_remains_is_said() -> None:
    found = attack_release(people(2, 200), table(1, 200), targets=60)
    assert found.grade == "cannot be told" and not found.of("membership") and not found.of("overfitting")
    assert any("nobody can hold rows back any more" in note for note in found.notes)
    assert all(each.control is None and each.ceiling is None for each in found.results)
    assert any(line.startswith("Membership") for line in found.left_out)


def test_the_ceiling_is_that_of_the_curve_at_the_same_false_alarms() -> None:
    held, private = people(7, 300), table(1, 300)
    made = sfumato.release(private, sfumato.Histogram("age", epsilon=0.5), ledger=False, seed=1)
    found = attack_release(made, private, held)
    ratio = found.results[0]
    assert ratio.attack == "Membership, likelihood ratio" and ratio.control_interval is not None
    curve = made.guarantee.resting_on(made.events).curve
    assert ratio.ceiling == pytest.approx(curve.hits(ratio.control_interval.high))
    assert not ratio.refutes_claim and ratio.trials >= 20
    louder = sfumato.release(private, sfumato.Histogram("age", epsilon=8), ledger=False, seed=1)
    broken = attack_release(_stating(louder, made), private, held)
    assert broken.grade == "breaks its guarantee" and broken.refuted[0].attack == ratio.attack


def _stating(louder: Any, quiet: Any) -> Any:
    """A release whose noise is that of epsilon 8 while its papers say 0.01: the mutant that must be refuted."""
    from dataclasses import replace

    weak = quiet.guarantee.model_copy(update={"epsilon": "0.01"})
    return replace(louder, guarantee=weak)


def test_rows_by_a_method_are_attacked_by_shadow_models_as_well() -> None:
    private, held = table(1, 300), people(7, 300)
    made = sfumato.release(private, sfumato.Marginals(2.0), ledger=False, seed=1)
    found = attack_release(made, private, held, targets=100, shadows=1, secret=["owner"], known=["age", "region"])
    assert [each.attack for each in found.results if "shadow" in each.attack] and found.what == "rows by marginals"
    assert [each.attack for each in found.of("inference")] == ["Inference of owner from age, region"]
    assert all(each.ceiling is not None for each in found.results if each.criterion != "overfitting")
    assert any("as asked" in line for line in attack_release(made, private, held, targets=40, shadows=0).left_out)


def test_a_holdout_that_is_the_table_is_refused_and_another_population_is_told() -> None:
    with pytest.raises(RiskError, match="holdout's rows stand in the table"):
        attack_release(people(2, 100), table(1, 100), people(1, 100), targets=40)
    older = people(7, 200).assign(age=lambda rows: np.clip(rows["age"] + 25, 18, 90))
    found = attack_release(people(2, 200), table(1, 200), older, targets=60)
    assert any("distributed otherwise" in note and "age" in note for note in found.notes)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (SchemaError, lambda: attack_release(people(2, 50), people(1, 50))),
        (TableError, lambda: attack_release(people(2, 50), _release())),
        (RiskError, lambda: attack_release(people(2, 50), table(1, 50), people(7, 10))),
        (RiskError, lambda: attack_release(people(2, 50), table(1, 50), people(7, 50), targets=3)),
        (RiskError, lambda: attack_release(people(2, 50), table(1, 50), people(7, 50), secret=["height"])),
        (RiskError, lambda: attack_release(_entropy(), table(1, 50), people(7, 50))),
        (ArgumentError, lambda: attack_release(people(2, 50), table(1, 50), held=people(7, 50))),
    ],
)
def test_what_cannot_be_attacked_is_refused_by_name(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()


def _release() -> Any:
    return sfumato.release(table(1, 50), sfumato.Histogram("owner", epsilon=1), ledger=False, seed=1)


def _entropy() -> Any:
    method = sfumato.EntropyRelease("owner", epsilon=1, rows_at_least=40)
    return sfumato.release(table(1, 50), method, ledger=False, seed=1)


def test_predicates_hold_for_one_row_and_no_other() -> None:
    sight = AttackerView(schema(), schema().names)
    points = sight.read(people(1, 200)).points
    dice = np.random.default_rng(1)
    for recipe in (univariate_predicates, multivariate_predicates):
        found = recipe(points, sight, 40, dice)
        assert len(found) == 40 == len(set(found))
        assert all(len(matches(each, points)) == 1 for each in found)


def test_a_threshold_is_chosen_where_hits_stand_out_and_tests_are_exact() -> None:
    dice = np.random.default_rng(1)
    inside, outside = dice.normal(size=200), dice.normal(size=200)
    inside[:20] = 9.0
    assert threshold(inside, outside) == 9.0 and max_gap_p_value(inside, outside, dice) == 0.001
    chances = [max_gap_p_value(*dice.normal(size=(2, 60)), dice) for _ in range(40)]
    assert sum(chance <= 0.05 for chance in chances) <= 8  # binomial(40, .05) exceeds 8 with chance 1e-4
    assert fisher_p_value(3, 10, 3, 10) > 0.5 and holm([0.5, 0.01]) == [0.5, 0.02]


def test_nothing_private_is_printed_and_what_is_written_is_plain(known: dict[str, ReleaseAttackReport]) -> None:
    found = known["leaked"]
    assert repr(found).startswith("ReleaseAttackReport(CONFIDENTIAL") and "found.given" not in repr(found)
    body = found.to_dict()
    assert body["worst_records"][0]["row"] <= LEAKED and len(body["attacks"]) == 11 and "given" not in body
    assert found.statement().startswith(found.verdict) and judge_attacks([], None, "", 0.95) == ()
