"""Attribute inference: members against people who are not in the release."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RiskError
from sfumato.example import codebook, households
from sfumato.risk.attacks import AttributeInference
from sfumato.risk.simulated.reference_releases import RandomCounts, RandomRows, RawCounts, RawRows
from sfumato.schema.column import Column

LEVEL = 1 - 1e-6
KNOWN = ["region", "age", "sex", "education", "persons"]
ALL = [*KNOWN, "insured"]


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=1200, seed=3), codebook())


@pytest.fixture(scope="module")
def even() -> sfumato.Table:
    """Known and sensitive values independent and uniform: nothing can be learned about the population."""
    rng = np.random.default_rng(1)
    frame = pa.table({"a": rng.integers(0, 40, 1200), "b": rng.integers(0, 40, 1200), "s": rng.integers(0, 4, 1200)})
    columns = [sfumato.schema.column.Column(n, "integer", bounds=(0, k)) for n, k in (("a", 39), ("b", 39), ("s", 3))]
    return sfumato.read(frame, sfumato.Schema(name="even", columns=tuple(columns)))


@pytest.mark.parametrize("learner", ["nearest", "forest"])
def test_rows_as_they_are_give_members_away_and_nobody_else(table, learner):
    result = AttributeInference(KNOWN, "insured", learner).against(table, RawRows(ALL), seed=1, level=LEVEL)
    assert result.rate > 0.95 and result.succeeds
    assert result.gain > 0.15 and result.interval.low > result.control_interval.high


@pytest.mark.parametrize("method", [RawRows(), RawCounts(["a", "b", "s"])])
def test_the_table_as_it_is_gives_every_member_away(even, method):
    result = AttributeInference(["a", "b"], "s").against(even, method, seed=1, level=LEVEL)
    assert result.rate > 0.8 and result.interval.low > result.baseline + 0.3
    assert result.baseline in result.control_interval, "nothing is learned about the others"


@pytest.mark.parametrize("method", [RandomRows(count=600), RandomCounts(["a", "b", "s"])])
@pytest.mark.parametrize("learner", ["nearest", "forest"])
def test_noise_gives_nobody_away(even, method, learner):
    result = AttributeInference(["a", "b"], "s", learner).against(even, method, seed=1, level=LEVEL)
    assert result.baseline in result.interval and not result.succeeds


@pytest.mark.parametrize("method", [sfumato.Contingency(["a", "b", "s"], 0.1), sfumato.Marginals(1.0)])
def test_private_releases_tell_members_from_others_little(even, method):
    result = AttributeInference(["a", "b"], "s").against(even, method, seed=1, level=LEVEL)
    assert result.control_interval.low <= result.rate <= result.control_interval.high


def test_counts_and_rows_say_the_same(table):
    """The mode of the true cross table is the vote of the matching rows."""
    known = ["region", "sex", "education"]
    attack = AttributeInference(known, "tenure")
    rows = attack.against(table, RawRows([*known, "tenure"]), seed=1)
    counts = attack.against(table, RawCounts([*known, "tenure"]), seed=1)
    assert rows.rate == pytest.approx(counts.rate, abs=0.02) and rows.baseline == counts.baseline


def test_a_real_release_is_attacked_as_it_is(table, schema):
    release = sfumato.release(
        table, sfumato.Contingency([["sex", "insured"], ["insured", "age", "region"]], 5.0), seed=1
    )
    attack = AttributeInference(KNOWN, "insured")
    first = attack.run(release, table, households(rows=500, seed=9), trials=400, seed=1)
    again = attack.run(release.data, table, households(rows=500, seed=9), trials=400, seed=1)
    assert first == again and first.trials == 400 and first.control is not None
    synthetic = sfumato.release(table, sfumato.Marginals(2.0, columns=ALL), seed=1)
    by_release, by_frame = (attack.run(made, table, seed=1) for made in (synthetic, synthetic.data))
    assert by_release == by_frame and by_release.control is None
    assert "No control was given" in by_release.statement() and "No control was given" not in first.statement()
    assert "most common value" in by_release.statement()


def test_column_order_does_not_matter(even):
    for columns in (["a", "b", "s"], ["s", "b", "a"], ["b", "s", "a"]):
        result = AttributeInference(["a", "b"], "s").against(even, RawCounts(columns), seed=1)
        assert result.rate > 0.8


@pytest.fixture(scope="module")
def copied() -> tuple[sfumato.Table, pa.Table]:
    """A binary secret that hangs on nothing, beside numbers that single everybody out."""
    rng = np.random.default_rng(1)
    frame = pa.table(
        {
            "x": rng.random(400),
            "z": rng.random(400),
            "g": rng.choice(["a", "b", "c"], 400),
            "s": rng.choice(["no", "yes"], 400),
        }
    )
    columns = (
        Column("x", "number", bounds=(0.0, 1.0)),
        Column("z", "number", bounds=(0.0, 1.0)),
        Column("g", "category", values=("a", "b", "c")),
        Column("s", "category", values=("no", "yes")),
    )
    return sfumato.read(frame, sfumato.Schema(name="copied", columns=columns)), frame


def test_a_copy_gives_everybody_away(copied):
    table, frame = copied
    noise = np.random.default_rng(2).standard_normal(400)
    shaken = frame.set_column(0, "x", [np.clip(frame["x"].to_numpy() + 1e-4 * noise, 0, 1)])
    for made in (frame, shaken):
        result = AttributeInference(["x", "z", "g"], "s").run(made, table, seed=1)
        assert result.rate == 1.0 and "sees the released values themselves" in str(result.threat)
    forest = AttributeInference(["x", "z", "g"], "s", "forest").run(frame, table, seed=1)
    assert forest.rate > 0.99


def test_an_attacker_who_sees_bins_only_misses_some_of_a_copy(copied):
    """The mutant of the test above."""
    table, frame = copied
    result = AttributeInference(["x", "z", "g"], "s", sees="bins").run(frame, table, seed=1)
    assert 0.5 < result.rate < 1.0 and "only the public bin" in str(result.threat)


def test_a_constant_release_gives_nobody_away(copied):
    table, frame = copied
    constant = pa.table({name: [frame[name][0].as_py()] * 400 for name in frame.column_names})
    result = AttributeInference(["x", "z", "g"], "s").run(constant, table, seed=1)
    assert result.rate <= result.baseline and not result.succeeds


def test_counts_know_nothing_but_cells_and_the_result_says_so(copied):
    result = AttributeInference(["x", "z"], "s").against(copied[0], RawCounts(["x", "z", "s"]), seed=1)
    assert "released counts" in result.threat.sees


def test_what_right_means_is_said_for_an_ordered_secret(copied):
    result = AttributeInference(["z", "g"], "x").run(copied[1], copied[0], seed=1)
    assert result.rate == 1.0 and "A guess of x is right when it names the public bin" in result.statement()


def test_people_stay_together():
    """One person's rows are released together or held back together."""
    from sfumato.risk.attacks.attribute_inference import _halves

    frame = pa.table({"who": [str(i // 3) for i in range(300)], "s": [i % 2 for i in range(300)]})
    columns = (
        sfumato.schema.column.Column("who", "category", role="identifier"),
        sfumato.schema.column.Column("s", "integer", bounds=(0, 1)),
    )
    schema = sfumato.Schema(name="t", columns=columns, person="who", rows_per_person=3)
    halves = _halves(sfumato.read(frame, schema), np.random.default_rng(1))
    people = [set(h.source.engine.aggregate(h.source.engine.table).column("who").to_pylist()) for h in halves]
    assert not people[0] & people[1] and len(people[0]) == 50


def test_replace_adjacency_has_its_own_row_count():
    private = sfumato.read(households(rows=200, seed=3), replace(codebook(), adjacency="replace", rows=200))
    result = AttributeInference(["sex"], "insured").against(private, sfumato.Marginals(1.0, columns=["sex", "insured"]))
    assert result.trials == 100


def few() -> sfumato.Table:
    return sfumato.read(households(rows=9), codebook())


@pytest.mark.parametrize(
    "call",
    [
        lambda t: AttributeInference([], "insured"),
        lambda t: AttributeInference(["insured", "age", "age"], "insured"),
        lambda t: AttributeInference(["age"], "insured", "oracle"),
        lambda t: AttributeInference(["age"], "insured", sees="everything"),
        lambda t: AttributeInference(["age"], "insured").against(t, sfumato.Histogram("age", 1.0)),
        lambda t: AttributeInference(["age"], "insured").run(households(rows=0), t),
        lambda t: AttributeInference(["age"], "insured").run(households(rows=9), households(rows=9)),
        lambda t: AttributeInference(["age"], "insured").run(households(rows=9), households(rows=0), schema=codebook()),
        lambda t: AttributeInference(["sex"], "insured").run({("sex", "insured"): pa.table({"count": [1]})}, t),
        lambda t: AttributeInference(["age"], "insured").against(few(), RawRows()),
    ],
)
def test_nonsense_is_refused_by_name(table, call):
    with pytest.raises(RiskError, match="Next step"):
        call(table)
