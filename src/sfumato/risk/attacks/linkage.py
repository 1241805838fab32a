"""Linkage by fresh references, by nearest synthetic row, and of two files through a release.

>>> from sfumato.privacy.noise_distributions import Geometric
>>> pair = CountWorlds.of([10, 4, 7], [10, 5, 7], Geometric(8.0), epsilon=8.0)
>>> FreshReferenceLinkage().run(pair, trials=200, seed=1).succeeds
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.method import Method
from sfumato.errors import RiskError
from sfumato.metrics.confidence import LEVEL, binomial_interval
from sfumato.metrics.rows_view import Codes, Observes, check_observes
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import AttackResult, ThreatModel, check_trials
from sfumato.risk.attacks.attacker_view import IN_WORDS, AttackerView
from sfumato.risk.simulated import CountWorlds, Game, ReleasedBatch, to_game
from sfumato.risk.simulated.membership_game import play_game, seeded_stream
from sfumato.schema import Schema
from sfumato.table import Table

__all__ = ["CountWorlds", "FreshReferenceLinkage", "NearestRowLinkage", "nearest_row"]


@dataclass(frozen=True)
class FreshReferenceLinkage:
    """Release both candidate tables afresh and name the one whose release is nearer, in Euclidean distance.

    The references never are the observed release itself: compared with itself a release is at distance 0, and the
    attack would "succeed" without learning anything. With several ``references`` their mean is compared.
    """

    references: int = 1

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal="to know which of two tables was released",
        knowledge=("both candidate tables", "how to run the method, with other noise than that of the release"),
    )

    def __post_init__(self) -> None:
        if isinstance(self.references, bool) or self.references < 1:
            raise RiskError(f"references must be at least 1, found {self.references!r}", next_step="use references=1")

    def run(
        self,
        subject: Any,
        method: Method | None = None,
        *,
        trials: int = 1000,
        seed: int | None = None,
        level: float = LEVEL,
        target: int | None = None,
        rows: int | None = None,
        sees: Observes = "values",
    ) -> AttackResult:
        """Play the game; ``subject`` is a table (with a method) or a game, which knows what is seen."""
        check_trials(trials, level)
        subject, randomness = to_game(subject, method, target, rows, sees), seeded_stream(seed)

        def nearer(drawn: ReleasedBatch) -> FloatArray:
            inside = self._distance(subject, True, drawn.vectors, randomness)
            return self._distance(subject, False, drawn.vectors, randomness) - inside

        return play_game("Linkage with fresh references", self.threat, subject, nearer, randomness, trials, level)

    def releases(self, trials: int) -> int:
        """Return how often the method is run: each game, and the control of every second one, with its references."""
        return (trials + trials // 2) * (1 + 2 * self.references)

    def _distance(self, subject: Game, member: bool, observed: FloatArray, randomness: Randomness) -> FloatArray:
        reference = np.zeros_like(observed)
        for _ in range(self.references):
            reference += subject.draw(member, len(observed), randomness).vectors / self.references
        return np.sqrt(((observed - reference) ** 2).sum(axis=1))


@dataclass(frozen=True)
class NearestRowLinkage:
    """Link each original row to the nearest synthetic one, by the columns that the attacker knows.

    For synthesizers that keep the order of the rows, so that row i of the synthetic table comes from row i of the
    original. The attacker sees values; with ``sees="bins"`` only the public bins of ordered ones. Where several
    synthetic rows are equally near, one of them is drawn: the rate is exact, without a draw.
    """

    columns: Sequence[str]
    top: int = 10
    sees: Observes = "values"

    threat: ClassVar[ThreatModel] = ThreatModel(
        goal="to find the synthetic row that was made from a person's record",
        knowledge=("the person's values in the named columns", "that rows were made one from one"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        check_observes(self.sees)
        if not self.columns or isinstance(self.top, bool) or self.top < 1:
            raise RiskError("columns must be named and top be at least 1", next_step="use for example top=10")

    def run(
        self,
        original: Any,
        synthetic: Any,
        schema: Schema | None = None,
        *,
        level: float = LEVEL,
        seed: int | None = None,
    ) -> AttackResult:
        """Return the share of rows whose nearest synthetic row is their own; the control deals the rows anew."""
        sight = AttackerView(_schema(original, schema), self.columns, self.sees)
        left, right = (sight.read(rows).points for rows in (original, synthetic))
        if len(left) != len(right) or not len(left):
            raise RiskError(
                f"the tables must have the same rows one by one, found {len(left):,} and {len(right):,}",
                next_step="give a synthetic table that was made row by row from the original",
            )
        dealt = seeded_stream(seed).generator.permutation(len(right))
        first, within = _shares(*sight.ranks(left, right), self.top)
        control, _ = _shares(*sight.ranks(left, right[dealt]), self.top)
        return self._result(first, within, control, level)

    def _result(self, first: FloatArray, within: FloatArray, control: FloatArray, level: float) -> AttackResult:
        n = len(first)
        intervals = [binomial_interval(round(float(shares.sum())), n, level) for shares in (first, control)]
        top = min(self.top, n)
        return AttackResult(
            attack=f"Linkage of rows by {', '.join(self.columns)}",
            threat=self.threat.seeing(IN_WORDS[self.sees]),
            rate=float(first.mean()),
            interval=intervals[0],
            trials=n,
            baseline=1 / n,
            control=float(control.mean()),
            control_interval=intervals[1],
            more={f"top {top}": float(within.mean()), f"top {top} baseline": top / n},
        )


def nearest_row(
    original: Any,
    synthetic: Any,
    columns: Sequence[str],
    schema: Schema | None = None,
    top: int = 10,
    level: float = LEVEL,
    seed: int | None = None,
    sees: Observes = "values",
) -> AttackResult:
    """Return the share of rows whose nearest synthetic row (or one of the ``top`` nearest) is their own."""
    return NearestRowLinkage(columns, top, sees).run(original, synthetic, schema, level=level, seed=seed)


def _schema(original: Any, schema: Schema | None) -> Schema:
    if schema is not None:
        return schema
    if isinstance(original, Table):
        return original.schema
    raise RiskError("no schema is given", next_step="give a table from sfumato.read(...), or schema=...")


def _shares(nearer: Codes, level_with: Codes, top: int) -> tuple[FloatArray, FloatArray]:
    """Return for each row the chance that its own synthetic row is drawn first, and among the first ``top``."""
    first = np.where(nearer == 0, 1 / level_with, 0.0)
    return first, np.clip((top - nearer) / level_with, 0.0, 1.0)
