"""Linkage: fresh references, never the release itself; and rows linked to their synthetic twins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.method import Output
from sfumato.errors import RiskError
from sfumato.example import codebook, households
from sfumato.papers.reaedp.published import published_pair
from sfumato.privacy.noise_distributions import Geometric
from sfumato.risk.attacks import FreshReferenceLinkage, NearestRowLinkage, ShadowModelAttack
from sfumato.risk.simulated import CountWorlds, membership_game
from sfumato.risk.simulated.reference_releases import RandomCounts, RandomRows, RawCounts, RawRows
from sfumato.schema.column import Column

COLUMNS = ["region", "sex", "education", "insured"]
KNOWN = ["region", "age", "sex", "education", "persons", "moved_in"]
LEVEL = 1 - 1e-6


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=300, seed=3), codebook())


def test_fresh_references_do_not_give_the_answer_away():
    """n = 10,000: with the release itself as reference this would be 1.0 at every epsilon."""
    counts = np.random.default_rng(6).multinomial(1460, np.random.default_rng(7).dirichlet(np.ones(30)))
    rates = {}
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        pair = published_pair(counts, epsilon, int(counts.argmax()), 0)
        result = FreshReferenceLinkage().run(pair, trials=10_000, seed=1, level=LEVEL)
        assert not result.refutes_claim and 0.5 in result.control_interval
        assert result.interval.high < result.optimal
        rates[epsilon] = result.rate
    assert rates[0.5] < 0.54 and 0.7 < rates[4.0] < 0.8


def test_more_references_attack_better():
    pair = CountWorlds.of(np.full(30, 5), np.full(30, 5) + (np.arange(30) == 3), Geometric(3.0), 3.0)
    one, many = (FreshReferenceLinkage(r).run(pair, trials=5000, seed=1, level=LEVEL) for r in (1, 20))
    assert one.interval.high < many.interval.low and not many.refutes_claim


@pytest.mark.parametrize("method", [RawCounts(COLUMNS), RawRows(COLUMNS)])
def test_the_table_as_it_is_is_recognised(table, method):
    result = FreshReferenceLinkage().run(table, method, trials=60, seed=1, level=LEVEL)
    assert result.rate == 1.0 and result.succeeds


@pytest.mark.parametrize("method", [RandomCounts(COLUMNS), RandomRows(COLUMNS, 100)])
def test_noise_is_not_recognised(table, method):
    result = FreshReferenceLinkage().run(table, method, trials=60, seed=1, level=LEVEL)
    assert 0.5 in result.interval and 0.5 in result.control_interval


def test_rows_that_were_copied_are_linked(table):
    frame = households(rows=300, seed=3)
    result = NearestRowLinkage(KNOWN).run(table, frame, seed=1, level=LEVEL)
    assert result.rate > 0.98 and result.more["top 10"] == 1.0
    assert result.baseline == pytest.approx(1 / 300) and result.control < 0.05 and result.succeeds
    assert "one from one" in str(result.threat)


def test_rows_of_noise_are_not_linked(table):
    made = RandomRows(KNOWN, 300)
    from sfumato.privacy.randomness import Randomness

    output = made.run(table, made.plan(table.schema), Randomness.of(4))
    result = NearestRowLinkage(KNOWN).run(table, next(iter(output.tables.values())), level=LEVEL, seed=1)
    assert not result.succeeds and result.baseline in result.interval


def test_ties_count_as_a_draw(table):
    """By sex alone every row is as near as all others of its kind: the rate is the number of kinds over n."""
    frame = households(rows=300, seed=3)
    kinds = len(set(frame.column("sex").to_pylist()))
    result = NearestRowLinkage(["sex"], top=1).run(table, frame)
    assert result.rate == pytest.approx(kinds / 300) and result.more["top 1"] == pytest.approx(kinds / 300)


def numbers(rows: int = 400, seed: int = 1) -> tuple[sfumato.Table, pa.Table]:
    """Two numbers in the default 32 bins and a level, all uniform."""
    rng = np.random.default_rng(seed)
    frame = pa.table({"x": rng.random(rows), "z": rng.uniform(-5, 5, rows), "g": rng.choice(["a", "b"], rows)})
    columns = (
        Column("x", "number", bounds=(0.0, 1.0)),
        Column("z", "number", bounds=(-5.0, 5.0)),
        Column("g", "category", values=("a", "b")),
    )
    return sfumato.read(frame, sfumato.Schema(name="numbers", columns=columns)), frame


def shaken(frame: pa.Table, share: float = 1e-4) -> pa.Table:
    """Return the same rows with normal noise of this share of each range."""
    rng = np.random.default_rng(9)
    for name, low, high in (("x", 0.0, 1.0), ("z", -5.0, 5.0)):
        moved = frame[name].to_numpy() + share * (high - low) * rng.standard_normal(len(frame))
        frame = frame.set_column(frame.column_names.index(name), name, [np.clip(moved, low, high)])
    return frame


def test_a_copy_is_linked_whatever_the_public_bins_are():
    table, frame = numbers()
    for made in (frame, shaken(frame)):
        result = NearestRowLinkage(["x", "z"]).run(table, made, seed=1)
        assert result.rate == 1.0 and result.control < 0.02
        assert "sees the released values themselves" in str(result)
    assert NearestRowLinkage(["x"]).run(table, frame, seed=1).rate == 1.0
    coarse = table.schema.replace_columns({"x": {"bins": 2}, "z": {"bins": 2}})
    assert NearestRowLinkage(["x", "z"]).run(sfumato.read(frame, coarse), frame).rate == 1.0


def test_an_attacker_who_sees_bins_only_loses_a_copy():
    """The mutant of the test above: what is seen is an option, and the result says so."""
    table, frame = numbers()
    result = NearestRowLinkage(["x", "z"], sees="bins").run(table, frame, seed=1)
    assert result.rate < 0.9 and "only the public bin" in result.threat.sees
    assert NearestRowLinkage(["x"], sees="bins").run(table, frame).rate < 0.1


def test_independent_rows_and_a_constant_are_not_linked():
    """n = 400, alpha 1e-6: both stay at 1 / n; ties of a constant release are a fair draw."""
    table, frame = numbers()
    _, other = numbers(seed=2)
    result = NearestRowLinkage(["x", "z"]).run(table, other, level=LEVEL, seed=1)
    assert result.baseline in result.interval and not result.succeeds
    constant = pa.table({name: [frame[name][0].as_py()] * 400 for name in frame.column_names})
    assert NearestRowLinkage(["x", "z"]).run(table, constant).rate == pytest.approx(1 / 400)


def test_missing_values_are_a_level_of_their_own():
    schema = sfumato.Schema(name="m", columns=(Column("x", "number", bounds=(0.0, 1.0), missing=True),))
    frame = pa.table({"x": pa.array([0.25, None, 0.5])})
    assert NearestRowLinkage(["x"]).run(sfumato.read(frame, schema), frame).rate == 1.0


@dataclass(frozen=True)
class Shaken(RawRows):
    """The private rows with noise far below the width of a bin."""

    def run(self, table, plan, randomness, rows=None):
        made = super().run(table, plan, randomness, rows)
        frame = made.tables[("synthetic",)]
        moved = np.clip(frame["x"].to_numpy() + 1e-4 * randomness.generator.standard_normal(len(frame)), 0, 1)
        return Output({("synthetic",): frame.set_column(frame.column_names.index("x"), "x", [moved])}, True)


def test_two_people_of_the_same_cells_are_told_apart_by_values():
    """Under replace, with two rows that lie in the same bins: the view by bins has nothing to tell apart."""
    table, frame = numbers(rows=60)
    near = {"x": 0.501, "z": 0.01, "g": "a"}, {"x": 0.529, "z": 0.3, "g": "a"}
    rows = pa.concat_tables([pa.Table.from_pylist(list(near)), frame.slice(2)])
    private = sfumato.read(rows, replace(table.schema, adjacency="replace", rows=60))
    for attack in (FreshReferenceLinkage(), ShadowModelAttack()):
        result = attack.run(membership_game(private, Shaken(), 0, 1), trials=40, seed=1)
        assert result.rate == 1.0, attack
    with pytest.raises(RiskError, match="the same in this release"):
        membership_game(private, Shaken(), 0, 1, sees="bins")
    with pytest.raises(RiskError, match="the same in this release"):
        membership_game(private, sfumato.Histogram("x", 1.0), 0, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: NearestRowLinkage(["age"], sees="cells"),
        lambda t: FreshReferenceLinkage(0),
        lambda t: NearestRowLinkage([]),
        lambda t: NearestRowLinkage(["age"], top=0),
        lambda t: NearestRowLinkage(KNOWN).run(t, households(rows=10)),
        lambda t: NearestRowLinkage(KNOWN).run(households(rows=10), households(rows=10)),
    ],
)
def test_nonsense_is_refused_by_name(table, call):
    with pytest.raises(RiskError, match="Next step"):
        call(table)


def test_an_unknown_column_is_named(table):
    with pytest.raises(sfumato.errors.SchemaError, match="shoe"):
        NearestRowLinkage(["shoe"]).run(table, households(rows=300))
    open_column = sfumato.schema.column.Column("name", "category", role="identifier")
    schema = replace(codebook(), columns=(*codebook().columns, open_column))
    with pytest.raises(RiskError, match="no public domain"):
        NearestRowLinkage(["name"]).run(households(rows=9), households(rows=9), schema)
