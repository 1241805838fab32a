"""Plan of a graphical release: workload, budget, model size, passes, time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nlargest
from math import comb, prod
from typing import Any

from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.core.plan import Plan, Stage, event_facts, exact_cost, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.coarsened_marginals import LARGE_SET_GROUPS, in_batches
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, measured_schema, squared_sensitivity
from sfumato.mechanisms.graphical.workload import compile_workload, subsample_pairs
from sfumato.privacy.accounting.composition import SELECTIONS_PART
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES
from sfumato.privacy.accounting.gaussian_calibration import exponential_mechanism_epsilon
from sfumato.privacy.accounting.sensitivity import changed_cells
from sfumato.privacy.exact import Number, fraction_to_text
from sfumato.schema import Schema
from sfumato.schema.column_selection import select_columns
from sfumato.table.scan_plan import DataRequest

BYTES_PER_CELL = 8
LARGEST_TABLE = MOST_COORDINATES // 128
"""Cells of one marginal in the rounds: with at most 100 of them the run stays within what its proof allows."""
PASS_CELLS = 4_000_000
"""Cells that are counted in one pass: 32 MB for each worker."""
BLOCK_CELLS, BLOCK_PAIRS = 4_000_000, 100_000
"""Cells and pairs of one block of MST's scores: some 100 MB with what Python keeps beside each array."""
LARGEST_COLUMN = 50_000
"""Levels of a column beyond which its noisy table says nothing and its pairs fit into no model."""
BYTES_PER_VALUE = 32
"""Memory of one synthetic value while rows are drawn: code, value, mask and the released column."""
BYTES_PER_COUNT = 24
"""Memory of one cell of a candidate table: true count, what the model says, and a working copy."""
FIT_SECONDS, LOOK_SECONDS, PAIR_SECONDS, USUAL_ROUNDS = 0.015, 0.00005, 0.002, 0.35
"""Seconds of a round for each megabyte of the model and each table that is looked at, and of the whole run for each
table; and the part of the rounds that a run usually makes. Measured on one machine with 7 to 80 columns, where guesses
were within a factor of three."""
MOST_LARGER_CELLS = 4096
"""Cells of a set of three or four columns that is offered without being asked for: a table of more is hardly ever worth
its noise, and a thousand of them would fill the memory."""
MOST_FIRST = 16
"""Pairs of rules that are measured before any is chosen: with the rounds they stay within what the proof allows."""
BASE_BYTES = 120_000_000
"""The interpreter with its libraries."""
MOST_HELD = 20_000
"""Tables whose counts are held at once, for a tree: of more only scores are kept, and no coarser ones are offered."""
SCORE_SECONDS = 0.0003
"""Seconds of the whole run for each pair that is scored in a block: measured with 1,000 columns."""
BLOCK_BYTES, BYTES_PER_PAIR = 400_000_000, 600
"""Memory of one block of pairs with its workers, and of what is kept of each pair: columns, weight, score."""


