"""One simulated release, and the metrics computed on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan
from sfumato.errors import PlanError, RiskError
from sfumato.metrics.binning import (
    Binning,
    ColumnSet,
    ReleasedMarginals,
    Values,
    column_sets,
    grouped_counts,
    released_columns,
    released_counts,
)
from sfumato.metrics.distances import (
    MarginalPair,
    entropy_error,
    mean_misplaced_records,
    misplaced_records_ecdf,
)
from sfumato.metrics.rows_view import read_codes, read_rows_view
from sfumato.privacy.randomness import Randomness
from sfumato.table import Table
from sfumato.table.rows import column_arrays, stream_column_arrays, to_array

MOST_CELLS = 1_000_000
"""Marginals with more schema bins are left out of metrics in schema bins."""
MOST_KEPT = 20_000_000
"""Private values that are kept in memory between trials; of a larger table the rows are read for every trial."""
WHOLE_OPTIONS = {"clusters": (1, 1), "rings": (3, 1), "trials": (200, 1), "person": (0, 0)}
"""Options that are whole numbers: the default, and the least; each repeat of a point plays so many games."""
COLUMN_OPTIONS = ("columns", "identifiers", "sensitive")
BinningName = Literal["q16", "bins"]


@dataclass(frozen=True)
class Trial:
    """One method at one setting on one table, with the options of the metric. Runs when its output is asked for."""

    table: Table
    method: Method
    seed: int
    rows: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    released: Mapping[tuple[str, ...], pa.Table] | None = None
    """What was released already; none for a simulated run."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    """What all trials on one table share, such as its cells."""

    def remembered(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return something about the table that is computed once for all trials."""
        if name not in self.memory:
            self.memory[name] = compute()
        return self.memory[name]

    @cached_property
    def plan(self) -> Plan:
        """What the method would record."""
        return self.method.plan(self.table.schema, self.rows, "seeded")

    @cached_property
    def output(self) -> Output:
        """What the method hands back in a run of its own."""
        return self.method.run(self.table, self.plan, Randomness.of(self.seed), self.rows)

    @property
    def tables(self) -> Mapping[tuple[str, ...], pa.Table]:
        """What came out: count tables, or the one table of rows."""
        return self.output.tables if self.released is None else self.released

    def names(self, option: str) -> tuple[str, ...] | None:
        """Read an option that lists columns; none where it is not given."""
        value = self.options.get(option)
        if value is None:
            return None
        names = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
        for name in names:
            self.table.schema[name]  # refuses what is not a column
        return names

    def require_options(self) -> None:
        """Read every option once: a wrong one is refused before anything is run or spent."""
        for option in self.options:
            if option in WHOLE_OPTIONS:
                self.whole(option)
            elif option in COLUMN_OPTIONS:
                self.names(option)

    def whole(self, option: str, default: int | None = None) -> int:
        """Read a whole option; a default where it is not given."""
        usual, least = WHOLE_OPTIONS[option]
        value = self.options.get(option, usual if default is None else default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not (math.isfinite(number) and number.is_integer() and number >= least):
            raise PlanError(
                f"{option} must be a whole number of at least {least}, found {value!r}",
                next_step=f"write {option}={max(usual, least)}",
            )
        return int(number)


def homogeneity_risk(trial: Trial, view: Any) -> float:
    """Return the risk of the homogeneity attack: in closed form for noisy cross tables, measured for anything else."""
    from sfumato.risk.homogeneity.cell_risk import attack, local
    from sfumato.risk.homogeneity.cells import Cells, weighted_mean

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
    laws = [law for columns, law in zip(trial.method.sets, parts, strict=True) if set(columns) == set(names)]
    return noise_distribution(*laws[0]) if laws else None


def _released_cells(trial: Trial, cells: Any) -> NDArray[np.int64]:
    names = (*cells.identifiers, *cells.sensitive)
    return _released_bins(trial, [names])[names][tuple(cells.keys.T)]


def membership(trial: Trial, what: str) -> float:
    """Return how well the best known attack tells whether the most exposed person is in the table."""
    from sfumato.risk.attacks.likelihood_ratio import LikelihoodRatio
    from sfumato.risk.attacks.membership import ShadowModelAttack
    from sfumato.risk.simulated import to_game

    who = trial.whole("person") if trial.options.get("person") is not None else None
    game = trial.remembered(f"game {trial.method}", lambda: to_game(trial.table, trial.method, who, trial.rows))
    attack = LikelihoodRatio() if LikelihoodRatio().fits(game) else ShadowModelAttack()
    result = attack.run(game, trials=trial.whole("trials"), seed=trial.seed)
    return float(getattr(result, what))


def inference(trial: Trial, what: str) -> float:
    """Return how well a person's sensitive value is guessed from a release of half of the table."""
    from sfumato.risk.attacks.attribute_inference import MOST_TARGETS, AttributeInference

    known, sensitive = _roles(trial)
    trials = trial.whole("trials", MOST_TARGETS)
    attack = AttributeInference(known, sensitive)
    result = attack.against(trial.table, trial.method, rows=trial.rows, trials=trials, seed=trial.seed)
    return float(getattr(result, what))


def reported_lid(trial: Trial) -> float:
    """Return the interval disclosure (LID) that the method itself measured.

    Released rows are shuffled, so that only the method knows which of them was made from which true row. Comparing
    row i with row i would find a verbatim copy of the table harmless.
    """
    stated = None if trial.released is not None else trial.output.confidential.get("lid")
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


def mean_misplaced(trial: Trial, order: int, binning: BinningName) -> InRecords:
    """Return the mean over marginals of the records in a wrong cell."""
    pairs = _marginal_pairs(trial, order, binning)
    return InRecords(mean_misplaced_records(pairs), int(pairs[0].private.sum()))


def ecdf_in_records(trial: Trial) -> InRecords:
    """Return n times the largest difference of distribution functions, over all ordered columns."""
    schema = trial.table.schema
    ordered = [
        names for names in _sets(trial, 1, "bins") if schema[names[0]].is_ordered or schema[names[0]].kind == "ordinal"
    ]
    pairs = _pairs_in_bins(trial, _require_sets(trial, ordered, "an ordered column"))
    return InRecords(max(map(misplaced_records_ecdf, pairs)), int(pairs[0].private.sum()))


def mean_entropy_error(trial: Trial) -> float:
    """Return the mean absolute error of the entropies of single columns, in bits."""
    return float(np.mean([entropy_error(pair) for pair in _marginal_pairs(trial, 1, "bins")]))


def _marginal_pairs(trial: Trial, order: int, binning: BinningName) -> list[MarginalPair]:
    """Return the released and the private counts of every marginal of an order."""
    sets = _require_sets(trial, _sets(trial, order, binning), f"{order} columns")
    if binning == "bins":
        return _pairs_in_bins(trial, sets)
    return _pairs_of_counts(trial, sets) if trial.method.makes == "counts" else _pairs_of_rows(trial, sets)


def _pairs_in_bins(trial: Trial, sets: Sequence[ColumnSet]) -> list[MarginalPair]:
    released, private = _released_bins(trial, sets), trial.table.marginals(sets)
    return [MarginalPair(names, released[names], private[names]) for names in sets]


def _pairs_of_counts(trial: Trial, sets: Sequence[ColumnSet]) -> list[MarginalPair]:
    """Return the marginals of released counts with adjacent bins grouped by the counts of each column: q16."""
    schema, names = trial.table.schema, dict.fromkeys(name for each in sets for name in each)
    binnings = {
        name: Binning.q16_of_counts(schema[name], released_counts(trial.tables, schema, (name,))) for name in names
    }
    return [
        MarginalPair(
            pair.names,
            grouped_counts(pair.released, [binnings[name] for name in pair.names]),
            grouped_counts(pair.private, [binnings[name] for name in pair.names]),
        )
        for pair in _pairs_in_bins(trial, sets)
    ]


def _pairs_of_rows(trial: Trial, sets: Sequence[ColumnSet]) -> list[MarginalPair]:
    """Return the marginals of released rows in q16; the private rows are counted in one pass."""
    names = tuple(dict.fromkeys(name for each in sets for name in each))
    rows = read_rows_view(next(iter(trial.tables.values())), trial.table.schema, names)
    released = ReleasedMarginals.q16(trial.table.schema, rows.by_name(), sets)
    private = released.empty_counts()
    for values in _private_batches(trial, names):
        for each, counts in released.count(values).items():
            private[each] += counts
    return [MarginalPair(each, released.marginals[each].counts, private[each]) for each in sets]


def _private_batches(trial: Trial, names: ColumnSet) -> Iterator[Values]:
    """Yield the private rows that count, kept between trials where they are not too many."""
    key = f"rows {names}"
    if key in trial.memory:
        yield trial.memory[key]
        return
    kept, size = list[Values](), 0
    for values in stream_column_arrays(trial.table, names):
        size += sum(map(len, values.values()))
        kept = [*kept, values] if size <= MOST_KEPT else []
        yield values
    if 0 < size <= MOST_KEPT:
        trial.memory[key] = {name: np.concatenate([each[name] for each in kept]) for name in names}


def _released_bins(trial: Trial, sets: Sequence[ColumnSet]) -> dict[ColumnSet, NDArray[np.int64]]:
    """Return released counts in the bins of the schema."""
    schema = trial.table.schema
    if trial.method.makes == "counts":
        return {names: released_counts(trial.tables, schema, names) for names in sets}
    columns = tuple(dict.fromkeys(name for names in sets for name in names))
    codes = dict(zip(columns, read_codes(next(iter(trial.tables.values())), schema, columns).T, strict=True))
    return {names: _binned([codes[name] for name in names], schema.shape(names)) for names in sets}


def _binned(codes: Sequence[NDArray[np.int64]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.bincount(np.ravel_multi_index(tuple(codes), shape), minlength=math.prod(shape)).reshape(shape)


def require_marginals(trial: Trial, order: int = 1, binning: BinningName = "bins") -> None:
    """Refuse counts of too few columns for the metric, before they are released."""
    measured: Any = getattr(trial.method, "measurement", None)
    if trial.method.makes == "counts" and measured is not None:
        sets = column_sets(_asked_for(trial, measured().sets), order)
        _require_sets(trial, _small_enough(trial, sets), f"{order} columns")


def _require_sets(trial: Trial, sets: Sequence[ColumnSet], what: str) -> Sequence[ColumnSet]:
    if not sets:
        raise PlanError(
            f"{trial.method.name} releases no table of {what}",
            next_step="use a metric of fewer columns, or release them together",
        )
    return sets


def _sets(trial: Trial, order: int, binning: BinningName) -> tuple[ColumnSet, ...]:
    """Return the sets of an order that were released, less what the option ``columns`` leaves out."""
    released = released_columns(trial.tables, trial.method.makes, trial.table.schema)
    sets = column_sets(_asked_for(trial, released), order)
    return sets if binning == "q16" and trial.method.makes == "rows" else _small_enough(trial, sets)


def _small_enough(trial: Trial, sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
    return tuple(names for names in sets if math.prod(trial.table.schema.shape(names)) <= MOST_CELLS)


def _asked_for(trial: Trial, sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
    wanted = trial.names("columns")
    if wanted is None:
        return tuple(sets)
    return tuple(tuple(name for name in names if name in wanted) for names in sets)


def transfer_ari_of_trial(trial: Trial) -> float:
    """Return the transfer ARI: centroids learned from the released rows cluster the true rows, against k-means there.

    The seed of k-means is fixed, so that the spread over repeats is that of the release.
    """
    from sfumato.metrics.clusters import kmeans, standardise, transfer_ari

    real, synthetic = _numeric_rows(trial)
    clusters = trial.whole("clusters")
    if len(synthetic) < clusters:
        return 0.0  # noise left too few rows to cluster: nothing of the clusters was kept
    labels = trial.remembered("labels", lambda: kmeans(standardise(real)(real), clusters, seed=0).labels)
    return transfer_ari(real, synthetic, clusters, labels=labels)


def clusters_in_records(trial: Trial) -> InRecords:
    """Return how many rows the released clusters misplace; one row moves that by at most 1."""
    from sfumato.metrics.cluster_tvd import misplaced_cluster_records

    real, synthetic = _numeric_rows(trial)
    clusters, rings = trial.whole("clusters"), trial.whole("rings")
    return InRecords(misplaced_cluster_records(real, synthetic, clusters, rings), len(real))


def aligned_ari_of_trial(trial: Trial) -> float:
    """Return the index of the paper on cluster geometry: rows in the order in which they were made."""
    from sfumato.metrics.clusters import aligned_ari

    method = require_aligned(trial)
    true, synthetic = method.aligned(trial.table, Randomness.of(trial.seed))
    return aligned_ari(true, synthetic.rows, method.clusters, labels=synthetic.labels)


def require_aligned(trial: Trial) -> Any:
    """Return the method, if it knows which row was made from which: cluster geometry as published alone."""
    if hasattr(trial.method, "aligned") and trial.released is None:
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


def _ordered(trial: Trial, released: Sequence[str]) -> tuple[str, ...]:
    schema = trial.table.schema
    wanted = trial.names("columns") or tuple(c.name for c in schema if c.is_ordered)
    names = tuple(name for name in wanted if name in released and schema[name].is_ordered)
    if not names:
        raise PlanError("no numeric column is released", next_step="name columns with the option columns=...")
    return names


def _numeric_rows(trial: Trial) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, schema = next(iter(trial.tables.values())), trial.table.schema
    names = _ordered(trial, rows.column_names)
    true = trial.remembered(f"columns {names}", lambda: column_arrays(trial.table, names))
    synthetic = [to_array(rows.column(name).combine_chunks(), schema[name]) for name in names]
    return np.column_stack([true[name] for name in names]), np.column_stack(synthetic)
