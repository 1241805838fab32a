"""Attribute inference: guess a sensitive value from a release and known columns.

A release teaches about the population, and a guess by population knowledge is right for people who are not in the
table as well. So the rate on members stands beside the rate on people who are not in it (the control): the difference
is what the release reveals about its members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arrays import BoolArray
from sfumato.core.method import Method
from sfumato.errors import RiskError
from sfumato.metrics.confidence import LEVEL
from sfumato.metrics.evaluation_input import raw_rows
from sfumato.metrics.rows_view import Codes, Observes, Points, RowsView, check_observes
from sfumato.risk.attacks.attack import (
    MOST_WORST,
    AttackAttempt,
    AttackOptions,
    AttackResult,
    Attempts,
    ThreatModel,
    check_trials,
)
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView, schema_of
from sfumato.risk.simulated.membership_game import NEVER_RELEASED, seeded_stream
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table, read
from sfumato.table.sources import open_source

if TYPE_CHECKING:
    from sfumato.risk.on_release.run import AttackTargets

Guesser = Callable[[RowsView], Codes]
"""Takes people as they are known, the known columns first; returns the guessed code of each."""
TREES = 50
MOST_TARGETS = 5000
"""Targets that are tried in one run by default."""
FEWEST_PEOPLE = 40
MOST_SECRETS = 6
"""Columns that are guessed where the schema names none as sensitive."""
BASELINE = "The baseline always names the most common value of these people."
NO_CONTROL = (
    "No control was given, people who are not in the release: what it teaches about everybody and what it gives away "
    "about its members cannot be told apart."
)


def known_and_sensitive(
    schema: Schema, known: Sequence[str] | None = None, sensitive: str | None = None
) -> tuple[tuple[str, ...], str]:
    """Return what the attacker knows and wants: as named, or the quasi-identifiers and the one sensitive column."""
    targets = schema.with_role("sensitive") if sensitive is None else (sensitive,)
    if len(targets) != 1:
        raise RiskError(
            f"one sensitive column is needed, found {len(targets)}", next_step="name it with --sensitive COLUMN"
        )
    chosen = tuple(known or (name for name in schema.with_role("quasi-identifier") if name != targets[0]))
    missing = [name for name in (*chosen, *targets) if name not in schema]
    if missing or not chosen:
        raise RiskError(
            "the columns of the attack are not clear",
            [f"no column {name!r}; the table has {', '.join(schema.names)}" for name in missing]
            or ["no column is known: none has role = 'quasi-identifier'"],
            "name them with --known COLUMN --sensitive COLUMN",
        )
    return chosen, targets[0]


@dataclass(frozen=True)
class AttributeInference:
    """Guess the ``sensitive`` column from the ``known`` ones.

    From counts: the most common released value given what is known. From rows: the value of most of the nearest rows
    (``learner="nearest"``), or a classifier trained on the rows (``learner="forest"``). Rows are compared by their
    values; with ``sees="bins"`` ordered columns by their public bins. Counts have nothing but bins. A guess is right
    when it names the person's own level of the sensitive column, or the public bin of its value.
    """

    known: Sequence[str]
    sensitive: str
    learner: str = "nearest"
    sees: Observes = "values"

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal="to know a person's sensitive value", knowledge=("the person's values in the known columns",)
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", tuple(self.known))
        check_observes(self.sees)
        problems = [] if self.known else ["no known column is named"]
        problems += [f"{self.sensitive!r} is both known and sensitive"] if self.sensitive in self.known else []
        problems += ["a known column is named twice"] if len(set(self.known)) < len(self.known) else []
        problems += [f"unknown learner {self.learner!r}"] if self.learner not in ("nearest", "forest") else []
        if problems:
            raise RiskError("the attack is not well defined", problems, "use known=['age', 'sex'], sensitive='income'")

    def run(
        self,
        release: Any,
        members: Any,
        control: Any = None,
        *,
        schema: Schema | None = None,
        trials: int = MOST_TARGETS,
        seed: int | None = None,
        level: float = LEVEL,
    ) -> AttackResult:
        """Attack one release: a :class:`Release`, a synthetic table, or a mapping from column sets to count tables.

        ``members`` are rows that were in the table, ``control`` rows of the same population that were not.
        """
        check_trials(trials, level)
        sight = AttackerView(schema_of(members, schema), self.known, self.sees)
        guesser, seen = self._guesser(release, sight)
        generator = seeded_stream(seed).generator
        inside = _sample(sight.read(members, self.sensitive), trials, generator)
        outside = None if control is None else _sample(sight.read(control, self.sensitive), trials, generator)
        found = self._result(guesser, inside, outside, level)
        notes = (*found.notes, *_right_means(sight.schema[self.sensitive]), *([NO_CONTROL] if outside is None else []))
        return found.model_copy(update={"threat": self.threat.seeing(seen), "notes": notes})

    def against(
        self,
        table: Table,
        method: Method,
        *,
        rows: int | None = None,
        trials: int = MOST_TARGETS,
        seed: int | None = None,
        level: float = LEVEL,
    ) -> AttackResult:
        """Split the table by lot, release one half by the method, and attack the people of both halves."""
        check_trials(trials, level)
        randomness = seeded_stream(seed)
        method.plan(table.schema, rows, "seeded")  # refuses what is wrong before any row is read
        table.require_valid()
        members, others = _halves(table, randomness.generator)
        output = method.run(members, method.plan(members.schema, rows, "seeded"), randomness, rows)
        made = next(iter(output.tables.values())) if method.makes == "rows" else output.tables
        found = self.run(made, members, others, trials=trials, seed=seed, level=level)
        name = f"{found.attack}, against {method.name}"
        return found.model_copy(update={"attack": name, "notes": (*found.notes, NEVER_RELEASED)})

    def _guesser(self, release: Any, sight: AttackerView) -> tuple[Guesser, str]:
        """Return how the attacker guesses, and what is seen of this release."""
        tables = getattr(release, "tables", release)
        makes = getattr(getattr(release, "method", None), "makes", None)
        if makes == "rows":
            tables = next(iter(tables.values()))
        if isinstance(tables, Mapping):
            return guess_from_counts(tables, sight.schema, self.known, self.sensitive), IN_WORDS["counts"]
        return _from_rows(tables, sight, self.sensitive, self.learner), IN_WORDS[self.sees]

    def _result(self, guesser: Guesser, inside: RowsView, outside: RowsView | None, level: float) -> AttackResult:
        right, common = _right(guesser, inside), int(np.bincount(inside.codes[:, -1]).max())
        blind = None if outside is None else _right(guesser, outside)
        n, m = len(inside), 0 if outside is None else len(outside)
        title = f"Inference of {self.sensitive} from {', '.join(self.known)}"
        facts = {"attack": title, "threat": self.threat, "baseline": common / n, "notes": (BASELINE,)}
        return AttackResult.of_counts(right, n, blind, m, level, **facts)


def _right(guesser: Guesser, people: RowsView) -> int:
    return int((guesser(people) == people.codes[:, -1]).sum())


def _right_means(sensitive: Column) -> tuple[str, ...]:
    if not sensitive.is_ordered or sensitive.has_unit_bins:
        return ()
    return (f"A guess of {sensitive.name} is right when it names the public bin of the person's value.",)


def _sample(people: RowsView, most: int, generator: np.random.Generator) -> RowsView:
    if not len(people):
        raise RiskError("there is nobody to attack", next_step="give a table with rows")
    return people if len(people) <= most else people[generator.choice(len(people), most, replace=False)]


def schema_of_half(schema: Schema, rows: int) -> Schema:
    """Return the schema of a part of the rows: a public row count is that of the part."""
    return schema if schema.rows is None else replace(schema, rows=rows)


def _halves(table: Table, generator: np.random.Generator) -> tuple[Table, Table]:
    """Split the people by lot; under a public row count the half that is released has its own."""
    private = raw_rows(table)
    if private.num_rows < FEWEST_PEOPLE:
        raise RiskError(
            f"{private.num_rows} rows are too few to hold half of them back",
            next_step=f"give at least {FEWEST_PEOPLE} rows, or attack a release with run(release, members, control)",
        )
    released = _lot(private, table.schema.person, generator)
    parts = [private.filter(pa.array(released)), private.filter(pa.array(~released))]
    tables = [read(part, schema_of_half(table.schema, part.num_rows)) for part in parts]
    return tables[0], tables[1]


def _lot(private: pa.Table, person: str | None, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Draw half of the people; all rows of one person stay together."""
    who = np.arange(private.num_rows)
    if person is not None:
        who = private.column(person).combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    order = generator.permutation(int(who.max()) + 1)
    return order[who] < len(order) // 2


