"""Functional dependences between columns: estimate a map from paid-for counts, and apply it.

Where neighbouring parts of the source are sent to one place of the target, and the places before and after show whether
the map rises or falls there, the parts take values through that place, by mass: the part of the source with the share m
below it gets the value with the share m below it.

The map of ``a determines b`` is read from what is paid for, never from private rows: from the pair table of a fitted
model, or from rows as they were drawn. For each place of a (a level, or a bin of an ordered column) it says the value
of b that has the most weight there. So b is a function of a in all rows of a release, and of a model. Where several
dependences meet, maps are made to agree: along chains they are composed, and columns that determine each other are
matched one to one. A map that other rules contradict keeps away from what they forbid; rows in which rules still meet
are mended as for any rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import BoolArray, FloatArray
from sfumato.constraints.clauses import clause_groups, clauses_of
from sfumato.constraints.contradictions import is_infeasible, public_feasible_rows
from sfumato.constraints.pair_weights import (
    ColumnPartition,
    PairWeights,
    RowPairWeights,
    cells_of_places,
    plain_value,
    public_partition,
)
from sfumato.constraints.structural_zeros import FINE_CELLS, feasible_cells
from sfumato.sampling.values import Values, rows_at
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.functional_dependence import FunctionalDependence, Pairs, dependence_map
from sfumato.schema.rules import Rule


def interpolate_monotone(
    source: ColumnPartition, target: ColumnPartition, masses: FloatArray, placed: Sequence[NDArray[np.intp]]
) -> list[list[Any]]:
    """Return a value of the target for each key of each place of the source, given the place that each is sent to."""
    present = len(source.keys) - int(source.column.missing)
    values = [[target.values[place] for place in places] for places in placed]
    keys = [(place, part) for place in range(present) for part in range(len(source.keys[place]))]
    mass = np.array([masses[place] * _shares(source, place)[part] for place, part in keys])
    sent = np.concatenate(placed[:present]) if present else np.empty(0, dtype=np.intp)
    for begins, ends, rises in _runs(sent, len(target.keys) - int(target.column.missing)):
        inner = _values_by_mass(target, int(sent[begins]), mass[begins:ends], rises)
        for (place, part), value in zip(keys[begins:ends], inner, strict=True):
            values[place][part] = value
    return values


def _shares(cut: ColumnPartition, place: int) -> FloatArray:
    shares = np.ones(len(cut.keys[place])) if cut.shares is None else cut.shares[place]
    return shares / max(float(shares.sum()), 1e-300)


def _runs(sent: NDArray[np.intp], present: int) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of keys that go to one present place, where the runs beside them agree whether the map rises."""
    turns = np.flatnonzero(np.diff(sent)) + 1
    bounds = [0, *turns.tolist(), len(sent)]
    for number in range(len(bounds) - 1):
        begins, ends = bounds[number], bounds[number + 1]
        beside = [sent[begins] - sent[begins - 1]] if begins else []
        beside += [sent[ends] - sent[begins]] if ends < len(sent) else []
        signs = {bool(step > 0) for step in beside}
        if ends - begins > 1 and len(signs) == 1 and sent[begins] < present:
            yield begins, ends, signs.pop()


def _values_by_mass(target: ColumnPartition, place: int, mass: FloatArray, rises: bool) -> list[Any]:
    total = float(mass.sum())
    mass = mass / total if total > 0 else np.full(len(mass), 1 / len(mass))
    middles = np.cumsum(mass) - mass / 2
    ends = np.cumsum(_shares(target, place))
    parts = np.searchsorted(ends, middles if rises else 1 - middles, side="right")
    inner = target.inner[place] if target.inner is not None else (target.values[place],)
    return [inner[min(int(part), len(inner) - 1)] for part in parts]


LEAST_SHARE, LEAST_STRANGE = 0.1, 0.25
"""Share of a place below which a value of the target is taken for noise there: one that a neighbour has, or not."""
FAINT = 1e-3
"""Weight of the commonest values at places of which nothing is told, where rules forbid some values."""


def with_estimated_maps(schema: Schema, names: Iterable[str], evidence: PairWeights) -> Schema:
    """Return the schema in which every dependence between the named columns has a map, found where none is public."""
    here = set(names)
    known = [rule for rule in schema.rules if set(rule.columns) <= here]
    if not any(rule.lacks_map for rule in known):
        return schema
    maps = _MapSearch({column.name: column for column in schema}, known, evidence)
    estimated = {rule: maps.rule(rule) for rule in known if rule.lacks_map}
    return _with_maps(schema, estimated | _constant(schema, estimated, here))


