"""Weights, ranges and claims, formula by formula, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families import Family, make_family
from sfumato.papers.range_restriction.published.ranges import Brackets, Radius, Ranges, WiderInTail
from sfumato.papers.range_restriction.published.weights import (
    STANDARDS,
    WeightedPosterior,
    Weighting,
    capped_weights,
    scaled_weights,
)

RANGES = Radius(0.6, 1.2)
VALUES = np.array([1.0, 2.0, 10.0, 40.0])


@pytest.fixture(scope="module")
def family() -> Family:
    generator = np.random.default_rng(1000)
    z = generator.normal(2, 1, 400)
    return make_family("lognormal", generator.lognormal(z + 1, 1), z)


def plan(standard: str, **more: object) -> Weighting:
    ranges = RANGES if standard in ("averaged", "truncated") else None
    target = 8.0 if standard == "capped" else None
    given = {"standard": standard, "ranges": ranges, "target_claim": target} | more
    return replace(Weighting("weighted", draws=300), **given)


def fit(family: Family, standard: str, **more: object) -> WeightedPosterior:
    return plan(standard, **more).fit(family, np.random.default_rng(3))


# --- weights and claims ---------------------------------------------------------------------------------------


def test_scale_and_shift_are_clipped() -> None:
    risk = np.array([1.0, 2.0, 5.0])
    assert scaled_weights(risk, 0.5, 0.2) == pytest.approx([0.7, 0.575, 0.2])
    assert scaled_weights(risk, 2.0).tolist() == [1.0, 1.0, 0.0]
    assert scaled_weights(np.full(3, 2.0)).tolist() == [1.0, 1.0, 1.0]
    assert capped_weights(risk, 2.5).tolist() == [1.0, 1.0, 0.5]


def test_the_claims_follow_the_formulas_on_a_dense_matrix(family: Family) -> None:
    low, high = 0.6 * family.values, 1.2 * family.values
    outside = family.posterior(np.ones(400)).outside(low, high)
    for standard in ("unweighted", "weighted", "averaged", "truncated"):
        fitted = fit(family, standard)
        f = fitted.posterior.log_likelihood(fitted.draws)
        inside = fitted.posterior.log_range(fitted.draws, low, high)
        alpha = fitted.weights
        claims = {
            "unweighted": 2 * np.abs(f).max(),
            "weighted": 2 * np.abs(alpha * f).max(),
            "averaged": 2 * np.abs((1 - outside) * alpha * f).max(),
            "truncated": 2 * np.abs(alpha * (f - inside)).max(),
        }
        assert fitted.epsilon == pytest.approx(claims[standard], abs=1e-9)
        facts = fitted.diagnostics()
        assert facts.whole_exponent_epsilon == pytest.approx(2 * np.abs(fitted.exponents * f).max(), abs=1e-9)
        assert facts.oscillation_epsilon == pytest.approx((fitted.exponents * np.ptp(f, axis=0)).max(), abs=1e-9)
        if standard == "truncated":
            printed = 2 * np.abs(alpha * f - inside).max()
            assert facts.published_truncated_epsilon == pytest.approx(printed, abs=1e-9)
        else:
            assert facts.published_truncated_epsilon is None


def test_averaged_draws_with_more_than_it_counts(family: Family) -> None:
    fitted = fit(family, "averaged")
    assert fitted.outside is not None
    assert fitted.exponents == pytest.approx(fitted.outside + (1 - fitted.outside) * fitted.weights)
    plain = fit(family, "weighted")
    assert fitted.weights.tolist() == plain.weights.tolist()
    assert fitted.diagnostics().sum_of_exponents > plain.diagnostics().sum_of_exponents


def test_diagnostics_count_weights(family: Family) -> None:
    facts = fit(family, "weighted").diagnostics()
    assert facts.share_of_zero_weights == pytest.approx(1 / 400)
    assert (facts.records, facts.draws) == (400, 300)
    assert facts.sum_of_weights == pytest.approx(facts.sum_of_exponents)
    assert not facts.density_above_one
    small = make_family("lognormal", family.values / 1000, None)
    assert fit(small, "weighted").diagnostics().density_above_one


@pytest.mark.parametrize("standard", ["weighted", "truncated", "averaged"])
def test_a_target_is_met_by_scaling(family: Family, standard: str) -> None:
    target = 0.8 * fit(family, standard).epsilon
    fitted = fit(family, standard, target_claim=target)
    assert fitted.met_target
    assert fitted.epsilon == pytest.approx(target, rel=1e-3)
    assert len(fitted.trail) <= 5
    assert fitted.scale < 1
    assert fitted.trail[-1] == (fitted.scale, fitted.epsilon)


def test_an_unreachable_target_is_said(family: Family) -> None:
    """Weights end at 1: the claim cannot rise to any target."""
    fitted = fit(family, "averaged", target_claim=500.0)
    assert not fitted.met_target
    assert fitted.epsilon < 500


def test_capped_weights_need_rounds(family: Family) -> None:
    """The first pass overshoots, because the variance shrinks once outliers weigh less; then it closes in."""
    first, settled = fit(family, "capped", rounds=0), fit(family, "capped")
    assert first.epsilon > 8.5
    assert not first.met_target
    assert settled.met_target
    steps = [epsilon for _, epsilon in settled.trail]
    assert steps == sorted(steps, reverse=True)
    assert 3 <= len(steps) <= 6
    assert settled.weights == pytest.approx(capped_weights(settled.densities.risk, 4.0), abs=2e-3)


def test_fits_repeat_and_share_their_numbers(family: Family) -> None:
    for standard in STANDARDS:
        one, two = fit(family, standard), fit(family, standard)
        assert one.epsilon == two.epsilon
        assert one.draws.tolist() == two.draws.tolist()
    synthetic = [one.synthesise(copy, None, np.random.default_rng(1)) for copy in (0, 0, 1)]
    assert synthetic[0].tolist() == synthetic[1].tolist() != synthetic[2].tolist()
    with pytest.raises(PlanError, match="copy 300"):
        one.synthesise(300, None, np.random.default_rng(1))


@pytest.mark.parametrize("standard", STANDARDS)
def test_discrete_families_fit_under_every_standard(standard: str) -> None:
    generator = np.random.default_rng(2)
    cells = generator.integers(0, 3, 300)
    families = [
        make_family("counts", generator.poisson(4, 300), cells),
        make_family("categorical", generator.choice(5, 300, p=[0.4, 0.3, 0.15, 0.1, 0.05]), cells),
        make_family("binary", generator.integers(0, 2, 300)),
    ]
    for family in families:
        brackets = Brackets([0, 1, 3, 1000]) if family.kind == "counts" else Brackets([0, 1, 5])
        fitted = fit(family, standard, ranges=brackets if standard in ("averaged", "truncated") else None)
        assert 0 <= fitted.epsilon < np.inf
        # Probabilities have no unit: their logs are never positive.
        assert fitted.diagnostics().highest_log_density <= 0


def test_too_small_a_target_names_the_weights() -> None:
    generator = np.random.default_rng(4)
    family = make_family("lognormal", generator.lognormal(0, 1, 8), generator.normal(size=(8, 3)))
    with pytest.raises(PlanError, match="they must sum to more than 4"):
        Weighting("weighted", target_claim=0.5).fit(family, generator)


def test_weightings_that_make_no_sense_are_named_all_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        Weighting("averaged", scale=0.0, draws=1, target_claim=-1.0)
    assert len(caught.value.problems) == 4
    for words, given in [
        ("standard 'best' is unknown", {"standard": "best"}),
        ("needs ranges", {"standard": "truncated"}),
        ("ranges belong to the standards averaged and truncated", {"standard": "weighted", "ranges": RANGES}),
        ("needs a target", {"standard": "capped"}),
        ("no target can be met", {"standard": "unweighted", "target_claim": 1.0}),
    ]:
        with pytest.raises(PlanError, match=words):
            Weighting(**given)  # pyright: ignore[reportArgumentType]


# --- ranges ---------------------------------------------------------------------------------------------------


def test_a_radius_turns_round_below_zero() -> None:
    low, high = Radius(0.5, 2.0).limits(np.array([-2.0, 4.0]), "continuous")
    assert (low.tolist(), high.tolist()) == ([-4.0, 2.0], [-1.0, 8.0])


def test_radii_by_record_follow_their_records() -> None:
    radius = Radius(np.array([0.5, 0.6, 0.7, 0.8]), 1.2)
    assert radius.limits(VALUES, "continuous")[0].tolist() == [0.5, 1.2, 7.0, 32.0]
    assert radius.without(1).limits(np.delete(VALUES, 1), "continuous")[0].tolist() == [0.5, 7.0, 32.0]
    assert radius.extended().limits(np.append(VALUES, 100.0), "continuous")[0][-1] == 50.0


def test_the_tail_is_the_top_share() -> None:
    values = np.arange(1.0, 201.0)
    low, high = WiderInTail(0.4, 1.8, 0.2, 2.4, 0.05).limits(values, "continuous")
    assert (low / values).round(9).tolist() == [0.4] * 190 + [0.2] * 10
    assert (high / values).round(9).tolist() == [1.8] * 190 + [2.4] * 10


def test_public_brackets_hold_their_values() -> None:
    brackets = Brackets([0, 2, 10, 50])
    low, high = brackets.limits(VALUES, "continuous")
    assert (low.tolist(), high.tolist()) == ([0.0, 2.0, 10.0, 10.0], [2.0, 10.0, 50.0, 50.0])
    low, high = brackets.limits(np.array([0.0, 1.0, 2.0, 9.0, 50.0]), "counts")
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0, 2.0, 2.0, 10.0], [1.0, 1.0, 9.0, 9.0, 50.0])
    assert brackets.extended().limits(np.array([1e9]), "continuous")[0].tolist() == [10.0]


def test_public_brackets_do_not_give_values_away(family: Family) -> None:
    """Two tables in the same brackets have the same ranges; a radius moves with the value."""
    brackets: Ranges = Brackets([0, 10, 100, 1e9])
    moved = np.where(family.values == family.values.max(), family.values * 1.1, family.values)
    assert np.array_equal(brackets.limits(family.values, "continuous"), brackets.limits(moved, "continuous"))
    assert not np.array_equal(RANGES.limits(family.values, "continuous"), RANGES.limits(moved, "continuous"))


@pytest.mark.parametrize("ends", [(1.1, 1.8), (0.4, 0.9), (np.nan, 2.0), (0.5, np.nan), (np.array([0.5, 1.5]), 2.0)])
def test_ranges_that_miss_the_value_are_named(ends: tuple[float, float]) -> None:
    with pytest.raises(PlanError, match="the ranges miss the values"):
        Radius(*ends)


def test_other_ranges_are_refused() -> None:
    with pytest.raises(TableError, match="2 of 4 values lie outside 0 to 5"):
        Brackets([0, 5]).limits(VALUES, "continuous")
    with pytest.raises(TableError, match="1 ranges have no width"):
        Radius(0.5, 2.0).limits(np.array([0.0, 1.0]), "continuous")
    with pytest.raises(PlanError, match="4 numbers needed in a"):
        Radius(np.array([0.5, 0.5]), 2.0).limits(VALUES, "continuous")
    with pytest.raises(PlanError, match="needs numbers, not codes"):
        Radius(0.5, 2.0).limits(VALUES, "codes")
    for edges in ([1], [2, 1], [0, np.nan]):
        with pytest.raises(PlanError, match="at least two edges"):
            Brackets(edges)
    with pytest.raises(PlanError, match="between 0 and 1"):
        WiderInTail(0.4, 1.8, 0.2, 2.4, 5)
    with pytest.raises(PlanError, match="the ranges miss"):
        WiderInTail(0.4, 1.8, 1.2, 2.4, 0.05)
