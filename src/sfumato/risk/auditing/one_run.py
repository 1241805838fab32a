"""Audit one release with canaries: make them, keep the secret record, test the release.

Theorem (Steinke, Nasr and Jagielski 2023). Each of m canaries is included with probability 1/2, independently, before
an (epsilon, delta)-DP release; whoever sees the release guesses r of the coins. The number of right guesses exceeds v
with probability at most

    P(B >= v) + 2 m delta max over i >= 1 of P(v > B >= v - i) / i,    B ~ Binomial(r, e^epsilon / (1 + e^epsilon)).

So every epsilon at which this lies below alpha is refuted, at confidence 1 - alpha. Which coins are guessed may depend
on the release. Adjacency is the schema's: under replace each coin decides which of two rows stands in the table.

Its power is weak: one release gives at most m coins, each of which tells little, and canaries share the noise. With 100
canaries all guessed right the bound is 3.5; a release of epsilon 1 will show hardly anything. It finds gross mistakes,
such as rows that were copied, and not noise that is too small by half. The canaries are rows of nobody: they are a part
of the released table, so use few of them beside the rows, and they are covered by the guarantee like everybody.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfumato.argument_errors import checked_arguments
from sfumato.arrays import FloatArray
from sfumato.bounded_reads import bounded_text
from sfumato.core.release import check_seed
from sfumato.errors import RiskError
from sfumato.formatting import percent
from sfumato.privacy.exact import at_least
from sfumato.privacy.randomness import Randomness
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.system import write_owner_only
from sfumato.table import Table, read

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST_CANARIES = 10
TRIES = 200
"""Rows that are tried for each canary until one keeps the rules."""
HALVINGS = 50
LARGEST_EPSILON = 60.0


@dataclass(frozen=True, repr=False)
class Canaries(ReprMixin):
    """Rows of nobody, with the coins that say which of them are in the table: a secret of the custodian."""

    schema: Schema
    rows: tuple[dict[str, Any], ...] = field(repr=False)
    others: tuple[dict[str, Any], ...] = field(repr=False)
    """Under replace, the rows that stand in the table where a canary does not; none under add-remove."""
    coins: tuple[bool, ...] = field(repr=False)

    @property
    def included(self) -> pa.Table:
        """The rows to put into the table before it is released."""
        import pyarrow as pa

        kept = [row for row, coin in zip(self.rows, self.coins, strict=True) if coin]
        kept += [row for row, coin in zip(self.others, self.coins, strict=False) if not coin]
        return pa.table({name: [row[name] for row in kept] for name in self.schema.releasable})

    def record(self) -> str:
        """Return rows and coins as JSON: whoever reads it knows what the audit is to find out."""
        body = {"schema": self.schema.name, "coins": self.coins, "rows": self.rows, "others": self.others}
        return json.dumps(body, default=str)

    @classmethod
    def load(cls, path: str | Path, schema: Schema) -> Canaries:
        """Read the record that :meth:`save` wrote."""
        try:
            body = json.loads(bounded_text(path))
            parts = [tuple(_typed(schema, row) for row in body[key]) for key in ("rows", "others")]
            return cls(schema, parts[0], parts[1], tuple(bool(coin) for coin in body["coins"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RiskError(
                f"cannot read canaries from {str(path)!r}: {type(error).__name__}",
                next_step="give the file that canaries.save wrote, and the schema that they were made for",
            ) from error

    def save(self, path: str | Path) -> Path:
        """Write rows and coins to a new file that its owner alone may read."""
        place = Path(path)
        try:
            write_owner_only(place, self.record())
        except OSError as error:
            raise RiskError(
                f"cannot write the canaries to {str(path)!r}: {error.strerror}", next_step="name a new file in a folder"
            ) from error
        return place

    def _line(self) -> str:
        return (
            f"{len(self.rows)} rows of nobody for table {self.schema.name!r}, each included by a coin; keep it secret"
        )

    def _lines(self) -> list[tuple[str, str]]:
        return [("canaries", str(len(self.rows))), ("table", self.schema.name)]


@dataclass(frozen=True, repr=False)
class OneRunAudit(ReprMixin):
    """What the guesses about one release prove."""

    canaries: int
    guesses: int
    right: int
    epsilon_low: float
    epsilon_claimed: float
    delta: float
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is certainly wrong, at the confidence."""
        return self.epsilon_low > self.epsilon_claimed

    def statement(self) -> str:
        """Return the finding in plain words."""
        said = (
            f"Of {self.guesses:,} guesses about {self.canaries:,} canaries {self.right:,} were right: epsilon is at "
            f"least {at_least(self.epsilon_low, 3)} ({percent(self.confidence, 6)} sure), claimed "
            f"{self.epsilon_claimed:.3g} at delta {self.delta:.3g}."
        )
        most = epsilon_lower_bound(self.canaries, self.guesses, self.guesses, self.delta, 1 - self.confidence)
        weak = f"One release can show little: even if all guesses had been right, it would be {most:.3g}."
        verdict = "REFUTED: the release gives away more than it claims." if self.refuted else "The claim stands."
        return f"{said} {weak} {verdict}"

    def _line(self) -> str:
        word = "REFUTED: " if self.refuted else ""
        return f"{word}epsilon at least {at_least(self.epsilon_low, 3)} of {self.epsilon_claimed:.3g}"

    def _lines(self) -> list[tuple[str, str]]:
        return [
            ("guesses right", f"{self.right} of {self.guesses}"),
            ("epsilon at least", at_least(self.epsilon_low, 3)),
        ]


