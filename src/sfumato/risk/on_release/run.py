"""Run every applicable attack on an existing release, on people of the table and of a holdout, and judge them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.argument_errors import checked_arguments
from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import RiskError, TableError
from sfumato.formatting import percent, percent_fixed
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.evaluation_input import (
    EvaluationInput,
    open_evaluation_input,
    open_rows,
    private_table,
    raw_rows,
    shared_columns,
    unknown_as_missing,
)
from sfumato.metrics.rows_view import Codes, RowsView
from sfumato.privacy.exact import at_most, format_fraction
from sfumato.progress import report_progress
from sfumato.risk.attacks.attack import AttackAttempt, AttackOptions, Attempts, check_trials
from sfumato.risk.attacks.attacker_view import AttackerView
from sfumato.risk.attacks.attribute_inference import counts_of
from sfumato.risk.attacks.registry import ON_RELEASE
from sfumato.risk.on_release.result import ReleaseAttackReport, judge_attacks, strongest_of, verdict_of
from sfumato.risk.simulated.membership_game import seeded_stream
from sfumato.schema import Schema
from sfumato.table import Table

HOW = "attack_release(released, table, holdout)"
FEWEST_ROWS = 40
MOST_MADE = 50_000
"""Released rows that the attacker looks at; a random sample where there are more."""
MOST_REFERENCE = 5000
"""People who are not in the table of whom the attacker knows everything."""
MOST_POOL = 10_000
"""People on each side among whom somebody is singled out."""
SAME_PEOPLE = 0.5
"""A holdout of which so many more rows stand in the table than chance explains is no holdout."""
UNLIKE = 1e-4
"""Chance below which a column of the holdout is called distributed otherwise, over all columns together."""


@dataclass(frozen=True, eq=False)
class AttackTargets:
    """A release with its people and others, and the dice of the attack."""

    was: EvaluationInput
    table: Table
    holdout_table: Table | None
    sight: AttackerView
    made: RowsView | None
    """Released rows; none where counts were released."""
    true: RowsView
    held: RowsView | None
    people: IntArray
    """Places of all people in the table, in random order; where a person has several rows, one of them."""
    strangers: IntArray
    """The same of the holdout."""
    members: IntArray
    """The targets in the table: the first of its people."""
    others: IntArray
    """The targets in the holdout: the last of its people, who are not among the reference as far as possible."""
    reference: IntArray
    """Places in the holdout of people whom the attacker knows wholly: half of it at most."""
    seed: int
    notes: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return self.sight.schema

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are attacked."""
        return tuple(self.sight.names)

    def dice(self, purpose: int) -> np.random.Generator:
        """Return randomness of its own for each attack, so that leaving one out changes no other."""
        return np.random.default_rng([self.seed, purpose])

    @cached_property
    def inside(self) -> RowsView:
        """The targets in the table."""
        return self.true[self.members]

    @cached_property
    def outside(self) -> RowsView | None:
        """The targets who are not in it."""
        return None if self.held is None else self.held[self.others]

    @cached_property
    def pools(self) -> tuple[IntArray, RowsView | None]:
        """As many people of the table (their places) as of the holdout: among them somebody is singled out."""
        most = min(len(self.people), MOST_POOL, MOST_POOL if self.held is None else len(self.strangers))
        dice = self.dice(0)
        places = dice.permutation(self.people)[:most]
        return places, None if self.held is None else self.held[dice.permutation(self.strangers)[:most]]

    @cached_property
    def released_counts(self) -> Mapping[tuple[str, ...], FloatArray]:
        """Every released table as a flat array of its counts."""
        return {names: counts_of(table, self.schema, names).ravel() for names, table in self.was.tables.items()}

    def cells(self, codes: Codes, names: tuple[str, ...]) -> IntArray:
        """Return the cell of each person in one released table."""
        places = [self.names.index(name) for name in names]
        return np.ravel_multi_index(tuple(codes[:, place] for place in places), self.schema.shape(names))

    def rows_named(self, places: Any) -> tuple[int, ...]:
        """Return places in the table as row numbers that people count."""
        return tuple(int(place) + 1 for place in places)