def _with_maps(schema: Schema, maps: Mapping[Rule, Rule]) -> Schema:
    return dataclasses.replace(schema, rules=tuple(maps.get(rule, rule) for rule in schema.rules))


def _constant(schema: Schema, estimated: Mapping[Rule, Rule], names: Iterable[str]) -> dict[Rule, Rule]:
    """Return other maps where those found and the rules leave no row: all values go where a public row has them."""
    everywhere: dict[Rule, Rule] = {}
    opened = {rule.dependence: rule for rule in estimated}
    for bundle in clause_groups(schema, _with_maps(schema, estimated).rules, names):
        ours = [opened[rule.dependence] for rule in bundle.rules if rule.dependence in opened]
        others = [rule for rule in bundle.rules if rule.dependence not in opened]
        if not (ours and others and is_infeasible(bundle)):
            continue
        one = {n: public_feasible_rows(part)[n] for part in clause_groups(schema, others, names) for n in part.columns}
        everywhere |= {rule: _onto(rule, schema, rows_at(one, np.arange(1))) for rule in ours}
    return everywhere


def _onto(rule: Rule, schema: Schema, row: Values) -> Rule:
    source, target = (public_partition(schema[name]) for name in rule.columns)
    name = target.column.name
    value = target.values[0] if name not in row else plain_value(target.column, row[name][0][0], bool(row[name][1][0]))
    return Rule(rule.check, _pairs(source, [[value]] * len(source.keys)))


@dataclass
class _MapSearch:
    """Maps of the dependences between some columns, each found once."""

    columns: Mapping[str, Column]
    rules: Sequence[Rule]
    evidence: PairWeights
    found: dict[FunctionalDependence, Pairs] = field(default_factory=dict[FunctionalDependence, Pairs])

    @cached_property
    def edges(self) -> dict[str, list[str]]:
        """What each column determines by a sentence of the schema."""
        edges: dict[str, list[str]] = {}
        for rule in self.rules:
            if rule.dependence is not None:
                edges.setdefault(rule.dependence.source, []).append(rule.dependence.target)
        return edges

    def rule(self, rule: Rule) -> Rule:
        """Return a dependence with its map."""
        source, target = rule.columns
        return Rule(rule.check, self.map(FunctionalDependence(source, target)))

    def map(self, wanted: FunctionalDependence) -> Pairs:
        if wanted not in self.found:
            self.found[wanted] = self._public(wanted) or self._search(wanted)
        return self.found[wanted]

    def _public(self, wanted: FunctionalDependence) -> Pairs | None:
        return next((rule.map for rule in self.rules if rule.dependence == wanted and rule.map is not None), None)

    def _search(self, wanted: FunctionalDependence) -> Pairs:
        if wanted.source in self._reach(wanted.target):
            return self._in_circle(wanted)
        way = self._way(wanted)
        return self._composed(way) if way else self._likeliest(wanted)

    def _reach(self, name: str) -> set[str]:
        """Return the columns that a column determines, by whatever chain."""
        reached, level = set[str](), [name]
        while level:
            level = [n for n in chain.from_iterable(self.edges.get(n, []) for n in level) if n not in reached]
            reached.update(level)
        return reached

    def _way(self, wanted: FunctionalDependence) -> list[str] | None:
        """Return a chain of dependences that says the same in several steps, or None."""
        source, target = wanted
        for step in self.edges.get(source, []):
            circular = source in self._reach(step)
            if step != target and not circular and target in self._reach(step) and step not in self._reach(target):
                return [source, step, target]
        return None

    def _composed(self, way: Sequence[str]) -> Pairs:
        """Return the map of several steps: what the first one leaves together stays together."""
        steps = [
            dependence_map(self.map(FunctionalDependence(a, b)), self.columns[a], self.columns[b])
            for a, b in pairwise(way)
        ]
        values, missing = steps[0].images, steps[0].missing
        for step in steps[1:]:
            values, missing = step.of(values, missing)
        last, keys = self.columns[way[-1]], [key for key, _ in steps[0].pairs]
        return _joined(
            (key, plain_value(last, value, bool(none))) for key, value, none in zip(keys, values, missing, strict=True)
        )

    def _in_circle(self, wanted: FunctionalDependence) -> Pairs:
        """Return a map between columns that determine each other: all of them are matched with the first of them."""
        circle = self._reach(wanted.source)
        root = next(name for name in self.columns if name in circle and wanted.source in self._reach(name))
        if root not in wanted:
            return self._composed([wanted.source, root, wanted.target])
        return self._matched(wanted, forward=wanted.source == root)

    def _matched(self, wanted: FunctionalDependence, forward: bool) -> Pairs:
        from scipy.optimize import linear_sum_assignment

        root, other = wanted if forward else (wanted.target, wanted.source)
        weights = self._weights(FunctionalDependence(root, other))
        rows, columns = linear_sum_assignment(weights, maximize=True)
        if not forward:
            rows, columns, weights = columns, rows, weights.T
        best = _best(weights)
        best[rows] = columns
        keys = self.evidence.cut(wanted.source).keys
        return self._told(wanted, [np.repeat(place, len(part)) for place, part in zip(best, keys, strict=True)])

    def _likeliest(self, wanted: FunctionalDependence) -> Pairs:
        weights = self._weights(wanted)
        source = self.columns[wanted.source]
        present, believed = len(weights) - int(source.missing), weights.copy()
        if source.is_ordered:
            believed[:present] += self.evidence.noise * _beside(weights[:present])
        best = _best(believed)
        if source.is_ordered:
            best[:present] = _nearest(best[:present], weights[:present].sum(axis=1) > 0)
        cut, onto = self.evidence.cut(wanted.source), self.evidence.cut(wanted.target)
        placed = _shared_out(cut, weights, believed, best)
        if cut.shares is None or onto.shares is None:
            return self._told(wanted, placed)
        return _pairs(cut, interpolate_monotone(cut, onto, np.asarray(weights.sum(axis=1)), placed))

    def _told(self, wanted: FunctionalDependence, best: Sequence[NDArray[np.intp]]) -> Pairs:
        """Return a map in words, given the place of the target for each key of each place of the source."""
        source, target = self.evidence.cut(wanted.source), self.evidence.cut(wanted.target)
        return _pairs(source, [[target.values[place] for place in places] for places in best])

    def _weights(self, wanted: FunctionalDependence) -> FloatArray:
        """Return the weights of pairs of places; 0 where the rules between the two columns leave no row."""
        weights = self.evidence.weights(*wanted)
        cuts = [self.evidence.cut(name) for name in wanted]
        named = [c for rule in self.rules for c in clauses_of(rule) if c.columns and set(c.columns) <= set(wanted)]
        if not named or np.prod([len(tuple(chain.from_iterable(cut.keys))) for cut in cuts]) > FINE_CELLS:
            return weights
        cells = [(cut.column.name, cells_of_places(cut)) for cut in cuts]
        allowed = reduce(np.logical_and, [feasible_cells(clause, self.columns, cells) for clause in named])
        for axis, cut in enumerate(cuts):
            first = np.cumsum([0, *(len(keys) for keys in cut.keys[:-1])])
            allowed = np.logical_or.reduceat(allowed, first, axis=axis)
        # Even a place without rows must not be sent where no row may be: what is common weighs there, faintly.
        common = weights.sum(axis=0) / max(float(weights.sum()), 1e-300) + FAINT / weights.shape[1]
        return np.where(allowed, weights + FAINT * common, 0.0)


