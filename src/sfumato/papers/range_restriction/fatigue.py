"""Figures 15, 16, 19, 20 and table 1: the fatigue data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.papers.range_restriction.families import NormalInverseGamma, make_family
from sfumato.papers.range_restriction.published.weights import WeightedPosterior, Weighting
from sfumato.papers.range_restriction.simulation import (
    HELD_OUT,
    NARROW_AVERAGED,
    PRINTED,
    SIX,
    UNWEIGHTED,
    WEIGHTED,
    WIDE_AVERAGED,
    FloatArray,
    Sample,
    SharedResults,
    fit_synthesizers,
    statistics,
    synthetic_copies,
    used_rows,
)
from sfumato.papers.range_restriction.violins import (
    format_digits,
    list_values,
    part,
    spread_table,
    violin_chart,
    violins,
)
from sfumato.papers.result import Part, ValueTable, value_table

SEED = 1
SETS = 4000
DRAW_SETS = 20
TABLE_1 = {
    UNWEIGHTED: (36413.0, 20832.0, 73446.0),
    WEIGHTED: (22743.0, 15991.0, 37595.0),
    WIDE_AVERAGED: (24762.0, 16225.0, 42168.0),
    NARROW_AVERAGED: (27795.0, 19951.0, 50424.0),
}
"""Mean, median and 90 % quantile as printed; the truncated rows are the weighted one again."""
OURS = "log stress"
STATISTICS = ("mean", "median", "90 % quantile")


@dataclass(frozen=True, eq=False)
class Model:
    """Predictors of the regression, and a prior where it is not flat."""

    design: FloatArray | None
    prior: NormalInverseGamma | None = None


def models(stress: FloatArray) -> dict[str, Model]:
    """Return regressions that the paper may have run: it says 'both on the linear and logarithmic scale'."""
    log = np.log(stress)
    vague = NormalInverseGamma(np.zeros(2), np.eye(2) / 100, 0.0, 0.0)
    return {
        "linear": Model(stress[:, None]),
        OURS: Model(log[:, None]),
        "stress and log": Model(np.column_stack([stress, log])),
        "log and log squared": Model(np.column_stack([log, log**2])),
        "no predictor": Model(None),
        "log, prior N(0, 100 s2)": Model(log[:, None], vague),
    }


def percentiles(table: Sample, model: Model, row: str, sets: int = SETS) -> tuple[float, ...]:
    """Return where a printed row of table 1 lies among single synthetic sets of a model: 0 is below all of them."""
    family = make_family("lognormal", table.x, model.design, model.prior)
    weighting = Weighting(SIX[row].standard, ranges=SIX[row].ranges, draws=sets)
    fitted = weighting.fit(family, np.random.default_rng([SEED, 3]))
    found = np.array([list(statistics(copy).values()) for copy in synthetic_copies(fitted, SEED, sets)])
    return tuple(float(share) for share in (found < np.array(TABLE_1[row])).mean(axis=0))


@lru_cache(maxsize=2)
def _fitted(work: SharedResults) -> dict[str, WeightedPosterior]:
    table = used_rows(work.fatigue)
    return fit_synthesizers(Sample(table.x, np.log(table.z)), SIX, SEED)


def rows_used(work: SharedResults) -> dict[str, str]:
    """Return what shows that the paper used 19 of the 22 rows."""
    table = work.fatigue
    whole, kept = statistics(table.x), statistics(used_rows(table).x)
    held_out = ", ".join(map(str, HELD_OUT))
    return {
        "printed_data": " / ".join(f"{value:.0f}" for value in PRINTED.values()),
        "used_data": f"without rows {held_out}: {kept['mean']:.2f} / {kept['median']:g} / {kept['Q90']:.1f}",
        "all_data": f"all 22 rows have {whole['mean']:.1f} / {whole['median']:.1f} / {whole['Q90']:.1f}",
    }


def epsilons(work: SharedResults, sets: int = DRAW_SETS) -> dict[str, FloatArray]:
    """Return epsilon of each synthesizer, and by eq. 15 as printed, for several sets of 1,000 draws."""
    table = used_rows(work.fatigue)
    found: dict[str, list[float]] = {}
    for seed in range(SEED, SEED + sets):
        for name, fitted in fit_synthesizers(Sample(table.x, np.log(table.z)), SIX, seed).items():
            found.setdefault(name, []).append(fitted.epsilon)
            printed = fitted.diagnostics().published_truncated_epsilon
            if printed is not None:
                found.setdefault(f"{name}, eq. 15", []).append(printed)
    return {name: np.array(values) for name, values in found.items()}


def figure_15(work: SharedResults) -> Part:
    """Return the bounds of the 19 records."""
    bounds = {name: fitted.bounds for name, fitted in _fitted(work).items()}
    by_draws = epsilons(work)
    means = {name: float(by_draws[name].mean()) for name in SIX}
    printed = {name: float(values.mean()) for name, values in by_draws.items() if name.endswith("15")}
    above = all(value > means[WEIGHTED] for value in printed.values())
    numbers = {
        **rows_used(work),
        "sets": DRAW_SETS,
        "means": list_values(means),
        "equation_15": list_values(printed),
        "above": "above Weighted (erratum a)" if above else "not all above Weighted here",
    }
    title = f"epsilon over {DRAW_SETS} sets of draws: the maximum depends on the draws"
    return part(
        "figure 15",
        numbers,
        values=(spread_table(title, by_draws), spread_table("bounds of 19 records", bounds)),
        charts=(violin_chart("By-record Lipschitz bounds", "bound", bounds),),
    )


def figure_16(work: SharedResults) -> Part:
    """Return the synthetic values beside the confidential ones."""
    table = used_rows(work.fatigue)
    pooled = {name: np.concatenate(synthetic_copies(fitted, SEED)) for name, fitted in _fitted(work).items()}
    ratios = {name: statistics(values)["Q90"] / statistics(table.x)["Q90"] for name, values in pooled.items()}
    shown = violins("Cycles", "cycles", {"Data": table.x, **pooled}, logarithmic=True)
    return part("figure 16", {"ratios": list_values(ratios)}, **shown)


def figure_19(work: SharedResults) -> Part:
    """Return lambda, the probability of falling outside the range."""
    fits = _fitted(work)
    zero = {WEIGHTED: np.zeros(len(fits[WEIGHTED].weights))}
    outside = zero | {name: fitted.outside for name, fitted in fits.items() if fitted.outside is not None}
    means = {name: float(values.mean()) for name, values in outside.items()}
    return part("figure 19", {"means": list_values(means)}, **violins("Lambda", "lambda", outside))


def figure_20(work: SharedResults) -> Part:
    """Return the weights that the posteriors were drawn with."""
    exponents = {name: each.exponents for name, each in _fitted(work).items() if name != UNWEIGHTED}
    narrow = _fitted(work)[NARROW_AVERAGED]
    riskiest = int(np.argmin(narrow.weights))
    both = {"weight": narrow.weights[riskiest], "exponent": narrow.exponents[riskiest]}
    numbers = {name: format_digits(float(value), 3) for name, value in both.items()}
    return part("figure 20", numbers, **violins("Exponents", "alpha", exponents, "exponents"))


def table_1(work: SharedResults) -> Part:
    """Return table 1 and where its rows lie among single synthetic sets of each model."""
    table = used_rows(work.fatigue)
    places = {name: percentiles(table, model, WEIGHTED) for name, model in models(table.z).items()}
    missed = [name for name, shares in places.items() if min(shares) < 0.025 or max(shares) > 0.975]
    numbers = {
        **rows_used(work),
        "weighted_column": " / ".join(f"{value:.0f}" for value in TABLE_1[WEIGHTED]),
        "missed": missed,
        "inside": [name for name in places if name not in missed],
    }
    rows = ((name, *(f"{share:.3f}" for share in shares)) for name, shares in places.items())
    printed = ((name, *(f"{value:,.0f}" for value in row)) for name, row in TABLE_1.items())
    where = f"where the printed Weighted column lies among {SETS:,} single sets"
    return part(
        "table 1",
        numbers,
        values=(
            value_table(where, ("model", *STATISTICS), rows),
            _ours(work),
            value_table("table 1; the truncated columns repeat Weighted", ("as printed", *STATISTICS), printed),
        ),
    )


def _ours(work: SharedResults) -> ValueTable:
    rows: list[tuple[str, ...]] = []
    for name, fitted in _fitted(work).items():
        sets = np.array([list(statistics(copy).values()) for copy in synthetic_copies(fitted, SEED, 1000)])
        spread = zip(*np.quantile(sets, [0.5, 0.025, 0.975], axis=0), strict=True)
        rows.append((name, *(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})" for middle, low, high in spread)))
    header = ("ours, log stress", *STATISTICS)
    return ValueTable(title="median and middle 95 % of 1,000 single sets", header=header, rows=tuple(rows))
