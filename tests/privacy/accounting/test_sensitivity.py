"""Sensitivity stands in one place, and every function of it is what the worst of all neighbours does."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, pairwise, product
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.privacy.accounting import sensitivity
from sfumato.privacy.accounting.sensitivity import (
    ceil_sqrt,
    histogram_l1,
    histogram_l2_squared,
    mean_sensitivity,
    moments_l1_quarters,
    moments_l2_squared_quarters,
    nonobtuse_sum_l2_squared,
    vector_sum_sensitivity,
)

SOURCE = Path(sfumato.__file__).parent
HOME = Path(sensitivity.__file__)
ADJACENCIES = ("add-remove", "replace")

Vector = tuple[float, ...]
Table = tuple[Vector, ...]


def neighbours(domain: list[Vector], size: int, adjacency: str, rows: int = 1) -> Iterator[tuple[Table, Table]]:
    """All tables of ``size`` records over a small domain, each with every table that one change makes of it."""
    for table in combinations_with_replacement(domain, size):
        for new in combinations_with_replacement(domain, rows):
            yield table, ((*table, *new) if adjacency == "add-remove" else (*table[rows:], *new))


def worst(
    moved: Callable[[np.ndarray], float], domain: list[Vector], adjacency: str, rows: int = 1, size: int = 3
) -> float:
    """The largest norm of the difference of two sums over all neighbours."""
    pairs = neighbours(domain, size, adjacency, rows)
    return max(moved(np.sum(a, axis=0) - np.sum(b, axis=0)) for a, b in pairs)


def l1(step: np.ndarray) -> float:
    return float(np.abs(step).sum())


def l2_squared(step: np.ndarray) -> float:
    return float((step**2).sum())


def one_hot(cells: int) -> list[Vector]:
    return [tuple(map(float, row)) for row in np.eye(cells)]


@pytest.mark.parametrize(
    ("adjacency", "rows"), [("add-remove", 1), ("add-remove", 2), ("add-remove", 3), ("replace", 1)]
)
def test_a_histogram_moves_as_much_as_its_worst_neighbour(adjacency, rows):
    assert worst(l1, one_hot(3), adjacency, rows) == histogram_l1(adjacency, rows)
    assert worst(l2_squared, one_hot(3), adjacency, rows) == histogram_l2_squared(adjacency, rows)


def test_people_who_are_replaced_with_all_their_rows():
    assert worst(l1, one_hot(3), "replace", rows=2) == histogram_l1("replace", 2)
    assert worst(l2_squared, one_hot(3), "replace", rows=2) == histogram_l2_squared("replace", 2)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_several_tables_are_one_vector(adjacency):
    records = [(*first, *second) for first, second in product(one_hot(2), one_hot(3))]
    assert worst(l2_squared, records, adjacency) == histogram_l2_squared(adjacency, tables=2)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_bounded_vectors_move_by_their_length_or_twice(adjacency):
    circle = [(5 * math.cos(a), 5 * math.sin(a)) for a in np.linspace(0, 2 * math.pi, 8, endpoint=False)]
    found = math.sqrt(worst(l2_squared, circle, adjacency))
    assert found == pytest.approx(vector_sum_sensitivity(adjacency, 5))
    assert worst(l1, [(7.0,), (-7.0,), (1.0,)], adjacency, rows=2) == vector_sum_sensitivity(adjacency, 7, 2)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_products_of_unit_vectors_are_never_obtuse(adjacency):
    angles = np.linspace(0, math.pi, 12, endpoint=False)  # a right angle is among them
    products = [tuple(np.outer(x, x).ravel()) for x in ((math.cos(a), math.sin(a)) for a in angles)]
    assert worst(l2_squared, products, adjacency, size=2) == pytest.approx(nonobtuse_sum_l2_squared(adjacency, 1.0))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_mean_of_bounded_vectors(adjacency, records):
    pairs = neighbours([(-1.0,), (0.0,), (1.0,)], records, adjacency)
    found = max(abs(float(np.mean(a) - np.mean(b))) for a, b in pairs)
    assert found == pytest.approx(mean_sensitivity(adjacency, 1.0, records))


def moments(record: Vector, adjacency: str) -> Vector:
    """What one record adds to the sums: the count is public under replace."""
    squares = [a * a - 0.5 for a in record]
    pairs = [a * b for i, a in enumerate(record) for b in record[i + 1 :]]
    return (*((1.0,) if adjacency == "add-remove" else ()), *record, *squares, *pairs)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_moments_of_one_column_reach_their_bounds(adjacency):
    domain = [moments((a / 8,), adjacency) for a in range(-8, 9)]
    assert 4 * worst(l1, domain, adjacency, size=1) == pytest.approx(moments_l1_quarters(adjacency, 1, 0))
    assert 4 * worst(l2_squared, domain, adjacency, size=1) == pytest.approx(moments_l2_squared_quarters(adjacency, 1))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_moments_of_two_columns_stay_within_theirs(adjacency):
    domain = [moments((a / 4, b / 4), adjacency) for a, b in product(range(-4, 5), repeat=2)]
    assert 4 * worst(l1, domain, adjacency, size=1) <= moments_l1_quarters(adjacency, 2, 1)
    assert 4 * worst(l2_squared, domain, adjacency, size=1) <= moments_l2_squared_quarters(adjacency, 2, 1)


def test_roots_are_rounded_up_to_whole_units():
    for square in range(1, 200):
        assert (ceil_sqrt(square) - 1) ** 2 < square <= ceil_sqrt(square) ** 2
    assert ceil_sqrt(2 * 2**48) ** 2 >= 2 * 2**48


@pytest.mark.parametrize("wrong", [lambda adjacency: 1, lambda adjacency: 1 if adjacency == "replace" else 2])
def test_mutant_that_forgets_the_second_cell_is_caught(wrong, monkeypatch):
    monkeypatch.setattr(sensitivity, "changed_cells", wrong)
    found = {adjacency: worst(l1, one_hot(3), adjacency) for adjacency in ADJACENCIES}
    assert any(found[adjacency] > histogram_l1(adjacency) for adjacency in ADJACENCIES)


# The walk over the source. It looks for a choice by the adjacency, ``A if TEST else B`` or ``if TEST: return A``, one
# side of which is 2, a product with a factor 2, or a root of either. TEST is by the adjacency where it compares with
# "replace" or "add-remove", or asks a name to which such a comparison was assigned in the same function.

ROOTS = ("sqrt", "isqrt")


def doubled(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float) and node.value == 2
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return isinstance(node.op, ast.Mult | ast.Add | ast.FloorDiv | ast.Div) and any(map(doubled, sides))
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ROOTS and any(map(doubled, node.args))
    return False


def by_adjacency(test: ast.expr, names: set[str]) -> bool:
    if isinstance(test, ast.UnaryOp):
        return by_adjacency(test.operand, names)
    if isinstance(test, ast.Name):
        return test.id in names
    compared = (test.left, *test.comparators) if isinstance(test, ast.Compare) else ()
    return any(isinstance(side, ast.Constant) and side.value in ADJACENCIES for side in compared)


def assigned(scope: ast.AST) -> set[str]:
    """Names to which a comparison with an adjacency is assigned, alone or in a tuple."""
    found: set[str] = set()
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(target.elts, node.value.elts, strict=False) if both else [(target, node.value)]  # pyright: ignore
            found |= {name.id for name, value in pairs if isinstance(name, ast.Name) and by_adjacency(value, set())}
    return found


def choices(text: str) -> list[int]:
    """Lines on which a number is doubled by the adjacency."""
    found: list[int] = []
    tree = ast.parse(text)
    for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
        names = assigned(scope)
        for node in ast.walk(scope):
            if isinstance(node, ast.IfExp) and by_adjacency(node.test, names):
                found += [node.lineno] if doubled(node.body) or doubled(node.orelse) else []
        for block in (getattr(node, "body", None) for node in ast.walk(scope)):
            found += early_returns(block, names) if isinstance(block, list) else []
    return sorted(set(found))


def early_returns(block: list[ast.stmt], names: set[str]) -> list[int]:
    found: list[int] = []
    for first, after in pairwise([*block, ast.Pass()]):
        if isinstance(first, ast.If) and by_adjacency(first.test, names):
            sides = [s.value for s in (*first.body, *first.orelse, after) if isinstance(s, ast.Return)]
            found += [first.lineno] if any(map(doubled, sides)) else []
    return found


def test_no_other_module_doubles_a_number_by_the_adjacency():
    wrong = {
        str(path.relative_to(SOURCE)): lines
        for path in sorted(SOURCE.rglob("*.py"))
        if path != HOME and (lines := choices(path.read_text(encoding="utf-8")))
    }
    assert not wrong, f"sensitivity belongs into {HOME.relative_to(SOURCE)}: {wrong}"


@pytest.mark.parametrize(
    "code",
    [
        'moved = 2 if schema.adjacency == "replace" else 1',
        'moved = 1 if schema.adjacency != "replace" else 2',
        'moved = k if self.adjacency == "add-remove" else 2 * k',
        'moved = math.sqrt(2) if adjacency == "replace" else 1.0',
        'moved = math.isqrt(2 * x**2) + 1 if adjacency == "replace" else x',
        'def f(s):\n    d, swap = 3, s.adjacency == "replace"\n    return 2.0 if swap else 1.0',
        'def f(s):\n    if s.adjacency == "replace":\n        return 2 * s.k\n    return s.k',
        'def f(s):\n    if s.adjacency == "add-remove":\n        return s.k\n    return 2 * s.k',
    ],
)
def test_the_walk_finds_what_it_looks_for(code):
    assert choices(code)


@pytest.mark.parametrize(
    "code",
    [
        'n = rows if adjacency == "replace" else rows + 1',
        'spread = math.sqrt(2) if kind == "laplace" else 1.0',
        'verb = "adding" if adjacency == "add-remove" else "replacing"',
    ],
)
def test_the_walk_leaves_other_choices_alone(code):
    assert not choices(code)


def test_the_walk_finds_the_one_place():
    assert choices(HOME.read_text(encoding="utf-8"))
