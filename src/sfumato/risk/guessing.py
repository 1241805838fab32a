"""Guessers of a sensitive value: from released counts, from the nearest released rows, or by a classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RiskError
from sfumato.risk.sight import Sight
from sfumato.rows.coded import Codes, Points, Seen
from sfumato.schema import Schema
from sfumato.table.sources import open_source

Guesser = Callable[[Seen], Codes]
"""Takes people as they are known, the known columns first; returns the guessed code of each."""
TREES = 50


def from_counts(tables: Mapping[tuple[str, ...], Any], schema: Schema, known: Sequence[str], sensitive: str) -> Guesser:
    """Guess the most common released value given as many of the known columns as one released table has."""
    useful = [names for names in tables if sensitive in names and set(names) & set(known)]
    if not useful:
        raise RiskError(
            f"no released table shows {sensitive!r} together with a known column",
            [f"released: {' x '.join(names)}" for names in tables],
            "attack a release that does, or name other known columns",
        )
    chosen = max(useful, key=lambda names: len(set(names) & set(known)))
    counts = np.maximum(_array(tables[chosen], schema, chosen), 0)
    shared = [name for name in known if name in chosen]
    unknown = tuple(i for i, name in enumerate(chosen) if name not in (*shared, sensitive))
    order = [name for name in chosen if name in (*shared, sensitive)]
    table = counts.sum(axis=unknown).transpose([order.index(name) for name in (*shared, sensitive)])
    most = table.reshape(-1, table.shape[-1]).sum(axis=0).argmax()
    best = np.where(table.max(axis=-1) > 0, table.argmax(axis=-1), most)
    places = [list(known).index(name) for name in shared]
    return lambda people: best[tuple(people.codes[:, place] for place in places)]


def _array(table: Any, schema: Schema, names: Sequence[str]) -> NDArray[np.float64]:
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


def from_rows(rows: Any, sight: Sight, sensitive: str, learner: str) -> Guesser:
    """Guess from synthetic rows: by the nearest of them, or by a classifier trained on them."""
    seen = sight.read(rows, sensitive)
    if not len(seen):
        raise RiskError("the release has no rows", next_step="attack a release with rows")
    known, labels = seen.points[:, :-1], seen.codes[:, -1]
    if learner == "forest":
        return _forest(sight, known, labels)
    return lambda people: sight.votes(_known(people, sight), known, labels, sight.schema[sensitive].size)


def _known(people: Seen, sight: Sight) -> Points:
    return people.points[:, : len(sight.names)]


def _forest(sight: Sight, known: Points, labels: Codes) -> Guesser:
    from sklearn.ensemble import RandomForestClassifier

    # A fixed seed: the forest is the attacker's own, and nothing private hangs on it.
    model: Any = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=1, random_state=0)
    model.fit(sight.scaled(known), labels)
    return lambda people: np.asarray(model.predict(sight.scaled(_known(people, sight))), np.int64)
