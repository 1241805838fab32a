"""The functions behind the metrics: each takes a :class:`~sfumato.calibration.metrics.Trial` and returns a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.metrics import Trial
from sfumato.errors import PlanError, RiskError
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

TRIALS = 200
"""Games of one attack unless said; each repeat of a point plays that many."""


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
    wanted = _names(trial, "columns")
    if wanted is None:
        return sets
    return tuple(tuple(name for name in names if name in wanted) for names in sets)


def _names(trial: Trial, option: str) -> tuple[str, ...] | None:
    value = trial.options.get(option)
    if value is None:
        return None
    names = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
    for name in names:
        trial.table.schema[name]  # refuses what is not a column
    return names


def _whole(trial: Trial, option: str, default: int, least: int) -> int:
    """Read a whole option of at least so much; the default where it is not given."""
    value = trial.options.get(option, default)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number.is_integer() and number >= least):
        raise PlanError(
            f"{option} must be a whole number of at least {least}, found {value!r}",
            next_step=f"write {option}={max(default, least)}",
        )
    return int(number)


def homogeneity(trial: Trial, view: Any) -> float:
    """Return the risk of the homogeneity attack: in closed form for noisy cross tables, measured for anything else."""
    from sfumato.risk.homogeneity.attack import attack
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.risk.homogeneity.checks import weighted_mean
    from sfumato.risk.homogeneity.local import local

    known, sensitive = _roles(trial)
    cells = trial.remembered("cells", lambda: Cells.of(trial.table, known, sensitive))
    law = _law(trial, (*known, sensitive))
    if law is not None:
        return weighted_mean(local(cells.counts, law, view), cells.counts, "cell")
    return float(getattr(attack(cells.counts, _released_cells(trial, cells)), view).rate)


def homogeneity_is_exact(trial: Trial) -> bool:
    """Whether the risk comes from a closed form, so that one computation is enough."""
    known, sensitive = _roles(trial)
    return _law(trial, (*known, sensitive)) is not None


def _roles(trial: Trial) -> tuple[ColumnSet, str]:
    """Return what a neighbour knows and what is to be read off: by the options, or by the roles of the schema."""
    schema = trial.table.schema
    known = _names(trial, "identifiers") or schema.with_role("quasi-identifier")
    sensitive = _names(trial, "sensitive") or schema.with_role("sensitive")
    if not known or len(sensitive) != 1 or sensitive[0] in known:
        raise RiskError(
            "this metric needs identifiers and one sensitive column",
            [f"identifiers: {', '.join(known) or 'none'}", f"sensitive: {', '.join(sensitive) or 'none'}"],
            "give the options identifiers=age,sex and sensitive=income, or roles in the schema",
        )
    return known, sensitive[0]


def _law(trial: Trial, names: ColumnSet) -> Any:
    """Return the noise of a plain cross table of exactly these columns; none where the release is something else."""
    from sfumato.methods.counts.contingency import Contingency
    from sfumato.risk.game.count_pair import law_of

    if not isinstance(trial.method, Contingency):
        return None
    parts = [(event.kind, part.scale) for event in trial.plan.events for part in event.parts]
    found = [law for columns, law in zip(trial.method.sets, parts, strict=True) if set(columns) == set(names)]
    return law_of(*found[0]) if found else None


def _released_cells(trial: Trial, cells: Any) -> NDArray[np.int64]:
    names = (*cells.identifiers, cells.sensitive)
    released = released_marginals(trial.tables, trial.method.makes, trial.table.schema, [names])[names]
    return released[tuple(cells.keys.T)]


def membership(trial: Trial, what: str) -> float:
    """Return how well the best known attack tells whether the most exposed person is in the table."""
    from sfumato.risk.game import CountPair, as_game
    from sfumato.risk.membership import Learnt, LikelihoodRatio

    who = _whole(trial, "person", 0, 0) if trial.options.get("person") is not None else None
    game = trial.remembered(f"game {trial.method}", lambda: as_game(trial.table, trial.method, who, trial.rows))
    attack: Any = LikelihoodRatio() if isinstance(game, CountPair) else Learnt()
    found = attack.run(game, trials=_whole(trial, "trials", TRIALS, 1), seed=trial.seed)
    return float(getattr(found, what))


def inference(trial: Trial, what: str) -> float:
    """Return how well a person's sensitive value is guessed from a release of half of the table."""
    from sfumato.risk.inference import MOST_TARGETS, AttributeInference

    known, sensitive = _roles(trial)
    trials = _whole(trial, "trials", MOST_TARGETS, 1)
    attack = AttributeInference(known, sensitive)
    found = attack.against(trial.table, trial.method, rows=trial.rows, trials=trials, seed=trial.seed)
    return float(getattr(found, what))


def clusters_kept(trial: Trial) -> float:
    """Return the transfer ARI: centroids learned from the released rows cluster the true rows, against k-means there.

    The seed of k-means is fixed, so that the spread over repeats is that of the release.
    """
    from sfumato.utility.clusters import kmeans, standardiser, transfer_ari

    real, made = _numeric_rows(trial)
    clusters = _whole(trial, "clusters", 0, 1)
    if len(made) < clusters:
        return 0.0  # noise left too few rows to cluster: nothing of the clusters was kept
    labels = trial.remembered("labels", lambda: kmeans(standardiser(real)(real), clusters, seed=0).labels)
    return transfer_ari(real, made, clusters, labels=labels)


def stated_disclosure(trial: Trial) -> float:
    """Return the interval disclosure (LID) that the method itself measured.

    Released rows are shuffled, so that only the method knows which of them was made from which true row. Comparing
    row i with row i would find a verbatim copy of the table harmless.
    """
    stated = None if trial.made is not None else trial.output.confidential.get("lid")
    if stated is None:
        raise RiskError(
            f"{trial.method.name} does not say which released row was made from which true row, so that it has no lid",
            ["released rows are in no order: to compare row i with row i would measure nothing"],
            "measure membership_auc instead, or use a form that states its lid, such as two-stage with a blend",
        )
    return float(stated)


def _numeric(trial: Trial) -> tuple[str, ...]:
    """Return the ordered columns that are released, or those of them that were asked for."""
    schema, rows = trial.table.schema, next(iter(trial.tables.values()))
    wanted = _names(trial, "columns") or tuple(c.name for c in schema if c.is_ordered)
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
