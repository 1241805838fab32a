"""Rerun a release's mechanism on its released rows, in parallel, with fixed seeds.

Only public things are held here: the method with its parameters, the schema, and what was released. So whatever is
computed from them is free, and anyone who has the bundle gets the same numbers. Fits are Python loops over small
arrays, so threads would wait for one another: other cores are used by processes.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.core.forecast_checks import public_row_count
from sfumato.core.method import Makes, Method, parameters_of
from sfumato.core.registry import REGISTRY
from sfumato.core.release import Release
from sfumato.errors import PlanError, ResourceError
from sfumato.evaluate.forecast import forecast
from sfumato.metrics.evaluation_input import open_evaluation_input
from sfumato.metrics.rows_view import CachedCounts
from sfumato.privacy.canonical_json import canonical_json, to_jsonable
from sfumato.privacy.randomness import Randomness
from sfumato.process_pool import run_in_processes
from sfumato.progress import report_progress, silenced
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.system import usable_cores
from sfumato.table import read

if TYPE_CHECKING:
    from sfumato.core.plan import Plan, Stage

FIRST_SEED = 1_900_000_001
"""Seeds of reruns are this and those that follow: fixed, so that everybody gets the same reruns, and unlike the small
numbers that people give to their own seeded runs."""
EXPOSED = (
    "{name} makes no formal promise: it may hand on true rows, so its reruns would copy copies and every error would "
    "look too small"
)
SIZE_CHOSEN = (
    "the number of released rows was chosen, and nothing public tells how many rows the table has: errors are those "
    "of a table with as many rows as were released"
)
STAGE = "running the method again on the released rows"
WORTH_A_PROCESS = 8.0
"""Seconds of work from which on further processes pay: each needs about two to start."""
MOST_PROCESSES = 8
KEPT_RELEASES = 3
"""Releases whose reruns are kept in memory."""
_kept: OrderedDict[str, dict[int, pa.Table]] = OrderedDict()


@dataclass(frozen=True)
class PublicRelease:
    """What is public about a release."""

    method: Method
    schema: Schema
    tables: Mapping[tuple[str, ...], pa.Table]
    stages: tuple[Stage, ...]
    formal: bool
    rows_asked: int | None
    """Rows that were asked for; None where the mechanism chose their number."""
    public_rows: int | None
    """About how many rows the table has, as far as the release tells."""
    frame_kind: str

    @classmethod
    def of(cls, released: Release | str | Path) -> PublicRelease:
        """Return what is public of a release or of a bundle on disk."""
        opened = open_evaluation_input(released)
        schema = opened.require_schema()
        formal = opened.guarantee is not None and opened.guarantee.formal
        if opened.release is not None:
            known = opened.release
            stages, rows, kind = known.plan.stages, known.plan.rows, known.frame_kind
        else:
            known = opened.document
            stages, rows, kind = known.stages, known.method.rows, "pandas"
        method, made = opened.require_method(), opened.rows.num_rows
        public = public_row_count(schema.rows, known.statistics, rows, made)
        return cls(method, schema, opened.tables, stages, formal, rows, public, kind)

    @property
    def makes(self) -> Makes:
        """What was released: rows, counts or values."""
        return self.method.makes

    @property
    def rows(self) -> pa.Table:
        """The released rows; the first copy where there are several."""
        return next(iter(self.tables.values())).replace_schema_metadata(None)

    @property
    def table_rows(self) -> int:
        """How many rows the table has, as far as the public knows."""
        return self.rows.num_rows if self.public_rows is None else self.public_rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said about the number of rows."""
        return (SIZE_CHOSEN,) if self.public_rows is None else ()

    @cached_property
    def smallest_relation(self) -> float | None:
        """The smallest relation that the release shows, by its forecast; None where no forecast knows it."""
        plan = self.method.plan(self.schema, self.rows_asked)
        foreseen = forecast(plan, self.schema, self.method, self.table_rows)
        return None if foreseen is None else foreseen.smallest_relation

    def noise_of_share(self, name: str) -> float:
        """Return the standard deviation of the noise that a share of this column got in its own table; 0 if unknown.

        Reruns may miss it: levels that drowned in the noise are released with equal shares, which no rerun moves apart.
        """
        stage = next((stage for stage in self.stages if stage.name == name), None)
        return 0.0 if stage is None else stage.law.deviation / max(self.table_rows, 1)

    def mechanism(self) -> RerunMechanism:
        """Return what can be run again; refuse a release whose reruns would tell nothing."""
        if not self.formal:
            raise PlanError(
                EXPOSED.format(name=self.method.name), next_step="ask it of a release by a formal method, such as AIM"
            )
        return RerunMechanism(self.method, self.schema, _resample_to_size(self.rows, self.table_rows), self.rows_asked)


