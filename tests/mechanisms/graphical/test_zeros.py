"""Structural zeros against brute force over every value."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.constraints import structural_zeros as cells
from sfumato.constraints.clauses import clauses_of
from sfumato.constraints.structural_zeros import is_satisfiable
from sfumato.mechanisms.graphical import structural_zeros as zeros
from sfumato.mechanisms.graphical.domain_compression import Grouping, identity_grouping
from sfumato.mechanisms.graphical.structural_zeros import structural_zeros
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

COLUMNS = (
    Column("a", "integer", bounds=(0, 11), bins=5, missing=True),
    Column("b", "integer", bounds=(-3, 8), bins=4),
    Column("n", "integer", bounds=(0, 5), missing=True),
    Column("k", "category", values=("x", "y", "z"), missing=True),
    Column("o", "ordinal", values=(1, 2, 4)),
    Column("f", "boolean", missing=True),
)
NAMES = tuple(column.name for column in COLUMNS)
NUMBERS = st.sampled_from(["a", "b", "n", "o"])
LITERALS = st.integers(-4, 12).map(str)
ORDERS = st.sampled_from(["<", "<=", ">", ">="])
COMPARE = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
TERMS = st.one_of(
    NUMBERS,
    LITERALS,
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["+", "-", "*"]), st.one_of(NUMBERS, LITERALS)),
)
ATOMS = st.one_of(
    st.builds("{} {} {}".format, TERMS, COMPARE, TERMS),
    st.builds("{} {} {} {} {}".format, LITERALS, COMPARE, NUMBERS, COMPARE, TERMS),
    st.builds('k {} "{}"'.format, st.sampled_from(["==", "!="]), st.sampled_from("xyz")),
    st.sampled_from(['k in ["x", "y"]', "f", "not f", "o not in [1, 4]"]),
    st.builds("missing({})".format, st.sampled_from(["a", "n", "k", "f"])),
)
PLAIN = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=3,
)
CHECKS = st.one_of(PLAIN, st.builds("{} implies {}".format, PLAIN, PLAIN)).filter(
    lambda check: Rule(check).columns != ()
)


def make(*checks: str, columns: tuple[Column, ...] = COLUMNS) -> Schema:
    return Schema("t", columns, rules=tuple(Rule(check) for check in checks))


def every_value(column: Column) -> list[tuple[int, object, bool]]:
    """Return (code, value, missing) for every value of a column of whole numbers or levels."""
    if column.is_ordered:
        bins = zip(column.starts, column.ends, strict=True)
        found = [(code, value, False) for code, (a, b) in enumerate(bins) for value in range(int(a), int(b) + 1)]
    else:
        found = [(code, level, False) for code, level in enumerate(column.levels)]
    return found + ([(column.present_size, found[0][1], True)] if column.missing else [])


def brute_force(rule: Rule, groupings: list[Grouping]) -> np.ndarray:
    """Return the group cells that hold a row which keeps the rule."""
    rows = list(product(*(every_value(g.column) for g in groupings)))
    values = {}
    for axis, grouping in enumerate(groupings):
        kind = np.int64 if grouping.column.is_ordered else object
        data = np.array([row[axis][1] for row in rows], dtype=kind)
        values[grouping.column.name] = data, np.array([row[axis][2] for row in rows])
    kept = np.broadcast_to(rule.keeps(values, {g.column.name: g.column for g in groupings}), len(rows))
    allowed = np.zeros([g.size for g in groupings], dtype=bool)
    cells = [tuple(int(g.groups[part[0]]) for g, part in zip(groupings, row, strict=True)) for row in rows]
    for cell, keeps in zip(cells, kept, strict=True):
        allowed[cell] |= bool(keeps)
    return allowed


@st.composite
def grouped(draw: st.DrawFn, columns: tuple[Column, ...] = COLUMNS) -> list[Grouping]:
    """Draw groups: runs of neighbours for ordered columns, any pools for the others."""
    found = []
    for column in columns:
        if column.is_ordered or column.kind == "ordinal":
            cuts = draw(st.lists(st.booleans(), min_size=column.present_size - 1, max_size=column.present_size - 1))
            groups = np.cumsum([0, *cuts])
        else:
            size = column.present_size
            raw = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
            groups = np.unique(raw, return_inverse=True)[1]
        if column.missing:
            groups = np.append(groups, groups.max() + 1)
        shares = 1 / np.bincount(groups)[groups]
        found.append(Grouping(column, groups.astype(np.int32), shares, int(groups.max()) + 1))
    return found


def allowed_by(schema: Schema, groupings: list[Grouping], names: tuple[str, ...]) -> np.ndarray:
    """Return the conjunction of all supports over the named columns, in their order."""
    numbers = [NAMES.index(name) for name in names]
    allowed = np.ones([groupings[n].size for n in numbers], dtype=bool)
    for support in structural_zeros(schema, groupings, 10**6)[0]:
        index = [slice(None) if n in support.clique else None for n in sorted(numbers)]
        table = support.allowed[tuple(index)]
        allowed &= table.transpose([sorted(numbers).index(n) for n in numbers])
    return allowed


@settings(max_examples=150)
@given(check=CHECKS, groupings=grouped())
def test_no_cell_that_holds_a_keeping_row_is_forbidden(check: str, groupings: list[Grouping]):
    rule = Rule(check)
    members = [groupings[NAMES.index(name)] for name in rule.columns]
    found = allowed_by(make(check), groupings, rule.columns)
    assert np.all(found | ~brute_force(rule, members))


@pytest.mark.parametrize("fine_cells", [zeros.FINE_CELLS, 30])
@settings(max_examples=60)
@given(
    left=NUMBERS, operator=st.sampled_from(["<", "<=", ">", ">="]), right=st.one_of(NUMBERS, LITERALS), data=st.data()
)
def test_single_comparisons_are_exact(fine_cells: int, left: str, operator: str, right: str, data: st.DataObject):
    check = f"{left} {operator} {right}"
    rule = Rule(check)
    if left == right or (fine_cells < 100 and "o" in rule.columns):
        return
    groupings = data.draw(grouped())
    if np.prod([groupings[NAMES.index(name)].size for name in rule.columns]) > fine_cells:
        return  # not even the groups fit, and the rule is left to repair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zeros, "FINE_CELLS", fine_cells)
        found = allowed_by(make(check), groupings, rule.columns)
    assert np.array_equal(found, brute_force(rule, [groupings[NAMES.index(name)] for name in rule.columns]))


@settings(max_examples=60)
@given(check=PLAIN)
def test_rules_between_unit_cells_are_exact(check: str):
    rule = Rule(check)
    if not set(rule.columns) <= {"n", "k", "o", "f"} or not all(clause.columns for clause in clauses_of(rule)):
        return
    groupings = [identity_grouping(column) for column in COLUMNS]
    members = [groupings[NAMES.index(name)] for name in rule.columns]
    assert np.array_equal(allowed_by(make(check), groupings, rule.columns), brute_force(rule, members))


@settings(max_examples=100)
@given(check=CHECKS)
def test_clauses_are_kept_together_exactly_where_the_rule_is(check: str):
    rule = Rule(check)
    members = [identity_grouping(c) for c in COLUMNS if c.name in rule.columns]
    small = [m for m in members if m.column.name in ("n", "k", "o", "f")]
    if len(small) < len(members) or not members:
        return
    both = [brute_force(clause, small) for clause in clauses_of(rule)]
    assert np.array_equal(np.logical_and.reduce(both), brute_force(rule, small))


def test_the_upper_end_of_a_bin_of_numbers_belongs_to_the_next_but_for_the_last():
    column = Column("x", "number", bounds=(0, 3), bins=3)
    schema = make("x >= 1", columns=(column,))
    assert structural_zeros(schema, [identity_grouping(column)], 100)[0][0].allowed.tolist() == [False, True, True]
    assert is_satisfiable(Rule("x >= 3"), {"x": column})
    assert not is_satisfiable(Rule("x > 3"), {"x": column})


def test_dates_and_dependencies_become_zeros():
    columns = (
        Column("city", "category", values=("Bonn", "Lyon")),
        Column("state", "category", values=("de", "fr")),
        Column("day", "date", bounds=(_day("2020-01-01"), _day("2020-12-31")), bins=12),
    )
    schema = make('city == "Bonn" implies state == "de"', 'day < "2020-07-01"', columns=columns)
    first, second = structural_zeros(schema, [identity_grouping(column) for column in columns], 100)[0]
    assert first.clique == (0, 1)
    assert first.allowed.tolist() == [[True, False], [True, True]]
    assert second.clique == (2,)
    assert second.allowed.sum() == 6


def test_large_tables_and_rules_that_forbid_nothing_stay_for_repair():
    wide = Column("w", "number", bounds=(0, 1), bins=1)
    other = Column("v", "number", bounds=(0, 1), bins=1)
    left_out = Column("left_out", "integer", bounds=(0, 1))
    schema = make("a <= n", "w <= v", "left_out == 1", columns=(*COLUMNS, wide, other, left_out))
    groupings = [identity_grouping(column) for column in (*COLUMNS, wide, other)]
    found, alone = structural_zeros(schema, groupings, 10)
    assert found == []
    assert [rule.check for rule in alone] == ["a <= n", "w <= v"]
    assert [support.clique for support in structural_zeros(schema, groupings, 100)[0]] == [(0, 2)]


def test_an_algebra_that_forgets_missing_values_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The mutant forbids cells of missing values, which keep every comparison."""
    whole = cells._CellAlgebra.compare

    def forgetful(self, operator, left, right):
        return whole(self, operator, left, right)._replace(unknown=np.array(False))

    monkeypatch.setattr(cells._CellAlgebra, "compare", forgetful)
    groupings = [identity_grouping(column) for column in COLUMNS]
    found = allowed_by(make("a <= n"), groupings, ("a", "n"))
    assert not np.all(found | ~brute_force(Rule("a <= n"), [groupings[0], groupings[2]]))


def _day(text: str):
    import datetime as dt

    return dt.date.fromisoformat(text)
