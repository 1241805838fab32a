"""Result of a comparison: metrics with yardsticks, columns, pairs, worst cases and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.lazy import HOOKS, load_object
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema


@dataclass(frozen=True)
class MetricWithYardstick:
    """One number with what a second real sample of the same size would have, and an interval of the number itself."""

    name: str
    words: str
    """What it is, in a sentence that a custodian understands."""
    value: float
    low: float
    high: float
    """An interval of 95 % for ``value``: low <= value <= high."""
    yardstick: float
    """What a second real sample has: the holdout, or the mean over bootstrap samples of the table."""
    yardstick_low: float
    yardstick_high: float
    larger_is_better: bool = False

    @property
    def as_good(self) -> bool:
        """Whether a second real sample would hardly do better."""
        if self.larger_is_better:
            return self.value >= self.yardstick_low
        return self.value <= self.yardstick_high


@dataclass(frozen=True)
class ColumnComparison:
    """One column on both sides, in cells that a chart can show."""

    name: str
    kind: str
    """The kind of the schema's column."""
    labels: tuple[str, ...]
    """Levels, or the middles of cells written out; the last may be "missing" where missing is allowed."""
    edges: tuple[float, ...] | None
    """Edges of the cells of a number or date (days since 1970), one more than the cells without missing."""
    true: tuple[float, ...]
    """Shares of the confidential rows in each cell, missing last where it is allowed."""
    synthetic: tuple[float, ...]
    tvd: float
    yardstick: float
    """tvd of a second real sample."""
    numbers: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """For numbers: mean, sd, median, and the .05 and .95 quantiles as (true, synthetic); missing share for all."""


@dataclass(frozen=True)
class PairComparison:
    """One relation on both sides."""

    names: tuple[str, str]
    measure: str
    """"rank correlation", "correlation ratio of ranks" or "Cramér's V"."""
    true: float
    synthetic: float
    tvd: float
    yardstick: float
    true_table: tuple[tuple[float, ...], ...] = ()
    """Shares of the pair table for a picture, at most 24 x 24 cells; empty where the pair is not strong or bad."""
    synthetic_table: tuple[tuple[float, ...], ...] = ()
    labels: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """What the rows and the columns of the tables stand for, in the order of ``names``."""


@dataclass(frozen=True)
class SubgroupComparison:
    """One subgroup (a level of a column) and the measure in which it is worst off."""

    column: str
    level: str
    share: float
    """Share of the confidential rows in it."""
    target: str
    """The column whose distribution inside the subgroup differs most."""
    tvd: float
    yardstick: float


@dataclass(frozen=True, repr=False)
class Comparison(ReprMixin):
    """Everything that was measured. Confidential: it was computed from private rows without noise."""

    table: str
    schema: Schema = field(repr=False)
    rows: int
    synthetic_rows: int
    holdout_rows: int | None
    measures: Mapping[str, MetricWithYardstick]
    equivalent_rows: Mapping[str, float]
    """"single", "pairs", "prediction": a random sample of how many real rows would be as near; inf: more than there
    are."""
    columns: tuple[ColumnComparison, ...]
    pairs: tuple[PairComparison, ...]
    """Strong relations of the table, and the worst pairs, strongest first."""
    worst_columns: tuple[str, ...]
    worst_pairs: tuple[tuple[str, str], ...]
    worst_subgroups: tuple[SubgroupComparison, ...]
    predictions: Mapping[str, Mapping[str, float]]
    """For each target: "synthetic" and "true" (trained on synthetic, on real rows; tested on real), "guess"."""
    verdict: str
    """Overall, in a sentence or two."""
    grade: str
    """"as good as real rows", "good", "usable in part" or "not usable"."""
    notes: tuple[str, ...] = ()
    association_kept: float | None = None
    """How much of the strength of strong associations is kept, from 0 to 1; None where the table has no strong one."""

    def _line(self) -> str:
        return f"CONFIDENTIAL; {self.table!r}: {self.verdict}"

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (m.name, f"{m.value:.3g}", f"{m.yardstick:.3g} for a second real sample") for m in self.measures.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, without the schema; None stands for an infinite number."""
        return to_jsonable({key: value for key, value in asdict(self).items() if key != "schema"})

    def save(self, path: str | Path) -> Path:
        """Write the page for the custodian's eyes, readable by its owner alone, and return its path."""
        return load_object(HOOKS["Comparison.save"])(self, path)