@dataclass(frozen=True)
class RerunMechanism:
    """A method, and released rows that play the part of the confidential table."""

    method: Method
    schema: Schema
    base: pa.Table
    rows_asked: int | None = None

    @cached_property
    def table(self) -> CachedCounts:
        """The rows as the method sees a table. They fit the schema by construction, so nobody checks them again."""
        schema, rows = _schema_of(self.schema, self.base)
        return CachedCounts.of(read(rows, schema))

    @cached_property
    def plan(self) -> Plan:
        """The plan of every rerun: the one of the release."""
        return self.method.plan(self.table.schema, self.rows_asked, "seeded")

    @cached_property
    def key(self) -> str:
        """The same for the same method, schema and rows, wherever they were opened."""
        parameters = canonical_json(to_jsonable(parameters_of(self.method)))
        facts = (self.method.name, parameters, self.schema.to_toml(), self.rows_asked)
        digest = hashlib.sha256(repr(facts).encode())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.base.schema) as writer:
            writer.write_table(self.base.combine_chunks())
        digest.update(sink.getvalue())
        return digest.hexdigest()

    def rerun(self, number: int) -> pa.Table:
        """Run the whole mechanism once: neither a release nor recorded as one, since no confidential row is read."""
        output = self.method.run(self.table, self.plan, Randomness.of(FIRST_SEED + number), self.rows_asked)
        return next(iter(output.tables.values())).replace_schema_metadata(None)


def _resample_to_size(rows: pa.Table, size: int) -> pa.Table:
    """Return as many rows as the table has: noise drowns small tables, and a release may hold more rows or fewer."""
    if rows.num_rows in (0, size):
        return rows
    generator = np.random.default_rng(FIRST_SEED)
    times, rest = divmod(size, rows.num_rows)
    places = np.concatenate([np.tile(np.arange(rows.num_rows), times), generator.permutation(rows.num_rows)[:rest]])
    return rows.take(pa.array(np.sort(places)))


def _schema_of(schema: Schema, rows: pa.Table) -> tuple[Schema, pa.Table]:
    """Return the schema of the released columns; each released row stands for another person.

    Where people have several rows the noise is wider, and the schema must go on saying so: every row gets a person
    of its own, since who they were is never released.
    """
    kept = set(rows.column_names)
    columns = tuple(replace(column, outside="refuse") for column in schema if column.name in kept)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= kept)
    if schema.person is None or schema.rows_per_person == 1:
        return replace(schema, columns=columns, rules=rules, person=None), rows
    whose = Column(schema.person, "category", role="identifier")
    people = pa.array([f"p{place}" for place in range(rows.num_rows)], pa.string())
    return replace(schema, columns=(*columns, whose), rules=rules), rows.append_column(schema.person, people)


def rerun(mechanism: RerunMechanism, number: int) -> list[pa.Table]:
    """Return so many reruns; those that were made before in this process are taken from memory."""
    known = _kept.setdefault(mechanism.key, {})
    _kept.move_to_end(mechanism.key)
    while len(_kept) > KEPT_RELEASES:
        _kept.popitem(last=False)
    _fill(mechanism, [place for place in range(number) if place not in known], known)
    return [known[place] for place in range(number)]


def _fill(mechanism: RerunMechanism, missing: Sequence[int], known: dict[int, pa.Table]) -> None:
    """Make what is missing: two here, since the first also compiles; then on all cores if many seconds are left."""
    for done, place in enumerate(missing):
        began = time.perf_counter()
        with silenced():  # a rerun tells its own stages, which are not those of a release
            known[place] = mechanism.rerun(place)
        left = len(missing) - done - 1
        report_progress(STAGE, (done + 1) / len(missing))
        if done == 1 and (time.perf_counter() - began) * left > WORTH_A_PROCESS and _may_leave(mechanism):
            _on_all_cores(mechanism, missing[done + 1 :], known, len(missing))
            return


def _cores() -> int:
    return min(usable_cores(), MOST_PROCESSES)


def _may_leave(mechanism: RerunMechanism) -> bool:
    """Whether another process would find the method, and there is a core for it."""
    home = f"{type(mechanism.method).__module__}:{type(mechanism.method).__name__}"
    return _cores() > 1 and home in REGISTRY.values()


def _on_all_cores(mechanism: RerunMechanism, missing: Sequence[int], known: dict[int, pa.Table], number: int) -> None:
    """Share the places out to processes and collect what they make."""
    died = ResourceError("a process that ran the method again has died", next_step="ask for fewer reruns")
    fresh = replace(mechanism)  # without the table that this process has opened
    for place, rows in run_in_processes(RerunMechanism.rerun, fresh, missing, min(_cores(), len(missing)), died):
        known[place] = rows
        report_progress(STAGE, 1 - (len(missing) - sum(each in known for each in missing)) / number)