@checked_arguments
def make_canaries(schema: Schema, count: int = 100, seed: int | None = None) -> Canaries:
    """Return rows that are spread evenly over the schema's domain, and a coin for each.

    Without a seed the coins come from the operating system, as they must where the release is real.
    """
    if isinstance(count, bool) or count != int(count) or count < FEWEST_CANARIES:
        raise RiskError(f"{count!r} canaries", next_step=f"make at least {FEWEST_CANARIES}, 100 or more where possible")
    if schema.person is not None:
        raise RiskError(
            "canaries are made for tables in which each person has one row",
            next_step="audit the method itself: sfumato.risk.audit(method, schema)",
        )
    randomness = Randomness.of(check_seed(seed))
    coins = tuple(bool(number < 0.5) for number in randomness.uniform.random(count))
    pairs = count if schema.adjacency == "replace" else 0
    rows, others = (tuple(_row(schema, randomness.generator) for _ in range(size)) for size in (count, pairs))
    return Canaries(schema, rows, others, coins)


def _row(schema: Schema, generator: np.random.Generator) -> dict[str, Any]:
    import pyarrow as pa

    for _ in range(TRIES):
        row = {name: _value(schema[name], generator) for name in schema.releasable}
        if not schema.rules or not read(pa.table({name: [value] for name, value in row.items()}), schema).violations:
            return row
    raise RiskError(
        "hardly any row of the domain keeps the rules, so that no canaries can be made",
        next_step="audit the method itself: sfumato.risk.audit(method, schema)",
    )


def _value(column: Column, generator: np.random.Generator) -> Any:
    """Return a value that is as likely as any other cell's."""
    if not column.is_ordered:
        return column.levels[int(generator.integers(len(column.levels)))]
    place = int(generator.integers(column.present_size))
    start = float(column.starts[place])
    return start if column.kind == "number" else column.whole(start)


def _typed(schema: Schema, row: dict[str, Any]) -> dict[str, Any]:
    import datetime as dt

    dates = {name for name in row if schema[name].kind == "date"}
    return {name: dt.date.fromisoformat(value) if name in dates else value for name, value in row.items()}


@checked_arguments
def one_run_audit(
    canaries: Canaries,
    released: Any,
    epsilon: float,
    delta: float = 0.0,
    guesses: int | None = None,
    confidence: float = 0.95,
) -> OneRunAudit:
    """Return a lower bound on epsilon from one release of a table that held the canaries.

    ``released`` is a release, a frame of released rows, or a number for each canary that is larger the more the release
    speaks for it. Of the canaries the half with the most extreme numbers is guessed, unless ``guesses`` says how many.
    """
    if not 0 < confidence < 1 or not epsilon > 0 or not 0 <= delta < 1:
        raise RiskError(
            "these are no epsilon, delta and confidence", next_step="give epsilon=1, delta=1e-9, for example"
        )
    scores, coins = _scores(canaries, released), np.array(canaries.coins)
    asked = min(guesses or len(coins) // 2, len(coins))
    order = np.argsort(scores, kind="stable")
    low, high = order[: asked // 2], order[len(order) - (asked - asked // 2) :]
    right = int((~coins[low]).sum() + coins[high].sum())
    bound = epsilon_lower_bound(len(coins), asked, right, delta, 1 - confidence)
    return OneRunAudit(len(coins), asked, right, bound, float(epsilon), float(delta), confidence)


def epsilon_lower_bound(canaries: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """Return the largest epsilon that so many right guesses refute.

    >>> round(epsilon_lower_bound(100, 100, 100, 0.0, 0.05), 2), epsilon_lower_bound(100, 100, 55, 0.0, 0.05)
    (3.49, 0.0)
    """
    if guess_tail_bound(canaries, guesses, right, 0.0, delta) >= alpha:
        return 0.0
    low, high = 0.0, LARGEST_EPSILON
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if guess_tail_bound(canaries, guesses, right, middle, delta) < alpha else (low, middle)
        )
    return low


def guess_tail_bound(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Return the most probable that so many right guesses can be under (epsilon, delta)-DP: the theorem's bound."""
    from scipy.special import expit
    from scipy.stats import binom

    law, chance = cast("Any", binom), float(expit(epsilon))
    tail = float(law.sf(right - 1, guesses, chance))
    if not delta or not right:
        return tail
    fewer = np.arange(1, right + 1)
    factor = float((np.cumsum(law.pmf(right - fewer, guesses, chance)) / fewer).max())
    return min(1.0, tail + 2 * canaries * delta * factor)


def _scores(canaries: Canaries, released: Any) -> FloatArray:
    if isinstance(released, list | tuple | np.ndarray):
        numbers = np.asarray(cast("Sequence[float]", released), float)
        if numbers.shape != (len(canaries.coins),):
            raise RiskError(
                f"{numbers.size} numbers for {len(canaries.coins)} canaries", next_step="give one number for each"
            )
        return numbers
    frame = released.data if hasattr(released, "guarantee") else released
    return canary_scores(canaries, read(frame, canaries.schema))


def canary_scores(canaries: Canaries, released: Table) -> FloatArray:
    """Return how much more frequent each canary's cells of two columns are among released rows than others suggest."""
    import pyarrow as pa

    from sfumato.table.rows import encode_column

    schema, names = canaries.schema, canaries.schema.releasable
    sides = [canaries.rows, canaries.others] if canaries.others else [canaries.rows]
    sets = list(combinations(names, 2)) or [tuple(names)]
    counts, total = released.marginals(sets), np.zeros((2, len(canaries.rows)))
    for side, rows in enumerate(sides):
        codes = {name: encode_column(pa.array([row[name] for row in rows]), schema[name]) for name in names}
        for columns in sets:
            table = counts[columns].astype(float)
            expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / max(table.sum(), 1)
            more = np.log1p(table) - np.log1p(expected) if table.ndim == 2 else np.log1p(table)
            total[side] += more[tuple(codes[name] for name in columns)]
    return total[0] - total[1]
