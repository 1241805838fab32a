"""Membership inference: exact optima, honest intervals, yardsticks, and named errors."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import PlanError, RiskError, TableError
from sfumato.example import codebook, households
from sfumato.metrics.confidence import binomial_interval
from sfumato.metrics.rows_view import CachedCounts, read_codes
from sfumato.papers.reaedp.published import published_pair
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks import (
    AttackResult,
    LikelihoodRatio,
    ShadowModelAttack,
    ThreatModel,
    dp_ceiling,
    optimal_accuracy,
)
from sfumato.risk.attacks.membership import entropy_and_total
from sfumato.risk.simulated import CountWorlds, MethodWorlds, membership_game
from sfumato.risk.simulated.reference_releases import RandomCounts, RandomRows, RawCounts, RawRows

COLUMNS = ["region", "sex", "education", "insured"]
LEVEL = 1 - 1e-6


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=300, seed=3), codebook())


def brute_force(law, shifts) -> float:
    """(1 + TV) / 2 by the sum over every outcome of every cell."""
    reach = np.arange(-60, 61)
    cells = [(law.pmf(reach), law.pmf(reach - shift)) for shift in shifts]
    p, q = (np.prod(list(itertools.product(*(cell[side] for cell in cells))), axis=1) for side in (0, 1))
    return 0.5 + np.abs(p - q).sum() / 4


@pytest.mark.parametrize("law", [Geometric(0.5), Geometric(2.0), DiscreteGaussian(1.5)])
@pytest.mark.parametrize("shifts", [(1,), (2,), (1, -1), (1, 3)])
def test_the_optimum_equals_brute_force(law, shifts):
    assert optimal_accuracy(law, shifts) == pytest.approx(brute_force(law, shifts), abs=1e-10)


def test_goldens_of_the_paper():
    pair = [optimal_accuracy(Laplace(e), (1, 1)) for e in (0.5, 1, 2, 4)]
    added = [optimal_accuracy(Laplace(e)) for e in (0.5, 1, 2, 4)]
    assert np.round(pair, 4).tolist() == [0.6209, 0.7241, 0.8647, 0.9725]
    assert np.round(added, 4).tolist() == [0.6106, 0.6967, 0.8161, 0.9323]


def test_one_more_record_under_discrete_laplace_noise_meets_the_ceiling():
    for epsilon in (0.1, 1.0, 3.0):
        assert optimal_accuracy(Geometric(epsilon)) == pytest.approx(dp_ceiling(epsilon), abs=1e-12)
        assert optimal_accuracy(Laplace(epsilon)) < dp_ceiling(epsilon)


def test_a_fine_lattice_tends_to_continuous_noise():
    assert optimal_accuracy(Geometric(1e-3), (1000, 1000)) == pytest.approx(
        optimal_accuracy(Laplace(1.0), (1, 1)), abs=1e-3
    )
    assert optimal_accuracy(DiscreteGaussian(200), (150,)) == pytest.approx(
        optimal_accuracy(Gaussian(2), (1.5,)), abs=1e-6
    )


def test_no_difference_is_a_coin():
    assert optimal_accuracy(Geometric(1.0), (0, 0)) == 0.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: optimal_accuracy([Laplace(1.0)], (1, 1)),
        lambda: optimal_accuracy(Laplace(1.0), (1, 2)),
        lambda: optimal_accuracy([Laplace(1.0), Geometric(1.0)], (1, 1)),
        lambda: CountWorlds.of([1, 2], [1, 2, 3], Geometric(1.0)),
        lambda: CountWorlds.of([1.5], [2.5], Geometric(1.0)),
        lambda: published_pair([0, 4], 1.0, 0, 1),
        lambda: published_pair([3, 4], 1.0, 0, 2),
        lambda: ShadowModelAttack("everything"),
        lambda: LikelihoodRatio().run(CountWorlds.of([1], [2], Geometric(1.0)), trials=5),
        lambda: LikelihoodRatio().run(CountWorlds.of([1], [2], Geometric(1.0)), level=1.0),
        lambda: LikelihoodRatio().run(CountWorlds.of([1], [2], Geometric(1.0)), seed=-1),
        lambda: ShadowModelAttack(shadows=4).run(CountWorlds.of([1], [2], Geometric(1.0))),
    ],
)
def test_nonsense_is_refused_by_name(call):
    with pytest.raises(RiskError, match="Next step"):
        call()


def test_both_problems_are_told_at_once():
    with pytest.raises(RiskError) as caught:
        LikelihoodRatio().run(CountWorlds.of([1], [2], Geometric(1.0)), trials=5, level=2)
    assert len(caught.value.problems) == 2


def test_ceilings():
    assert dp_ceiling(0) == 0.5
    assert dp_ceiling(1, 0.01) == pytest.approx((math.e + 0.01) / (1 + math.e))
    assert dp_ceiling(1, 0.01, records=2) == pytest.approx((math.e**2 + 0.01 * (1 + math.e)) / (1 + math.e**2))
    assert dp_ceiling(1, 1.0) == 1.0 and dp_ceiling(1000) == 1.0


def test_the_exact_interval_covers():
    """Every p on a grid is covered with at least the stated probability: summed over all outcomes of n = 40."""
    from scipy.stats import binom

    n = 40
    intervals = [binomial_interval(k, n, 0.9) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 50):
        covered = [k for k in range(n + 1) if p in intervals[k]]
        assert binom.pmf(covered, n, p).sum() >= 0.9


def test_what_a_result_says():
    threat = ThreatModel(goal="to know", knowledge=("this", "that"))
    result = AttackResult(
        attack="A",
        threat=threat,
        rate=0.9,
        interval=binomial_interval(90, 100),
        trials=100,
        baseline=0.5,
        control=0.5,
        ceiling=0.731,
        claim="epsilon 1",
        optimal=0.73,
    )
    assert result.advantage == pytest.approx(0.4) and result.gain == pytest.approx(0.4)
    assert result.succeeds and result.refutes_claim
    for words in ("right in 90.0 % of 100 trials", "Guessing", "Control", "REFUTED: the guarantee (epsilon 1)", "best"):
        assert words in result.statement()
    assert "wants to know; knows this; that" in str(result)
    assert "knows this; that; sees bins" in str(threat.seeing("bins")) == str(threat.seeing("bins").seeing("values"))
    verdicts = {
        right: result.model_copy(update={"interval": binomial_interval(right, 100)}).verdict() for right in (30, 50, 90)
    }
    assert "worse than guessing" in verdicts[30] and "not seen to beat" in verdicts[50] and "helps" in verdicts[90]
    with pytest.raises(ValueError, match="frozen"):
        result.rate = 0.1


def test_the_published_attack_understates_the_risk():
    counts = np.random.default_rng(6).multinomial(1460, np.random.default_rng(7).dirichlet(np.ones(30)))
    pair = published_pair(counts, 1.0, int(counts.argmax()), 0)
    start = time.perf_counter()
    published = ShadowModelAttack("entropy-total").run(pair, trials=10_000, seed=1, level=LEVEL)
    best = LikelihoodRatio().run(pair, trials=10_000, seed=1, level=LEVEL)
    assert time.perf_counter() - start < 10
    assert published.interval.high < best.interval.low
    assert 0.5 < published.rate < 0.6 and published.auc > 0.5
    assert best.ceiling == dp_ceiling(1.0, records=2)


def test_the_rate_is_not_measured_on_training_data():
    """With 20 shadows and 60 useless features, training accuracy would be near 1: fresh releases say one half."""
    base = np.full(60, 5)
    pair = CountWorlds.of(base, base + 1, Geometric(1e-3))
    result = ShadowModelAttack(shadows=20).run(pair, trials=4000, seed=1, level=LEVEL)
    assert result.optimal is not None and result.interval.high < 0.56


def test_entropy_and_total():
    assert entropy_and_total(np.array([[2.0, 2.0, 0.0], [-1.0, -2.0, 0.0]])).tolist() == [[1.0, 4.0], [0.0, -3.0]]


def test_seeded_games_repeat(table):
    method = sfumato.Histogram("age", 1.0)
    first, again, other = (ShadowModelAttack().run(table, method, trials=100, seed=s) for s in (1, 1, 2))
    assert first == again and first != other


@pytest.mark.parametrize("method", [RawCounts(COLUMNS), RawCounts(["age"]), RawRows(COLUMNS)])
def test_the_table_as_it_is_gives_everyone_away(table, method):
    result = ShadowModelAttack().run(table, method, trials=80, seed=1, level=LEVEL)
    assert result.rate == 1.0 and result.succeeds
    assert result.control == 0.5 and result.ceiling is None


@pytest.mark.parametrize("method", [RandomCounts(COLUMNS), RandomRows(COLUMNS, 200)])
def test_noise_gives_nobody_away(table, method):
    result = ShadowModelAttack().run(table, method, trials=80, seed=1, level=LEVEL)
    assert 0.5 in result.interval and not result.succeeds


def test_a_synthesizer_stays_below_its_ceiling(table):
    result = ShadowModelAttack().run(
        table, sfumato.Marginals(1.0, columns=COLUMNS), trials=60, seed=1, level=LEVEL, rows=200
    )
    assert not result.refutes_claim and result.ceiling == pytest.approx(dp_ceiling(1.0))
    assert "never" not in result.claim and "none of them is published" in result.statement()
    with pytest.raises(RiskError, match="not known"):
        LikelihoodRatio().run(table, sfumato.Marginals(1.0, columns=COLUMNS), trials=60)
    with pytest.raises(RiskError, match="no counts"):
        ShadowModelAttack("entropy-total").run(table, sfumato.Marginals(1.0, columns=COLUMNS), trials=60)


def test_every_registered_method_can_be_attacked(table):
    for info in sfumato.methods().values():
        method = info.cls.example(table.schema)
        played = membership_game(table, method)
        assert (played.ceiling is not None) == (sfumato.plan(table.schema, method).epsilon is not None)
        for member in (True, False):
            drawn = played.draw(member, 2, Randomness.of(1))
            assert len(drawn.vectors) == len(drawn.features) == 2 and drawn.features.shape[1] > 0, info.name
            assert np.isfinite(drawn.features).all()


def test_rows_drawn_from_noisy_counts_are_run_and_not_computed(table):
    played = membership_game(table, sfumato.Histogram("age", 1.0, synthetic=True))
    assert isinstance(played, MethodWorlds) and played.optimal is None
    assert not ShadowModelAttack().run(played, trials=100, seed=1, level=LEVEL).refutes_claim


def test_several_tables_share_the_budget(table):
    pair = membership_game(table, sfumato.Contingency([["age"], ["sex", "region"]], 1.0), target=3)
    assert [len(t.moved) for t in pair.tables] == [1, 1] and pair.row == 3
    assert pair.optimal == pytest.approx(optimal_accuracy(Geometric(0.5), (1, 1)))


def test_replacing_keeps_the_number_of_rows():
    schema = replace(codebook(), adjacency="replace", rows=300)
    private = sfumato.read(households(rows=300, seed=3), schema)
    pair = membership_game(private, sfumato.Histogram("age", 1.0))
    assert pair.tables[0].within.sum() == pair.tables[0].without.sum() == 300
    assert len(pair.tables[0].moved) == 2
    rows = membership_game(private, sfumato.Marginals(1.0, columns=COLUMNS), target=0)
    assert isinstance(rows, MethodWorlds) and len(rows.people) == 2
    assert len(rows.draw(True, 2, Randomness.of(1)).features) == 2
    ages = read_codes(private, schema, ["age"])[:, 0]
    twin = int(np.flatnonzero(ages == ages[0])[1])
    with pytest.raises(RiskError, match="the same in this release"):
        membership_game(private, sfumato.Histogram("age", 1.0), target=0, replaced_by=twin)


def test_a_game_refuses_what_cannot_be_played(table):
    with pytest.raises(RiskError, match="rows 0 to 299"):
        membership_game(table, sfumato.Histogram("age", 1.0), target=300)
    with pytest.raises(PlanError, match="histogram"):
        membership_game(table, sfumato.Histogram("shoe", 1.0))
    with pytest.raises(RiskError, match="through a method"):
        ShadowModelAttack().run(table)
    with pytest.raises(RiskError, match="needs a table"):
        ShadowModelAttack().run(CountWorlds.of([1], [2], Geometric(1.0)), sfumato.Histogram("age", 1.0))
    with pytest.raises(RiskError, match="too few"):
        membership_game(sfumato.read(households(rows=1), codebook()), sfumato.Histogram("age", 1.0))
    wrong = households(rows=5).set_column(2, "age", [[1, 2, 3, 4, 5]])
    with pytest.raises(TableError):
        membership_game(sfumato.read(wrong, codebook()), sfumato.Histogram("age", 1.0))


def test_codes_come_alike_from_every_frame():
    frame, schema, names = households(rows=50, seed=1), codebook(), ["region", "age", "hours"]
    codes = read_codes(frame, schema, names)
    assert (codes == read_codes(frame.to_pandas(), schema, names)).all()
    assert (codes == read_codes(sfumato.read(frame, schema), schema, names)).all()
    with pytest.raises(RiskError, match="outside the schema"):
        read_codes(frame.set_column(2, "age", [[3] * 50]), schema, ["age"])


def test_counts_are_remembered_by_the_cells_that_were_counted():
    """A method may count the same column on cells of its own: those are other counts."""
    schema = sfumato.Schema.parse('[table]\nname = "t"\n[columns.a]\nkind = "integer"\nbounds = [1, 4]\n')
    table = CachedCounts.of(sfumato.read(pd.DataFrame({"a": [1, 2, 2, 4]}), schema))
    coarser = replace(table, schema=schema.replace_columns({"a": {"edges": (1, 3, 4)}}))
    for _ in range(2):
        assert table.marginals([("a",)])[("a",)].tolist() == [1, 2, 0, 1]
        assert coarser.marginals([("a",)])[("a",)].tolist() == [3, 1]
