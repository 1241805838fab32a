"""Plans of graphical methods: free, honest about needs, and a refusal for everything that cannot be done."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import AIM, MST, Ledger, Schema
from sfumato.errors import DraftSchemaError, MissingExtra, PlanError, SfumatoError
from sfumato.mechanisms.graphical.aim import within_model_size
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate
from sfumato.mechanisms.graphical.method import RoundSettings
from sfumato.mechanisms.graphical.plan import LARGEST_COLUMN, LARGEST_TABLE, chosen_names
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES
from sfumato.privacy.exact import to_fraction

FACTS = """
[table]
name = "clinic"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.dose]
kind = "number"
bounds = [0.0, 10.0]
missing = true
"""
SCHEMA = Schema.parse(FACTS)
CODES = ", ".join(f'"c{i}"' for i in range(100_000))
WIDE = Schema.parse(f'{FACTS}[columns.code]\nkind = "category"\nvalues = [{CODES}]')
both = pytest.mark.parametrize("method", [AIM, MST])


def clinic(rows: int = 80) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": generator.choice(["f", "m"], rows),
            "age": generator.integers(0, 99, rows),
            "dose": generator.uniform(0, 10, rows),
        }
    )


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(SCHEMA.name, epsilon=100, delta="1e-3", adjacency="add-remove")
    return book


def refused(
    ledger: Ledger, error: type[SfumatoError], make, frame=None, schema: Schema = SCHEMA, rows=None
) -> SfumatoError:
    """The error of a release; nothing may have been spent, and there must be a next step."""
    table = sfumato.read(clinic() if frame is None else frame, schema)
    with pytest.raises(error) as caught:
        sfumato.release(table, make(), rows=rows, ledger=ledger)
    assert type(caught.value) is error
    assert ledger.history() == ()
    assert caught.value.next_step
    return caught.value


@both
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"columns": ["sex"]}, "at least 2 columns are needed, found 1"),
        ({"columns": []}, "at least 2 columns are needed, found 0"),
        ({"columns": ["sex", "income"]}, "no column 'income' (use one of: sex, age, dose)"),
        ({"columns": ["sex", "sex", "age"]}, "columns repeat"),
        ({"bins": "fine"}, "bins 'fine' is unknown: use one of adaptive, schema"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": "much"}, "epsilon must be a finite number"),
        ({"epsilon": None}, "epsilon must be a finite number"),
        ({"epsilon": float("nan")}, "epsilon must be a finite"),
        ({"epsilon": 1e-9}, "epsilon must lie between 0.0001 and"),
        ({"delta": 0}, "delta must be above 0"),
        ({"delta": 1}, "delta must be below 1"),
        ({"delta": "x"}, "delta must be a finite number"),
        ({"epsilon": -1, "delta": -1, "bins": "x"}, "delta must be above 0, found -1\n  - bins 'x' is unknown"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(method, parameters, says, ledger):
    found = refused(ledger, PlanError, lambda: method(**{"epsilon": 1, **parameters}))
    assert says in str(found)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"model": "oak"}, "model 'oak' is unknown"),
        ({"model_megabytes": 0}, "model_megabytes must be above 0"),
        ({"model_megabytes": "1e-5"}, "needs 0.001 MB, its limit is 1e-05 MB: raise model_megabytes"),
        ({"workload": "4-way"}, "use one of auto, 2-way, 3-way, or column sets"),
        ({"workload": [["sex", "income"]]}, "there is no synthesised column 'income'"),
        ({"workload": [["sex", "age"]], "columns": ["age", "dose"]}, "there is no synthesised column 'sex'"),
        ({"model": "mixture", "workload": "3-way"}, "leave workload out"),
    ],
)
def test_bad_parameters_of_aim_are_refused_before_anything_is_spent(parameters, says, ledger):
    assert says in str(refused(ledger, PlanError, lambda: AIM(epsilon=1, **parameters)))


@both
def test_a_column_of_a_hundred_thousand_categories_is_refused(method, ledger):
    frame = clinic().assign(code="c7")
    found = refused(ledger, PlanError, lambda: method(epsilon=1), frame, WIDE)
    assert "column 'code' has 100,000 levels, at most 50,000" in str(found)
    assert "leave it out" in str(found)
    assert sfumato.plan(WIDE, method(epsilon=1, columns=["sex", "age"])).cells > 0


@both
@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_one_row_or_none_is_released_like_any_other(method, rows, ledger):
    """Tables of one row and of two are neighbours: a refusal would tell them apart for sure."""
    made = sfumato.release(sfumato.read(clinic().iloc[:rows], SCHEMA), method(epsilon=1), ledger=ledger)
    assert list(made.data.columns) == ["sex", "age", "dose"]
    assert len(ledger.history()) == 1


@both
@pytest.mark.parametrize("rows", [0, -3, 2.5, True, 10**9])
def test_a_senseless_number_of_rows_is_refused(method, rows, ledger):
    assert "rows must be a whole number between 1 and" in str(
        refused(ledger, PlanError, lambda: method(epsilon=1), rows=rows)
    )


@both
@pytest.mark.parametrize(
    ("checks", "named"),
    [
        (["age > 10 and age < 5"], "'age > 10 and age < 5'"),
        (["age > 50", "age < 40"], "'age > 50' and 'age < 40' at once"),
    ],
)
def test_contradictory_rules_are_refused_and_named(method, checks, named, ledger):
    schema = Schema.parse(FACTS + "".join(f'[[rules]]\ncheck = "{check}"\n' for check in checks))
    with pytest.raises(PlanError, match="the rules leave no row") as caught:
        sfumato.plan(schema, method(epsilon=1), ledger=ledger)
    assert named in str(caught.value)
    assert sfumato.plan(schema, method(epsilon=1, columns=["sex", "dose"])).cells > 0


@both
def test_a_draft_is_refused(method, ledger):
    refused(ledger, DraftSchemaError, lambda: method(epsilon=1), schema=dataclasses.replace(SCHEMA, is_draft=True))


@both
def test_tables_beyond_memory_are_refused(method, ledger, monkeypatch):
    monkeypatch.setenv("SFUMATO_MEMORY", "100MB")
    found = refused(ledger, PlanError, lambda: method(epsilon=1))
    assert "GB" in str(found) and "SFUMATO_MEMORY" in str(found)


@both
def test_a_plan_costs_nothing_and_shows_time_and_memory(method, ledger):
    made = sfumato.plan(SCHEMA, method(epsilon="1/3"), ledger=ledger)
    assert ledger.history() == ()
    assert (made.epsilon, made.left_before, to_fraction(made.left_after)) == ("1/3", "100", Fraction(299, 3))
    assert made.seconds > 0
    assert made.memory_bytes > 100_000_000
    assert sum(to_fraction(stage.share) for stage in made.stages) == 1
    (event,) = made.events
    assert event.kind == "gaussian-and-choices"
    assert event.cost == (Fraction(1, 3), Fraction(1, 10**9))


def test_a_larger_model_more_tables_and_more_rows_take_more():
    small = sfumato.plan(SCHEMA, AIM(1, workload="2-way", model_megabytes=1))
    large = sfumato.plan(SCHEMA, AIM(1, workload="3-way", model_megabytes=20), rows=10**7)
    assert large.seconds > small.seconds
    assert large.memory_bytes > small.memory_bytes + 10**8


def test_noise_grows_as_the_adjacency_and_the_person_demand():
    who = dataclasses.replace(SCHEMA["age"], name="who")
    person = dataclasses.replace(SCHEMA, columns=(*SCHEMA, who), person="who", rows_per_person=3)
    replace = dataclasses.replace(SCHEMA, adjacency="replace", rows=80)
    names = ["sex", "age", "dose"]
    one, two, three = (sfumato.plan(schema, MST(1, columns=names)) for schema in (SCHEMA, replace, person))
    scales = [
        [stage.scale for stage in made.stages if stage.noise == "discrete gaussian"] for made in (one, two, three)
    ]
    assert np.array(scales[1]) / scales[0] == pytest.approx(2**0.5)
    assert np.array(scales[2]) / scales[0] == pytest.approx(3)
    assert two.rows == 80 and one.rows is None
    assert [event.parts[0].changed_cells for event in (*one.events, *two.events)] == [1, 2]
    assert three.events[0].parts[0].sensitivity == 3


def test_people_are_never_synthesised():
    schema = dataclasses.replace(
        SCHEMA, columns=(*SCHEMA, dataclasses.replace(SCHEMA["age"], name="who")), person="who"
    )
    assert chosen_names(schema, None) == ("sex", "age", "dose")
    assert chosen_names(schema, ["dose", "sex"]) == ("sex", "dose")
    with pytest.raises(PlanError, match="'who' identifies people"):
        chosen_names(schema, ["sex", "who"])


def test_everything_wrong_with_the_columns_is_said_at_once():
    with pytest.raises(PlanError, match="cannot be used") as caught:
        chosen_names(SCHEMA, ["sex", "sex", "x", "y"])
    assert len(caught.value.problems) == 3


def test_an_unknown_backend_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(PlanError, match="backend 'tpu' is unknown"):
        sfumato.AIM(epsilon=1, backend="tpu")
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(MissingExtra, match="needs JAX"):
        sfumato.AIM(epsilon=1, model="mixture", backend="jax")


@pytest.mark.parametrize("method", [MST(epsilon=1), AIM(epsilon=1, model="mixture")])
def test_more_cells_than_the_proof_allows_are_refused_beforehand(method, monkeypatch):
    """Two columns of 10,000 levels: their pair alone has more cells than a run may measure."""
    monkeypatch.setenv("SFUMATO_MEMORY", "1TB")
    levels = ", ".join(f'"v{i}"' for i in range(10_000))
    columns = "".join(f'[columns.{name}]\nkind = "category"\nvalues = [{levels}]\n' for name in ("a", "b"))
    wide = Schema.parse(f'[table]\nname = "t"\n{columns}[columns.c]\nkind = "boolean"\n')
    with pytest.raises(PlanError, match="what the proof allows"):
        sfumato.plan(wide, method)
    assert sfumato.plan(wide, AIM(epsilon=1, model="tree")).cells > 0


def test_rounds_never_offer_a_table_beyond_the_proof():
    """At most 100 rounds, and first tables of at most 200 columns of 50,000 levels."""
    assert 101 * LARGEST_TABLE + 200 * LARGEST_COLUMN <= MOST_COORDINATES
    big = LARGEST_TABLE + 1
    counts = {CoarsenedMarginal((0,)): np.zeros(4, np.int64), CoarsenedMarginal((0, 1)): np.zeros(big, np.int64)}
    problem = Candidates(Resolutions((4, 4)), 10.0, counts, dict.fromkeys(counts, 1), 1)
    model = estimate((4, 4), [], 10.0)
    assert within_model_size(problem, model, RoundSettings(megabytes=1e6), 1.0, problem.weights) == [
        CoarsenedMarginal((0,))
    ]


def test_columns_may_have_more_groups_than_the_schema_has_bins():
    schema = Schema.parse(
        '[table]\nname = "t"\n[columns.a]\nkind = "number"\nbounds = [0, 1]\nbins = 4\n[columns.b]\nkind = "boolean"\n'
    )
    assert AIM(epsilon=1).planned(schema).largest_sizes == (32, 2)
    assert AIM(epsilon=1, bins="schema").planned(schema).largest_sizes == (4, 2)


def test_larger_sets_of_many_levels_are_left_out_instead_of_refusing_the_table():
    """Ten columns of 60 levels: sets of three have 216,000 cells each, and all of them would need 66 GB."""
    levels = ", ".join(f'"v{i}"' for i in range(60))
    columns = "".join(f'[columns.c{i}]\nkind = "category"\nvalues = [{levels}]\n' for i in range(10))
    wide = Schema.parse(f'[table]\nname = "t"\n{columns}')
    assert sfumato.plan(wide, AIM(epsilon=1)).memory_bytes < 10**9
    assert max(map(len, AIM(epsilon=1).planned(wide).weights)) == 2
