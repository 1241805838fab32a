"""Guessers of a sensitive value: from released counts, from the nearest released rows, or by a classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RiskError
from sfumato.risk.rows import CHUNK, Codes, Distance, codes_of
from sfumato.schema import Schema
from sfumato.table.sources import open_source

Guesser = Callable[[Codes], Codes]
"""Takes the known codes of people, returns the guessed code of each."""
TIE = 1e-12
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
    return lambda codes: best[tuple(codes[:, place] for place in places)]


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


def from_rows(rows: Any, schema: Schema, known: Sequence[str], sensitive: str, learner: str) -> Guesser:
    """Guess from synthetic rows: by the nearest of them, or by a classifier trained on them."""
    codes = codes_of(rows, schema, (*known, sensitive))
    if not len(codes):
        raise RiskError("the release has no rows", next_step="attack a release with rows")
    if learner == "forest":
        return _forest(codes)
    return _nearest(codes, Distance.of(schema, known), schema[sensitive].size)


def _nearest(codes: Codes, distance: Distance, values: int) -> Guesser:
    """Let the rows at the smallest distance vote; ties of the vote go to the value that is more common overall."""
    keys, place = np.unique(codes[:, :-1], axis=0, return_inverse=True)
    votes = np.zeros((len(keys), values))
    np.add.at(votes, (place.ravel(), codes[:, -1]), 1.0)
    votes += votes.sum(axis=0) / (2 * len(codes) + 1)

    def guess(people: Codes) -> Codes:
        asked, back = np.unique(people, axis=0, return_inverse=True)
        step = max(CHUNK // len(keys), 1)
        found = [_vote(distance.between(asked[s : s + step], keys), votes) for s in range(0, len(asked), step)]
        return np.concatenate(found)[back.ravel()]

    return guess


def _vote(apart: NDArray[np.float64], votes: NDArray[np.float64]) -> Codes:
    nearest = apart <= apart.min(axis=1, keepdims=True) + TIE
    return (nearest.astype(float) @ votes).argmax(axis=1)


def _forest(codes: Codes) -> Guesser:
    from sklearn.ensemble import RandomForestClassifier

    # A fixed seed: the forest is the attacker's own, and nothing private hangs on it.
    model: Any = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=1, random_state=0)
    model.fit(codes[:, :-1], codes[:, -1])
    return lambda people: np.asarray(model.predict(people), np.int64)