def read_attack_targets(
    released: Any, table: Any, holdout: Any, schema: Schema | str | Path | None, targets: int, seed: int
) -> AttackTargets:
    """Read everything, or refuse with the reason."""
    was = open_evaluation_input(released)
    if was.makes == "values":
        raise RiskError(
            "the release holds numbers such as a curve or an entropy: no attack here reads them",
            next_step="'sfumato risk membership' attacks the method that made them",
        )
    true = private_table(table, schema, was.schema, HOW)
    made, names, notes = _released(was, true)
    apart = None if holdout is None else private_table(holdout, None, true.schema, HOW)
    sight = AttackerView(true.schema, names)
    people = _people(sight, true, "the table")
    held = None if apart is None else _people(sight, apart, "the holdout")
    seen, told = _made(sight, made, seed)
    dice = np.random.default_rng([seed, 99])
    mine = _one_row_each(true, len(people), dice)
    order = np.zeros(0, np.int64) if apart is None or held is None else _one_row_each(apart, len(held), dice)
    notes += [*was.notes, *told, *([] if held is None else _holdout_notes(sight, people, held))]
    return AttackTargets(
        was,
        true,
        apart,
        sight,
        seen,
        people,
        held,
        mine,
        order,
        mine[:targets],
        order[max(0, len(order) - targets) :],
        order[: len(order) // 2][:MOST_REFERENCE],
        seed,
        tuple(notes),
    )


def _released(was: EvaluationInput, true: Table) -> tuple[Any, list[str], list[str]]:
    """Return released rows or counts, their columns, and what is to be said."""
    if was.makes == "counts":
        tables: Mapping[tuple[str, ...], Any] = was.tables
        return None, list(dict.fromkeys(name for columns in tables for name in columns)), []
    made = was.rows if was.schema is not None else open_rows(was.rows, true.schema)
    names, absent = shared_columns(true.schema, made)
    return made, names, [f"not in the release, so not attacked: {', '.join(absent)}"] if absent else []


def _people(sight: AttackerView, table: Table, what: str) -> RowsView:
    try:
        seen = sight.read(table)
    except RiskError as error:
        raise TableError(f"{what} does not fit the schema", error.problems, error.next_step) from error
    if len(seen) < FEWEST_ROWS:
        raise RiskError(
            f"{what} has {len(seen)} rows; at least {FEWEST_ROWS} are needed", next_step=f"give {what} with more rows"
        )
    return seen


def _made(sight: AttackerView, made: Any, seed: int) -> tuple[RowsView | None, list[str]]:
    """Return released rows as the attacker sees them; what the schema does not know counts as missing."""
    if made is None:
        return None, []
    told: list[str] = []
    try:
        seen = sight.read(made)
    except RiskError as error:
        told = [f"the release: {problem}, counted as missing" for problem in error.problems]
        rows, wide = unknown_as_missing(made, sight.schema, sight.names)
        seen = AttackerView(wide, sight.names).read(rows)
    if not len(seen):
        raise RiskError("the release has no rows", next_step="attack a release with rows")
    if len(seen) > MOST_MADE:
        told.append(f"of {len(seen):,} released rows the attacker looks at a random sample of {MOST_MADE:,}")
        seen = seen[np.random.default_rng([seed, 98]).choice(len(seen), MOST_MADE, replace=False)]
    return seen, told


def _one_row_each(table: Table, rows: int, dice: np.random.Generator) -> IntArray:
    """Return all people in random order; of a person with several rows one, since the guarantee is for whole persons.

    Rows of one person come together, so that tests which take them for several people would cry wolf.
    """
    order = dice.permutation(rows)
    if table.schema.person is None:
        return order
    who: Any = raw_rows(table).column(table.schema.person).combine_chunks().dictionary_encode()
    codes = who.indices.to_numpy(zero_copy_only=False)
    return order[np.sort(np.unique(codes[order], return_index=True)[1])]


def _holdout_notes(sight: AttackerView, true: RowsView, held: RowsView) -> list[str]:
    """Refuse a holdout that is the table, and say where it looks like another population."""
    known, twins = _copied(held, true)
    if known > twins + SAME_PEOPLE:
        raise RiskError(
            f"{percent_fixed(known, 0)} of the holdout's rows stand in the table as well: these people are in the "
            "release, and no control",
            next_step="give rows that had no part in the release",
        )
    notes: list[str] = []
    slack = 4 * np.sqrt(max(twins * (1 - twins), 1 / len(held)) / len(held))
    if known > twins + slack:
        notes.append(
            f"{percent_fixed(known)} of the holdout's rows stand in the table as well, and {percent_fixed(twins)} of "
            "the table's rows stand in it twice: people who are in both make every attack look weaker"
        )
    unlike = [name for place, name in enumerate(sight.names) if _unlike(sight, place, true, held)]
    if unlike:
        notes.append(
            f"the holdout is distributed otherwise than the table in {', '.join(unlike)}: an attack may tell the two "
            "populations apart, and not members from others"
        )
    return notes


def _copied(held: RowsView, true: RowsView) -> tuple[float, float]:
    """Return the share of the holdout's rows that stand in the table, and of the table's that stand there twice."""
    both = np.nan_to_num(np.concatenate([true.points, held.points]), nan=np.inf)
    _, kinds = np.unique(both, axis=0, return_inverse=True)
    kinds = kinds.ravel()
    counts = np.bincount(kinds[: len(true)], minlength=int(kinds.max()) + 1)
    return float((counts[kinds[len(true) :]] > 0).mean()), float((counts[kinds[: len(true)]] > 1).mean())


def _unlike(sight: AttackerView, place: int, true: RowsView, held: RowsView) -> bool:
    """Whether a column of the holdout comes from another law: the chi-squared test on its public cells."""
    from scipy.stats import chi2

    size = sight.columns[place].size + 1
    sides = np.array([np.bincount(side.codes[:, place], minlength=size) for side in (true, held)], float)
    total = sides.sum(axis=0)
    expected: FloatArray = np.outer(sides.sum(axis=1), total) / total.sum()
    full = total > 0
    common = (expected >= 5).all(axis=0)
    if common.sum() < 2:
        return False
    rare = sides[:, full & ~common].sum(axis=1), expected[:, full & ~common].sum(axis=1)
    gaps = ((sides - expected)[:, common] ** 2 / expected[:, common]).sum()
    gaps += ((rare[0] - rare[1]) ** 2 / np.maximum(rare[1], 1)).sum()
    return float(chi2.sf(gaps, int(common.sum()))) < UNLIKE / len(sight.names)


TARGETS = 1000
"""People who are attacked on each side, and predicates that are tried, by default."""
NO_HOLDOUT = (
    "No holdout was given. After a release nobody can hold rows back any more: all of them had a part in it. What "
    "remains are attacks beside what is reached without the release. Give rows of the same population that were not in "
    "the table, or hold some back before the next release."
)
NO_ROWS = "Linkage and nearness: left out, as the release has no rows."
NO_MEMBERSHIP = "Membership, and the distance to the closest record: left out, as they need people who are not in it."


@checked_arguments
def attack_release(
    released: Any,
    table: Any,
    holdout: Any = None,
    secret: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    targets: int = TARGETS,
    shadows: int | None = None,
    seed: int = 0,
    level: float = LEVEL,
    schema: Schema | str | Path | None = None,
) -> ReleaseAttackReport:
    """Attack what was released: membership, singling out, linkage, attribute inference, nearness. For the custodian.

    ``released`` is a release, the folder of a bundle, or any rows (a frame, a file) with the columns of the table.
    ``table`` is the confidential table, ``holdout`` rows of the same population that had no part in the release: the
    control of every attack. ``secret`` are the columns to be guessed (the sensitive ones, or some, by default), from
    ``known`` (the quasi-identifiers, or all others); ``parts`` what two files hold that are joined through the release.
    At most ``targets`` people are attacked on each side. ``shadows`` is how often the method is run on people of the
    holdout; as often as fits into a minute by default. All intervals hold together with probability ``level``.
    """
    check_trials(targets, level)
    seeded_stream(seed)
    report_progress("reading")
    what = read_attack_targets(released, table, holdout, schema, targets, seed)
    tried, left_out = _attempts(what, AttackOptions(secret, known, parts, shadows))
    curve, claim = guarantee_curve(what.was)
    results = judge_attacks(tried, curve, claim, level)
    grade, verdict = verdict_of(results, what.held is not None, curve is not None, targets)
    strongest = strongest_of(results)
    return ReleaseAttackReport(
        table=what.schema.name,
        what=_release_text(what.was),
        rows=len(what.true),
        made_rows=None if what.made is None else len(what.made),
        holdout_rows=None if what.held is None else len(what.held),
        results=results,
        left_out=tuple(left_out),
        grade=grade,
        verdict=verdict,
        strongest=None if strongest is None else strongest.attack,
        advantage_low=0.0 if strongest is None else strongest.gain_low,
        targets=targets,
        level=level,
        notes=(
            *what.notes,
            *([NO_HOLDOUT.removesuffix(".")] if what.held is None else []),
            _simultaneity_note(results, level),
        ),
        given=what.was,
    )


def guarantee_curve(was: EvaluationInput) -> tuple[Any, str]:
    """Return the curve of the guarantee and the guarantee in a few words; nothing where none is formal."""
    promise = was.guarantee
    if promise is None or not promise.formal:
        return None, ""
    delta = f", delta {at_most(promise.exact_delta, 3)}" if promise.exact_delta else ""
    return promise.resting_on(
        was.events
    ).curve, f"epsilon {format_fraction(promise.exact_epsilon)}{delta}, its whole curve"


def _attempts(targets: AttackTargets, options: AttackOptions) -> Attempts:
    """Run every attack that reads such a release; return what was tried, and what was left out and why."""
    reads = "counts" if targets.made is None else "rows"
    if reads == "counts" and not targets.was.tables:
        raise RiskError("the release holds no table", next_step="attack a release with counts or rows")
    tried: list[AttackAttempt] = []
    left_out = [NO_ROWS] if reads == "counts" else [NO_MEMBERSHIP] if targets.held is None else []
    for attack in ON_RELEASE:
        if reads in attack.reads:
            report_progress(attack.name)
            attempts, why = attack.attempt(targets, options)
            tried += attempts
            left_out += why
    return tried, left_out


def _release_text(was: EvaluationInput) -> str:
    if was.method is None:
        return "somebody's synthetic rows" if was.guarantee is None else "a release"
    return f"{was.makes} by {was.method.name}"


def _simultaneity_note(results: Sequence[Any], level: float) -> str:
    each = 1 - (1 - level) / (2 * max(len(results), 1))
    return (
        f"attacks tried: {len(results)}. Each interval is taken at {percent_fixed(each, 2)}, so that all hold together "
        f"with {percent(level, 6)}, and an attack is said to work only after Holm's correction for all of them"
    )
