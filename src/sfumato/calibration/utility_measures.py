"""What a release is good for, as numbers: each function takes a :class:`~sfumato.calibration.metrics.Trial`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.metrics import Trial
from sfumato.errors import PlanError
from sfumato.privacy.randomness import Randomness
from sfumato.utility.marginals import (
    ColumnSet,
    Compared,
    Misplaced,
    column_sets,
    entropy_gap,
    misplaced_ecdf,
    misplaced_tvd,
    released_columns,
    released_marginals,
)

if TYPE_CHECKING:
    from sfumato.methods.cluster_geometry import ClusterGeometryAsPublished


class InRecords(NamedTuple):
    """A metric times the number of records, and that number; both are confidential."""

    misplaced: Fraction
    records: int

    @property
    def share(self) -> float:
        """The metric itself; 0 for an empty table."""
        return float(self.misplaced / self.records) if self.records else 0.0


def distance_in_records(trial: Trial, order: int) -> InRecords:
    """Return the mean over marginals of the records in a wrong cell."""
    sets = column_sets(_shown(trial), trial.table.schema, order)
    return _in_records(trial, sets, misplaced_tvd, lambda all_: sum(all_, Fraction(0)) / len(all_), f"{order} columns")


def ecdf_in_records(trial: Trial) -> InRecords:
    """Return n times the largest difference of distribution functions, over all ordered columns."""
    schema = trial.table.schema
    sets = column_sets(_shown(trial), schema, 1)
    ordered = [names for names in sets if schema[names[0]].is_ordered or schema[names[0]].kind == "ordinal"]
    return _in_records(trial, ordered, misplaced_ecdf, max, "an ordered column")


def distance(trial: Trial, order: int) -> float:
    """Return the total-variation distance, mean over marginals of one order."""
    return distance_in_records(trial, order).share


def ecdf(trial: Trial) -> float:
    """Return the largest difference of distribution functions."""
    return ecdf_in_records(trial).share


def entropy_error(trial: Trial) -> float:
    """Return the mean absolute error of the entropies of single columns, in bits."""
    sets = column_sets(_shown(trial), trial.table.schema, 1)
    return float(np.mean([entropy_gap(one) for one in _compared(trial, sets, "a column")]))


def _in_records(
    trial: Trial,
    sets: Sequence[ColumnSet],
    misplaced: Misplaced,
    together: Callable[[list[Fraction]], Fraction],
    what: str,
) -> InRecords:
    compared = _compared(trial, sets, what)
    return InRecords(together([misplaced(one) for one in compared]), int(compared[0].true.sum()))


def _compared(trial: Trial, sets: Sequence[ColumnSet], what: str) -> list[Compared]:
    _require_sets(trial, sets, what)
    schema = trial.table.schema
    released = released_marginals(trial.tables, trial.method.makes, schema, sets)
    true = trial.table.marginals(sets)
    return [Compared(names, released[names], true[names]) for names in sets]


def require_tables(trial: Trial, order: int = 1) -> None:
    """Refuse counts of too few columns for the metric, before they are released."""
    measured: Any = getattr(trial.method, "measurement", None)
    if trial.method.makes == "counts" and measured is not None:
        sets = column_sets(_asked_for(trial, measured().sets), trial.table.schema, order)
        _require_sets(trial, sets, f"{order} columns")


def _require_sets(trial: Trial, sets: Sequence[ColumnSet], what: str) -> None:
    if not sets:
        raise PlanError(
            f"{trial.method.name} releases no table of {what}",
            next_step="use a metric of fewer columns, or release them together",
        )


def _shown(trial: Trial) -> tuple[ColumnSet, ...]:
    """Return the released column sets, less what the option ``columns`` leaves out."""
    return _asked_for(trial, released_columns(trial.tables, trial.method.makes, trial.table.schema))


def _asked_for(trial: Trial, sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
    wanted = trial.names("columns")
    if wanted is None:
        return tuple(sets)
    return tuple(tuple(name for name in names if name in wanted) for names in sets)


def clusters_kept(trial: Trial) -> float:
    """Return the transfer ARI: centroids learned from the released rows cluster the true rows, against k-means there.

    The seed of k-means is fixed, so that the spread over repeats is that of the release.
    """
    from sfumato.utility.clusters import kmeans, standardiser, transfer_ari

    real, made = _numeric_rows(trial)
    clusters = trial.whole("clusters", 0, 1)
    if len(made) < clusters:
        return 0.0  # noise left too few rows to cluster: nothing of the clusters was kept
    labels = trial.remembered("labels", lambda: kmeans(standardiser(real)(real), clusters, seed=0).labels)
    return transfer_ari(real, made, clusters, labels=labels)


def clusters_in_records(trial: Trial) -> InRecords:
    """Return how many rows the released clusters misplace; one row moves that by at most 1."""
    from sfumato.utility.cluster_cells import RINGS, misplaced_clusters

    real, made = _numeric_rows(trial)
    clusters, rings = trial.whole("clusters", 1, 1), trial.whole("rings", RINGS, 1)
    return InRecords(misplaced_clusters(real, made, clusters, rings), len(real))


def clusters_misplaced(trial: Trial) -> float:
    """Return the share of rows that the released clusters misplace."""
    return clusters_in_records(trial).share


def aligned(trial: Trial) -> float:
    """Return the index of the paper on cluster geometry: rows in the order in which they were made."""
    from sfumato.utility.clusters import aligned_ari

    method = require_aligned(trial)
    true, made = method.aligned(trial.table, Randomness.of(trial.seed))
    return aligned_ari(true, made.rows, method.clusters, labels=made.labels)


def require_aligned(trial: Trial) -> ClusterGeometryAsPublished:
    """Return the method, if it knows which row was made from which: cluster geometry as published alone."""
    from sfumato.methods.cluster_geometry import ClusterGeometryAsPublished

    if isinstance(trial.method, ClusterGeometryAsPublished) and trial.made is None:
        return trial.method
    raise PlanError(
        f"{trial.method.name} has no aligned index: its rows are in no order",
        next_step="use transfer_ari or cluster_tvd, which need none",
    )


def require_numbers(trial: Trial) -> None:
    """Refuse a method whose release has no number to measure distances in, before it runs."""
    schema, method = trial.table.schema, trial.method
    shown: Any = getattr(method, "released_columns", None)
    named: Any = getattr(method, "columns", None)
    names = shown(schema) if shown is not None else (named or schema.releasable)
    _ordered(trial, names)


def _numeric(trial: Trial) -> tuple[str, ...]:
    """Return the ordered columns that are released, or those of them that were asked for."""
    return _ordered(trial, next(iter(trial.tables.values())).column_names)


def _ordered(trial: Trial, released: Sequence[str]) -> tuple[str, ...]:
    schema = trial.table.schema
    wanted = trial.names("columns") or tuple(c.name for c in schema if c.is_ordered)
    names = tuple(name for name in wanted if name in released and schema[name].is_ordered)
    if not names:
        raise PlanError("no numeric column is released", next_step="name columns with the option columns=...")
    return names


def _numeric_rows(trial: Trial) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from sfumato.table.rows import column_values, row_values

    names, schema = _numeric(trial), trial.table.schema
    true = trial.remembered(f"rows {names}", lambda: row_values(trial.table, names))
    rows = next(iter(trial.tables.values()))
    made = [column_values(rows.column(name).combine_chunks(), schema[name]) for name in names]
    return np.column_stack([true[name] for name in names]), np.column_stack(made)
