"""One simulated release, and the metrics computed on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError, RiskError
from sfumato.evaluate.calibrate.metrics import Trial
from sfumato.evaluate.utility.marginals import (
    ColumnSet,
    MarginalPair,
    Misplaced,
    column_sets,
    entropy_gap,
    misplaced_records_ecdf,
    misplaced_tvd,
    released_columns,
    released_marginals,
)
from sfumato.privacy.randomness import Randomness

TRIALS = 200

"""Games of one attack unless said; each repeat of a point plays that many."""


def homogeneity_risk(trial: Trial, view: Any) -> float:
    """Return the risk of the homogeneity attack: in closed form for noisy cross tables, measured for anything else."""
    from sfumato.risk.homogeneity.cell_risk import local
    from sfumato.risk.homogeneity.cells import Cells, weighted_mean
    from sfumato.risk.homogeneity.simulated_attack import attack

    known, sensitive = _roles(trial)
    cells = trial.remembered("cells", lambda: Cells.of(trial.table, known, sensitive))
    law = _noise_distribution(trial, (*known, sensitive))
    if law is not None:
        return weighted_mean(local(cells.counts, law, view), cells.counts, "cell")
    return float(getattr(attack(cells.counts, _released_cells(trial, cells)), view).rate)


def homogeneity_is_exact(trial: Trial) -> bool:
    """Whether the risk comes from a closed form, so that one computation is enough."""
    known, sensitive = _roles(trial)
    return _noise_distribution(trial, (*known, sensitive)) is not None


def _roles(trial: Trial) -> tuple[ColumnSet, str]:
    """Return what a neighbour knows and what is to be read off: by the options, or by the roles of the schema."""
    schema = trial.table.schema
    known = trial.names("identifiers") or schema.with_role("quasi-identifier")
    sensitive = trial.names("sensitive") or schema.with_role("sensitive")
    if not known or len(sensitive) != 1 or sensitive[0] in known:
        raise RiskError(
            "this metric needs identifiers and one sensitive column",
            [f"identifiers: {', '.join(known) or 'none'}", f"sensitive: {', '.join(sensitive) or 'none'}"],
            "give the options identifiers=age,sex and sensitive=income, or roles in the schema",
        )
    return known, sensitive[0]


def _noise_distribution(trial: Trial, names: ColumnSet) -> Any:
    """Return the noise of a plain cross table of exactly these columns; none where the release is something else."""
    from sfumato.mechanisms.counts.contingency import Contingency
    from sfumato.risk.attacks.likelihood_ratio import noise_distribution

    if not isinstance(trial.method, Contingency):
        return None
    parts = [(event.kind, part.scale) for event in trial.plan.events for part in event.parts]
    found = [law for columns, law in zip(trial.method.sets, parts, strict=True) if set(columns) == set(names)]
    return noise_distribution(*found[0]) if found else None


def _released_cells(trial: Trial, cells: Any) -> NDArray[np.int64]:
    names = (*cells.identifiers, *cells.sensitive)
    released = released_marginals(trial.tables, trial.method.makes, trial.table.schema, [names])[names]
    return released[tuple(cells.keys.T)]


def membership(trial: Trial, what: str) -> float:
    """Return how well the best known attack tells whether the most exposed person is in the table."""
    from sfumato.risk.attacks.likelihood_ratio import LikelihoodRatio
    from sfumato.risk.attacks.membership import ShadowModelAttack
    from sfumato.risk.simulated import to_game

    who = trial.whole("person", 0, 0) if trial.options.get("person") is not None else None
    game = trial.remembered(f"game {trial.method}", lambda: to_game(trial.table, trial.method, who, trial.rows))
    attack = LikelihoodRatio() if LikelihoodRatio().fits(game) else ShadowModelAttack()
    found = attack.run(game, trials=trial.whole("trials", TRIALS, 1), seed=trial.seed)
    return float(getattr(found, what))


def inference(trial: Trial, what: str) -> float:
    """Return how well a person's sensitive value is guessed from a release of half of the table."""
    from sfumato.risk.attacks.attribute_inference import MOST_TARGETS, AttributeInference

    known, sensitive = _roles(trial)
    trials = trial.whole("trials", MOST_TARGETS, 1)
    attack = AttributeInference(known, sensitive)
    found = attack.against(trial.table, trial.method, rows=trial.rows, trials=trials, seed=trial.seed)
    return float(getattr(found, what))


def reported_lid(trial: Trial) -> float:
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