def _best(weights: FloatArray) -> NDArray[np.intp]:
    """Return the heaviest place of the target for each of the source; where nothing weighs, the heaviest of all.

    Weights are rounded first, so that a model gives the same map wherever it is read.
    """
    total = max(float(weights.sum()), 1e-300)
    shares = np.round(weights / total, 12)
    return np.where(shares.any(axis=1), shares.argmax(axis=1), shares.sum(axis=0).argmax())


def _nearest(best: NDArray[np.intp], told: BoolArray) -> NDArray[np.intp]:
    """Give places of an ordered column of which nothing is told what the nearest one has."""
    known = np.flatnonzero(told)
    if not len(known):
        return best
    after = np.clip(np.searchsorted(known, np.arange(len(best))), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(known[after] - np.arange(len(best))) <= np.abs(known[before] - np.arange(len(best)))
    return best[np.where(closer, known[after], known[before])]


def _beside(weights: FloatArray) -> FloatArray:
    """Return how the neighbours of each place lean, on average."""
    leaning = _leaning(weights)
    around = np.pad(leaning, ((1, 1), (0, 0)))
    there = np.pad(np.ones((len(leaning), 1)), ((1, 1), (0, 0)))
    return (around[2:] + around[:-2]) / np.maximum(there[2:] + there[:-2], 1.0)


def _leaning(weights: FloatArray) -> FloatArray:
    """Return the shares of the places of the target in each place of the source."""
    sums = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def _shared_out(
    cut: ColumnPartition, weights: FloatArray, believed: FloatArray, best: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Return the place of the target for each key of each place of the source.

    Where a place of an ordered source has parts, and several places of the target weigh in it, it is shared out among
    them: in the order in which its neighbours lean to them, each as much of the place as it weighs. What its neighbours
    make unlikely (``believed`` are the weights with theirs) is left out.
    """
    if cut.shares is None:
        return [np.repeat(place, len(keys)) for place, keys in zip(best, cut.keys, strict=True)]
    leaning, present = _leaning(weights), len(best) - int(cut.column.missing)
    around = np.pad(leaning[:present], ((1, 1), (0, 0)), mode="edge")
    towards = np.pad(around[2:] - around[:-2], ((0, len(best) - present), (0, 0)))
    known = _likely(weights, best) & _likely(believed, best)
    return [
        _laid_out(leaning[i], towards[i], shares, known[i]) if known[i].sum() > 1 else np.repeat(best[i], len(shares))
        for i, shares in enumerate(cut.shares)
    ]


def _likely(weights: FloatArray, best: NDArray[np.intp]) -> BoolArray:
    """Return what is more than noise in each place: what the places beside it have, or else weighs enough."""
    least = np.full(weights.shape, LEAST_STRANGE)
    for shift in (-1, 0, 1):
        near = np.clip(np.arange(len(best)) + shift, 0, len(best) - 1)
        least[np.arange(len(best)), best[near]] = LEAST_SHARE
    return _leaning(weights) >= least


def _laid_out(leaning: FloatArray, towards: FloatArray, shares: FloatArray, likely: BoolArray) -> NDArray[np.intp]:
    known = np.flatnonzero(likely)
    known = known[np.argsort(towards[known], kind="stable")]
    ends = np.cumsum(leaning[known]) / leaning[known].sum()
    middles = (np.cumsum(shares) - shares / 2) / max(float(shares.sum()), 1e-300)
    return known[np.minimum(np.searchsorted(ends, middles, side="right"), len(known) - 1)]


def _pairs(cut: ColumnPartition, values: Sequence[Sequence[Any]]) -> Pairs:
    """Return a map, given a value for each key of each place."""
    return _joined(pair for keys, part in zip(cut.keys, values, strict=True) for pair in zip(keys, part, strict=True))


def _joined(pairs: Iterable[tuple[Any, Any]]) -> Pairs:
    """Return a map in which intervals that touch and have one value are joined."""
    joined: list[tuple[Any, Any]] = []
    for key, value in pairs:
        if joined and isinstance(key, tuple) and joined[-1][1] == value:
            joined[-1] = ((joined[-1][0][0], key[1]), value)
        else:
            joined.append((key, value))
    return tuple(joined)


def with_maps_from_rows(schema: Schema, values: Values) -> Schema:
    """Return the schema with maps found in rows as they were drawn."""
    return with_estimated_maps(schema, values, RowPairWeights(schema, values))


def notes_on_maps(schema: Schema, bound: Schema) -> tuple[str, ...]:
    """Say which maps were found: a reader must know that they are guesses from noisy numbers."""
    rules = zip(schema.rules, bound.rules, strict=True)
    estimated = (rule.words for old, rule in rules if old.map is None and rule.map is not None)
    return tuple(f"the schema has no map for {words}; this one was found after the noise" for words in estimated)


def apply_maps(schema: Schema, values: Values, fixed: Iterable[str] = ()) -> tuple[Values, dict[str, int]]:
    """Return the rows with each determined column as its map says, and how many changed for each rule.

    That is better than drawing again: the column that determines keeps its distribution, and the other one takes the
    only one that goes with it. A column that several determine follows the first of them; fixed columns stay.
    """
    followed, changed = dict(values), dict[str, int]()
    for rule in _in_order(schema.rules, set(values), set(fixed)):
        lookup = dependence_map(rule.map, *(schema[name] for name in rule.columns))
        source, target = rule.columns
        changed[rule.check] = int((~rule.keeps(followed, {name: schema[name] for name in rule.columns})).sum())
        image, missing = lookup.of(*followed[source])
        followed[target] = image, missing
    return followed, changed


def _in_order(rules: Sequence[Rule], names: set[str], fixed: set[str]) -> list[Rule]:
    """Return one rule for each determined column, those before others on which the others' sources hang."""
    first: dict[str, Rule] = {}
    for rule in rules:
        if rule.dependence and rule.map is not None and set(rule.columns) <= names and rule.columns[1] not in fixed:
            first.setdefault(rule.columns[1], rule)
    ordered: list[Rule] = []
    while first:
        free = [target for target, rule in first.items() if rule.columns[0] not in first]
        ordered += [first.pop(target) for target in free or list(first)[:1]]
    return ordered
