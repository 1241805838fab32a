"""What a release is good for, as numbers: each function takes a :class:`~sfumato.calibration.metrics.Trial`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.metrics import Trial
from sfumato.errors import PlanError
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
    if not sets:
        raise PlanError(
            f"{trial.method.name} releases no table of {what}",
            next_step="use a metric of fewer columns, or release them together",
        )
    schema = trial.table.schema
    released = released_marginals(trial.tables, trial.method.makes, schema, sets)
    true = trial.table.marginals(sets)
    return [Compared(names, released[names], true[names]) for names in sets]


def _shown(trial: Trial) -> tuple[ColumnSet, ...]:
    """Return the released column sets, less what the option ``columns`` leaves out."""
    sets = released_columns(trial.tables, trial.method.makes, trial.table.schema)
    wanted = trial.names("columns")
    if wanted is None:
        return sets
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


def _numeric(trial: Trial) -> tuple[str, ...]:
    """Return the ordered columns that are released, or those of them that were asked for."""
    schema, rows = trial.table.schema, next(iter(trial.tables.values()))
    wanted = trial.names("columns") or tuple(c.name for c in schema if c.is_ordered)
    names = tuple(name for name in wanted if name in rows.column_names and schema[name].is_ordered)
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