class InRecords(NamedTuple):
    """A metric times the number of records, and that number; both are confidential."""

    misplaced: Fraction
    records: int

    @property
    def share(self) -> float:
        """The metric itself; 0 for an empty table."""
        return float(self.misplaced / self.records) if self.records else 0.0


def marginal_misplaced_records(trial: Trial, order: int) -> InRecords:
    """Return the mean over marginals of the records in a wrong cell."""
    sets = column_sets(_released_sets(trial), trial.table.schema, order)
    return _in_records(trial, sets, misplaced_tvd, lambda all_: sum(all_, Fraction(0)) / len(all_), f"{order} columns")


def ecdf_in_records(trial: Trial) -> InRecords:
    """Return n times the largest difference of distribution functions, over all ordered columns."""
    schema = trial.table.schema
    sets = column_sets(_released_sets(trial), schema, 1)
    ordered = [names for names in sets if schema[names[0]].is_ordered or schema[names[0]].kind == "ordinal"]
    return _in_records(trial, ordered, misplaced_records_ecdf, max, "an ordered column")


def distance(trial: Trial, order: int) -> float:
    """Return the total-variation distance, mean over marginals of one order."""
    return marginal_misplaced_records(trial, order).share


def ecdf(trial: Trial) -> float:
    """Return the largest difference of distribution functions."""
    return ecdf_in_records(trial).share


def entropy_error(trial: Trial) -> float:
    """Return the mean absolute error of the entropies of single columns, in bits."""
    sets = column_sets(_released_sets(trial), trial.table.schema, 1)
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


def _compared(trial: Trial, sets: Sequence[ColumnSet], what: str) -> list[MarginalPair]:
    _require_sets(trial, sets, what)
    schema = trial.table.schema
    released = released_marginals(trial.tables, trial.method.makes, schema, sets)
    true = trial.table.marginals(sets)
    return [MarginalPair(names, released[names], true[names]) for names in sets]


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


def _released_sets(trial: Trial) -> tuple[ColumnSet, ...]:
    """Return the released column sets, less what the option ``columns`` leaves out."""
    return _asked_for(trial, released_columns(trial.tables, trial.method.makes, trial.table.schema))


def _asked_for(trial: Trial, sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
    wanted = trial.names("columns")
    if wanted is None:
        return tuple(sets)
    return tuple(tuple(name for name in names if name in wanted) for names in sets)


def transfer_ari_of_trial(trial: Trial) -> float:
    """Return the transfer ARI: centroids learned from the released rows cluster the true rows, against k-means there.

    The seed of k-means is fixed, so that the spread over repeats is that of the release.
    """
    from sfumato.evaluate.utility.clusters import kmeans, standardise, transfer_ari

    real, made = _numeric_rows(trial)
    clusters = trial.whole("clusters", 0, 1)
    if len(made) < clusters:
        return 0.0  # noise left too few rows to cluster: nothing of the clusters was kept
    labels = trial.remembered("labels", lambda: kmeans(standardise(real)(real), clusters, seed=0).labels)
    return transfer_ari(real, made, clusters, labels=labels)


def clusters_in_records(trial: Trial) -> InRecords:
    """Return how many rows the released clusters misplace; one row moves that by at most 1."""
    from sfumato.evaluate.utility.cluster_cells import RINGS, misplaced_cluster_records

    real, made = _numeric_rows(trial)
    clusters, rings = trial.whole("clusters", 1, 1), trial.whole("rings", RINGS, 1)
    return InRecords(misplaced_cluster_records(real, made, clusters, rings), len(real))


def clusters_misplaced(trial: Trial) -> float:
    """Return the share of rows that the released clusters misplace."""
    return clusters_in_records(trial).share


def aligned_ari_of_trial(trial: Trial) -> float:
    """Return the index of the paper on cluster geometry: rows in the order in which they were made."""
    from sfumato.evaluate.utility.clusters import aligned_ari

    method = require_aligned(trial)
    true, made = method.aligned(trial.table, Randomness.of(trial.seed))
    return aligned_ari(true, made.rows, method.clusters, labels=made.labels)


def require_aligned(trial: Trial) -> Any:
    """Return the method, if it knows which row was made from which: cluster geometry as published alone."""
    if hasattr(trial.method, "aligned") and trial.made is None:
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
    from sfumato.table.rows import column_arrays, to_array

    names, schema = _numeric(trial), trial.table.schema
    true = trial.remembered(f"rows {names}", lambda: column_arrays(trial.table, names))
    rows = next(iter(trial.tables.values()))
    made = [to_array(rows.column(name).combine_chunks(), schema[name]) for name in names]
    return np.column_stack([true[name] for name in names]), np.column_stack(made)