def guess_from_counts(
    tables: Mapping[tuple[str, ...], Any], schema: Schema, known: Sequence[str], sensitive: str
) -> Guesser:
    """Guess the most common released value given as many of the known columns as one released table has."""
    useful = [names for names in tables if sensitive in names and set(names) & set(known)]
    if not useful:
        raise RiskError(
            f"no released table shows {sensitive!r} together with a known column",
            [f"released: {' x '.join(names)}" for names in tables],
            "attack a release that does, or name other known columns",
        )
    chosen = max(useful, key=lambda names: len(set(names) & set(known)))
    counts = np.maximum(counts_of(tables[chosen], schema, chosen), 0)
    shared = [name for name in known if name in chosen]
    unknown = tuple(i for i, name in enumerate(chosen) if name not in (*shared, sensitive))
    order = [name for name in chosen if name in (*shared, sensitive)]
    table = counts.sum(axis=unknown).transpose([order.index(name) for name in (*shared, sensitive)])
    most = table.reshape(-1, table.shape[-1]).sum(axis=0).argmax()
    best = np.where(table.max(axis=-1) > 0, table.argmax(axis=-1), most)
    places = [list(known).index(name) for name in shared]
    return lambda people: best[tuple(people.codes[:, place] for place in places)]


def counts_of(table: Any, schema: Schema, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the last column of a released count table in the shape of its cells."""
    engine = open_source(table).engine
    released = engine.aggregate(engine.table)
    counts = np.asarray(released.column(released.num_columns - 1).to_numpy(), float)
    shape = schema.shape(names)
    if counts.size != int(np.prod(shape)):
        raise RiskError(
            f"the table {' x '.join(names)} has {counts.size:,} cells, the schema says {int(np.prod(shape)):,}",
            next_step="give the schema with which the release was made",
        )
    return counts.reshape(shape)


def _from_rows(rows: Any, sight: AttackerView, sensitive: str, learner: str) -> Guesser:
    """Guess from synthetic rows: by the nearest of them, or by a classifier trained on them."""
    seen = sight.read(rows, sensitive)
    if not len(seen):
        raise RiskError("the release has no rows", next_step="attack a release with rows")
    return guess_from_rows(sight, seen.points[:, :-1], seen.codes[:, -1], sight.schema[sensitive].size, learner)


def guess_from_rows(sight: AttackerView, rows: Points, labels: Codes, size: int, learner: str = "nearest") -> Guesser:
    """Guess the label of most of the nearest rows, or what a forest says that was trained on the rows."""
    width = len(sight.names)
    if learner == "nearest":
        return lambda people: sight.votes(people.points[:, :width], rows, labels, size)
    from sklearn.ensemble import RandomForestClassifier

    # A fixed seed: the forest is the attacker's own, and nothing private hangs on it.
    model: Any = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=1, random_state=0)
    model.fit(sight.scaled(rows), labels)
    return lambda people: np.asarray(model.predict(sight.scaled(people.points[:, :width])), np.int64)


def on_release(subject: AttackTargets, options: AttackOptions) -> Attempts:
    """Guess each secret column from what is known, for people of the table and for others."""
    found: list[AttackAttempt] = []
    why: list[str] = []
    for column in secrets_of(subject, options.secret):
        given = [
            name for name in (options.known or _known_columns(subject)) if name != column and name in subject.names
        ]
        try:
            found.append(_guessed(subject, column, given))
        except RiskError as error:
            why.append(f"Inference of {column}: left out, as {error.headline}.")
    return found, why


def secrets_of(subject: AttackTargets, secret: Sequence[str] | None) -> list[str]:
    """Return the columns that are guessed: as named, those with that role, or some in the order of the schema."""
    if secret is not None:
        absent = [name for name in secret if name not in subject.names]
        if absent:
            raise RiskError(
                f"the release has no column {', '.join(map(repr, absent))}",
                next_step=f"name some of: {', '.join(subject.names)}",
            )
        return list(secret)
    marked = [name for name in subject.schema.with_role("sensitive") if name in subject.names]
    if marked:
        return marked
    step = -(-len(subject.names) // MOST_SECRETS)
    return list(subject.names[::-step][::-1]) if len(subject.names) > 1 else []


def _known_columns(subject: AttackTargets) -> list[str]:
    marked = [name for name in subject.schema.with_role("quasi-identifier") if name in subject.names]
    return marked or list(subject.names)


def _guessed(subject: AttackTargets, column: str, known: Sequence[str]) -> AttackAttempt:
    if not known:
        raise RiskError("nothing is known that would help to guess it")
    sides = [subject.inside, *([] if subject.outside is None else [subject.outside])]
    right = [_guessed_rightly(subject, side, column, known) for side in sides]
    labels = subject.inside.codes[:, subject.names.index(column)]
    return AttackAttempt.on_people(
        f"Inference of {column} from {_named(known)}",
        "inference",
        AttributeInference.threat.seeing(IN_WORDS["counts" if subject.made is None else "values"]),
        right[0],
        right[1] if len(right) > 1 else None,
        float(np.bincount(labels).max() / len(labels)),
        subject.rows_named(subject.members[_rarest(right[0], labels)]),
        BASELINE,
    )


def _named(known: Sequence[str]) -> str:
    return ", ".join(known) if len(known) <= 4 else f"{len(known)} other columns"


def _guessed_rightly(subject: AttackTargets, people: RowsView, column: str, known: Sequence[str]) -> BoolArray:
    """Return whose value is guessed rightly: by the nearest released rows, or by released counts."""
    places = [subject.names.index(name) for name in known]
    place = subject.names.index(column)
    if subject.made is None:
        guess = guess_from_counts(subject.was.tables, subject.schema, known, column)
    else:
        rows, labels = subject.made.points[:, places], subject.made.codes[:, place]
        size = max(subject.schema[column].size, int(labels.max()) + 1)
        guess = guess_from_rows(AttackerView(subject.schema, known), np.ascontiguousarray(rows), labels, size)
    seen = RowsView(people.codes[:, places], np.ascontiguousarray(people.points[:, places]))
    return guess(seen) == people.codes[:, place]


def _rarest(right: BoolArray, labels: Codes) -> Codes:
    """Return whose value was guessed and is rare: a common one is guessed without any release."""
    rarity = np.bincount(labels)[labels]
    return np.array(sorted(np.flatnonzero(right), key=lambda place: int(rarity[place]))[:MOST_WORST], np.int64)