@dataclass(frozen=True)
class GraphicalPlan:
    """One graphical release, planned on one schema."""

    method: str
    schema: Schema
    names: tuple[str, ...]
    epsilon: Number
    delta: Number
    binning: Discretisation
    one_way_share: Fraction
    """Share of the budget for the one-way tables."""
    choice_share: Fraction
    """Share of the budget for choosing tables."""
    workload: Any
    megabytes: float
    targets: tuple[str, ...] = ()
    """Columns around which larger sets are offered; none: all sets, where they are not too many."""
    later: str = "tables chosen in rounds"
    """What the tables after the one-way ones are called."""
    later_tables: int = 100
    """How many of them share the budget, roughly: it decides how finely columns are cut."""
    rounds: int = 100
    """How often the model is fitted again before the next table is chosen, at most."""

    @property
    def in_blocks(self) -> bool:
        """Whether pairs are counted block by block: one tree is chosen among more than can be held at once."""
        return self.rounds == 1 and len(self.weights) > MOST_HELD

    def budget(self) -> Budget:
        """Return a fresh budget: what noise and choices may cost."""
        return Budget(self.epsilon, self.delta, self.choice_share, squared_sensitivity(self.schema))

    @cached_property
    def weights(self) -> dict[Clique, int]:
        """The tables that may be measured, with their weights; "auto" leaves out larger sets of too many cells.

        Rounds look at every table again and again, so that of very many pairs some are offered: those of rules and of
        targets, and others that public chance draws.
        """
        offered = compile_workload(self.workload, self.names, self.targets)
        if self.workload == "auto":
            offered = {c: w for c, w in offered.items() if len(c) <= 2 or self.cells(c) <= MOST_LARGER_CELLS}
        return (
            offered
            if self.rounds <= 1
            else subsample_pairs(offered, [*self._pairs_without_map, *self._pairs_of_targets])
        )

    @cached_property
    def _pairs_without_map(self) -> list[Clique]:
        named = [rule.dependence for rule in self.schema.rules if rule.lacks_map]
        inside = [pair for pair in named if pair is not None and set(pair) <= set(self.names)]
        return list(dict.fromkeys(tuple(sorted(self.names.index(name) for name in pair)) for pair in inside))

    @property
    def _pairs_of_targets(self) -> list[Clique]:
        targets = {self.names.index(name) for name in self.targets}
        others = range(len(self.names))
        return [(min(t, other), max(t, other)) for t in sorted(targets) for other in others if other != t]

    @cached_property
    def pairs_of_rules(self) -> tuple[Clique, ...]:
        """Pairs of which one column is a function of the other by a rule without a map: unseen, the map is a guess."""
        small = [pair for pair in self._pairs_without_map if pair in self.weights and self.cells(pair) <= LARGEST_TABLE]
        return tuple(small[:MOST_FIRST])

    @cached_property
    def largest_sizes(self) -> tuple[int, ...]:
        """Groups that each column may have at most."""
        limit = self.binning.most_groups
        columns = [self.fine[name] for name in self.names]
        return tuple(
            c.size if limit is None or not c.is_ordered else min(c.size, limit + int(c.missing)) for c in columns
        )

    @cached_property
    def fine(self) -> Schema:
        """The schema with the cells of the one-way tables."""
        return measured_schema(self.schema, self.names, self.binning)

    def cells(self, clique: Sequence[int]) -> int:
        """Return how many cells a table has at most."""
        product = 1
        for place in clique:
            product *= self._most_groups(place, len(clique))
        return product

    def _most_groups(self, place: int, columns: int) -> int:
        """Return how many groups a column has at most in a table of so many columns."""
        size = self.largest_sizes[place]
        if columns <= 2:
            return size
        column = self.schema[self.names[place]]
        if not column.is_ordered or self.binning.most_groups is None:
            return size
        return min(size, LARGE_SET_GROUPS + int(column.missing))

    def release_plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        self.refuse()
        count = rows if rows is not None else self.schema.rows
        memory = self.memory(count or 0)
        refuse_memory(
            memory,
            f"counting {len(self.weights):,} tables and drawing {count or 0:,} rows",
            "use fewer columns or fewer rows" if self.workload == "2-way" else "use fewer columns or workload='2-way'",
        )
        stages = self._stages()
        events = (self._event(stages, randomness),)
        return Plan.for_(
            self.method, self.schema, stages, events, memory, rows=count, seconds=self.seconds(), notes=self._notes()
        )

    def memory(self, rows: int) -> int:
        """Return the bytes that the run needs at most."""
        tables = (
            BLOCK_BYTES + len(self.weights) * BYTES_PER_PAIR
            if self.in_blocks
            else sum(self.cells(clique) for clique in self.weights) * BYTES_PER_COUNT
        )
        model = int(self.megabytes * 1e6) * 6
        return BASE_BYTES + tables + model + rows * len(self.names) * BYTES_PER_VALUE

    def seconds(self) -> float:
        """Return a rough guess of the run's time: fits of the growing model, and a look at every table each round."""
        each_round = FIT_SECONDS * self.megabytes + LOOK_SECONDS * len(self.weights)
        rounds = max(USUAL_ROUNDS * self.rounds, 1.0)
        per_table = SCORE_SECONDS if self.in_blocks else PAIR_SECONDS
        return round(2.0 + per_table * len(self.weights) + rounds * each_round, 1)

    def refuse(self) -> None:
        """Refuse what cannot be released, all problems at once, before anything is spent."""
        problems = [
            f"column {name!r} has {self.schema[name].size:,} levels, at most {LARGEST_COLUMN:,} can be modelled: "
            "list fewer levels in the schema, or leave it out"
            for name in self.names
            if self.schema[name].size > LARGEST_COLUMN
        ]
        if len(self.names) < 2:
            problems.append(f"at least 2 columns are needed, found {len(self.names)}: use histogram for one column")
        if not problems:
            problems += self._size_problems() + self._coordinate_problems()
        if problems:
            raise PlanError(
                f"cannot plan {self.method} on table {self.schema.name!r}",
                problems,
                "correct the parameters; 'sfumato methods' explains them",
            )
        refuse_contradictions(self.schema, self.names)

    def _size_problems(self) -> list[str]:
        """A model must hold at least the one-way tables and the smallest pair."""
        least = sum(self.largest_sizes) + prod(sorted(self.largest_sizes)[:2])
        needed = least * BYTES_PER_CELL / 1e6
        if needed <= self.megabytes:
            return []
        return [
            f"the smallest model of these columns needs {needed:.2g} MB, its limit is {self.megabytes:g} MB: "
            "raise model_megabytes (AIM), use fewer bins, or leave out the largest columns"
        ]

    def _coordinate_problems(self) -> list[str]:
        """The proof counts every measured cell; rounds offer only tables that keep within it, other ways must fit."""
        cells = (self.cells(clique) for clique in self.weights if len(clique) > 1)
        first = sum(cells for name in self.names for _, cells, _ in self.binning.tables(self.schema[name]))
        needed = first + sum(nlargest(self.later_tables, cells))
        if self.rounds > 1 or needed <= MOST_COORDINATES:
            return []
        return [
            f"up to {needed:,} cells would be measured, {MOST_COORDINATES:,} are what the proof allows: list fewer "
            "levels in the schema, or leave out the largest columns"
        ]

    def _stages(self) -> tuple[Stage, ...]:
        budget = self.budget()
        rest = 1 - self.one_way_share - self.choice_share
        ones = [stage for name in self.names for stage in self._one_way_stages(name)]
        rounds = Stage(
            name=self.later,
            cells=max(self.cells(clique) for clique in self.weights),
            noise="discrete gaussian",
            scale=budget.sigma(budget.rho * rest),
            epsilon="joint",
            share=fraction_to_text(rest),
        )
        if not self.choice_share:
            return (*ones, rounds)
        choices = Stage(
            name=SELECTIONS_PART,
            cells=len(self.weights),
            noise="exponential weights",
            scale=float(1 / exponential_mechanism_epsilon(budget.rho * self.choice_share)),
            epsilon="joint",
            share=fraction_to_text(self.choice_share),
        )
        return (*ones, rounds, choices)

    def _one_way_stages(self, name: str) -> list[Stage]:
        """Return the tables that are measured of one column: its layers, or all cells at once."""
        budget, share = self.budget(), self.one_way_share / len(self.names)
        return [
            Stage(
                name=f"{name}: {words}" if words else name,
                cells=cells,
                noise="discrete gaussian",
                scale=budget.sigma(budget.rho * share * part),
                epsilon="joint",
                share=fraction_to_text(share * part),
            )
            for words, cells, part in self.binning.tables(self.schema[name])
        ]

    def _event(self, stages: Sequence[Stage], randomness: str) -> Event:
        parts = tuple(
            EventPart(
                stage=stage.name,
                cells=stage.cells,
                sensitivity=self.schema.rows_per_person,
                changed_cells=changed_cells(self.schema.adjacency),
                scale=stage.scale,
            )
            for stage in stages
        )
        return Event(
            kind="gaussian-and-choices",
            parts=parts,
            note=f"rho = {float(self.budget().rho):.6g}",
            **exact_cost(self.epsilon, self.delta),
            **event_facts(self.method, self.schema, randomness),
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.choice_share:
            return (f"all {len(self.weights):,} tables of up to 2 columns are measured once",)
        ways = max(len(clique) for clique in self.weights)
        sets = f"tables of up to {ways} columns" if ways > 1 else "tables of one column"
        note = f"{sets} are chosen, then measured; the model may take {self.megabytes:g} MB"
        return (note, *self._thinning())

    def _thinning(self) -> tuple[str, ...]:
        """Say that not every pair is offered."""
        pairs, every = sum(len(clique) == 2 for clique in self.weights), comb(len(self.names), 2)
        if isinstance(self.workload, str) and pairs < every:
            return (
                f"of {every:,} pairs {pairs:,} are offered, drawn without a look at the rows: name others by workload, "
                "or use mst, which weighs all of them",
            )
        return ()


def chosen_names(schema: Schema, columns: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the columns to synthesise, in the order of the schema; all but identifiers unless they are named."""
    return schema.in_order(select_columns(schema, columns))


def scans(planned: GraphicalPlan) -> tuple[DataRequest, ...]:
    """Return the questions: one-way tables, then the pairs that may be chosen, then larger sets seen more coarsely."""
    requests = [DataRequest("one-way tables", sets=tuple((name,) for name in planned.names), public_sizes=False)]
    pairs, larger = ([c for c in planned.weights if (len(c) > 2) is wide] for wide in (False, True))
    if planned.in_blocks:
        blocks = sum(1 for _ in in_batches(pairs, planned.cells, BLOCK_CELLS, BLOCK_PAIRS))
        requests.append(
            DataRequest("pairs, block by block", sets=_named(planned, pairs[:BLOCK_PAIRS]), times=blocks, at_most=True)
        )
        return (*requests, DataRequest("the pairs of the tree", sets=_named(planned, pairs[: len(planned.names) - 1])))
    return (*requests, *_counted(planned, "pairs", pairs), *_counted(planned, "larger sets", larger))


def _counted(planned: GraphicalPlan, what: str, cliques: Sequence[Clique]) -> list[DataRequest]:
    """Return as many passes as tables of these sizes need: groups are fixed by noise, and may be fewer."""
    small = [clique for clique in cliques if planned.cells(clique) <= PASS_CELLS]
    large, requests = len(cliques) - len(small), list[DataRequest]()
    if small:
        parts = list(in_batches(small, planned.cells, PASS_CELLS))
        each = _named(planned, max(parts, key=len))
        requests.append(DataRequest(what, sets=each, times=len(parts), at_most=len(parts) > 1, public_sizes=False))
    if large:
        requests.append(DataRequest(f"very large {what}", "cells", times=large, at_most=True))
    return requests


def _named(planned: GraphicalPlan, cliques: Sequence[Clique]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(planned.names[place] for place in clique) for clique in cliques)
