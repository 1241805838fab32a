"""Measured numbers that fill in errata.toml, and counterexample searches."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from sfumato.papers.homogeneity_attack.data import PaperTables
from sfumato.papers.homogeneity_attack.figures import average_risk
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.results import Erratum
from sfumato.risk.homogeneity import Gaussian, Laplace, Poisson, expected, fit_dirichlet, local, overall

TINY = 1e-12
"""Stands for epsilon going to 0."""


def errata(tables: PaperTables) -> tuple[Erratum, ...]:
    """Return all errata, in the order of the paper's argument."""
    return (
        *_bounds(),
        *_shapes(),
        *_factors(),
        _empty_cells(tables),
        _adult(tables),
        _subset(tables),
        _plug_in(),
        _moments(tables),
        _survival(),
        *_words(),
    )


def zero_truncated_rate(mean: float) -> float:
    """Return the Poisson rate whose non-empty cells have this mean size: lam / (1 - exp(-lam)) = mean.

    >>> round(zero_truncated_rate(2.42718), 4)
    2.1423
    """
    return float(optimize.root_scalar(lambda lam: lam / -math.expm1(-lam) - mean, bracket=(1e-9, mean)).root)


def homogeneous_share(counts: np.ndarray) -> float:
    """Return the share of homogeneous cells: the risk of the true table."""
    return float(((counts > 0).sum(axis=1) == 1).mean())


def _erratum(name: str, printed: str, exact: str, reason: str) -> Erratum:
    return Erratum(name=name, printed=printed, exact=exact, reason=reason)


def _bounds() -> list[Erratum]:
    noise, fair = Laplace(1.0), [0.5, 0.5]
    lopsided, faint = [0.9, 0.1], Laplace(0.1)
    prior = [0.3, 0.3, 0.4]
    return [
        _erratum(
            "E1",
            f"(12) is an upper bound: n = 3, p = (.5, .5), epsilon 1: {published(12, noise, n=3, p=fair):.6f}; "
            f"n = 10, epsilon 0.1: {published(12, faint, n=10, p=fair):.6f}; p = (.9, .1), epsilon 1: "
            f"{published(12, noise, n=10, p=lopsided):.6f}",
            f"{expected(3, fair, noise):.6f}; {expected(10, fair, faint):.6f}; {expected(10, lopsided, noise):.6f}",
            "(12) to (17) and (22) to (27) are lower bounds: the multinomial coefficient, the reverse event (the 1 "
            "survives, the n - 1 vanish) and all patterns but {n - 1, 1} are dropped",
        ),
        _erratum(
            "E1",
            f"(14), Poisson 4.6, alpha = (.3, .3, .4), epsilon 0.1: "
            f"{published(14, faint, alpha=prior, sizes=Poisson(4.6)):.6f}",
            f"{overall(prior, faint, Poisson(4.6), truncated=False):.6f}; non-empty cells "
            f"{overall(prior, faint, Poisson(4.6)):.6f}",
            "the same terms are dropped before averaging over sizes",
        ),
    ]


def _shapes() -> list[Erratum]:
    pair, triple = local([[2, 1, 0], [1, 1, 1]], Laplace(0.1)).tolist()
    nine = [[9, 1, 0, 0]]
    rising = [local(nine, Laplace(epsilon)).item() for epsilon in (TINY, 1.0, 5.0)]
    falling = [local([[9, 1]], Laplace(epsilon)).item() for epsilon in (TINY, 0.2585, 1.0, 5.0)]
    return [
        _erratum(
            "E2",
            "a mixed cell is most at risk as {n - 1, 1, 0, ..}",
            f"n = 3, K = 3, epsilon 0.1: {{2, 1, 0}} {pair:.5f}, {{1, 1, 1}} {triple:.5f}",
            "true for K = 2 only; no bound is needed where the exact value costs O(K)",
        ),
        _erratum(
            "E3",
            "the risk of a mixed cell (K = 2) is concave in epsilon with its maximum at log(n - 1) / (n - 1.5), "
            "0.2585 for n = 10",
            f"{{9, 1}} falls from the start: {_list(falling)} at epsilon 0, 0.2585, 1, 5; with four classes "
            f"{{9, 1, 0, 0}} rises, then falls: {_list(rising)} at 0, 1, 5",
            "the maximum comes from the dropped reverse event; for K = 2 the exact risk decreases strictly",
        ),
    ]


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def _factors() -> list[Erratum]:
    facts = {"alpha": [0.7, 1.3], "sizes": Poisson(2.43)}
    short, full = (published(equation, Gaussian(3.0), **facts) for equation in (27, 24))
    return [
        _erratum(
            "E4",
            f"(27), alpha = (.7, 1.3), sigma 3, Poisson 2.43: {short:.6f}",
            f"(24), the general case: {full:.6f}",
            "(27) lacks the factor 1 + erf(-0.5 / (sigma sqrt 2)); (19) and (29) hold for K = 2 only",
        )
    ]


def _empty_cells(tables: PaperTables) -> Erratum:
    means = [float(tables.printed_sizes(name).mean()) for name in ("adult", "bankruptcy")]
    adult = tables.cells["adult"].sizes
    single, modelled = float((adult == 1).mean()), _single_share(float(adult.mean()))
    return _erratum(
        "E5",
        f"lambda 4.6 and 2.43 are maximum likelihood estimates; the Poisson curve of Bankruptcy tends to 1 (it "
        f"tends to {1 - math.exp(-means[1]):.4f})",
        f"zero-truncated lambda {zero_truncated_rate(means[0]):.5f} and {zero_truncated_rate(means[1]):.5f} "
        f"(Adult's own cells {zero_truncated_rate(float(adult.mean())):.5f}); limit 1",
        f"4.6 and 2.43 are n / M of non-empty cells put into a law with empty ones. Poisson does not fit anyway: "
        f"{single:.3f} of Adult's cells have one record, the law says {modelled:.3f}. Average over observed sizes",
    )


def _single_share(mean: float) -> float:
    lam = zero_truncated_rate(mean)
    return lam * math.exp(-lam) / -math.expm1(-lam)


def _adult(tables: PaperTables) -> Erratum:
    cells = tables.cells["adult"]
    counts, records = cells.counts, int(cells.sizes[cells.homogeneous].sum())
    floor = average_risk(counts, Laplace(TINY))
    return _erratum(
        "E6",
        f"Adult: M = {(counts > 0).sum():,} cells, largest {counts.max()}, all homogeneous; risk between 25 % "
        "and 100 %",
        f"{len(counts):,} cells, largest {cells.sizes.max()}, {cells.homogeneous.sum():,} "
        f"({100 * cells.homogeneous.mean():.1f} %) homogeneous with {records:,} of {cells.sizes.sum():,} records; risk "
        f"between {floor:.4f} (record view {average_risk(counts, Laplace(TINY), 'record'):.4f}) and "
        f"{homogeneous_share(counts):.4f}",
        "the paper counted cells of identifiers and income together, which are homogeneous by construction",
    )


def _subset(tables: PaperTables) -> Erratum:
    counts = tables.cells["bankruptcy-subset"].counts
    top, bottom = (float(published(12, Laplace(epsilon), counts=counts)) for epsilon in (200.0, TINY))
    return _erratum(
        "E7",
        f"Bankruptcy subset: .75 is the risk in the original data ((12) gives {top:.4f}), the lower limit is .1 "
        f"({bottom:.4f}), 25 % of the maximum",
        f"{homogeneous_share(counts):.4f} = {((counts > 0).sum(axis=1) == 1).sum()} of {len(counts)} cells; lower "
        f"limit "
        f"{average_risk(counts, Laplace(TINY)):.4f} (record view {average_risk(counts, Laplace(TINY), 'record'):.4f}); "
        f".1 of .75 is {100 * bottom / top:.0f} %",
        "plug-in bias of (12), see E8; the lower limit is 2^-K times the mean number of values per cell",
    )


def _plug_in() -> Erratum:
    pair = [[1, 1]]
    return _erratum(
        "E8",
        f"plug-in estimate of a cell {{1, 1}} without noise: {published(12, Laplace(200.0), counts=pair):.2f}",
        f"{local(pair, Laplace(200.0)).item():.2f}",
        "p^n is convex, so that shares put in for p overstate homogeneity; the local risk is unbiased",
    )


def _moments(tables: PaperTables) -> Erratum:
    cells = np.array([[3, 1], [0, 4], [5, 5], [2, 0]])
    sizes, share = cells.sum(axis=1), cells[:, 0].sum() / cells.sum()
    spread = cells.sum() * share * (1 - share)
    above = share**2 * (1 - share) * (sizes**2).sum() - share * spread
    subset = fit_dirichlet(tables.cells["bankruptcy-subset"].counts).alpha
    fitted, moments = fit_dirichlet(cells), fit_dirichlet(cells, "moments")
    return _erratum(
        "E9",
        f"appendix B, cells {{3, 1}}, {{0, 4}}, {{5, 5}}, {{2, 0}}: alpha_1 = {above:.2f} / "
        f"{spread - cells.sum() * share * (1 - share):.0f}",
        f"likelihood alpha = ({_list(fitted.alpha.tolist())}), moments ({_list(moments.alpha.tolist())}); Bankruptcy "
        f"subset ({_list(subset.tolist())})",
        "one total carries no information on variance: the denominator is 0 for every table",
    )


def _survival() -> Erratum:
    at_one, at_tenth = ([float(Laplace(e).survival(n)) for n in (4, 3, 2)] for e in (1.0, 0.1))
    return _erratum(
        "E10",
        "corollary 3: survival is at least .985, .959, .888 for n = 4, 3, 2; 'delta >= 1' is a good choice",
        f"at epsilon 1: {_list(at_one)}; at 0.1: {_list(at_tenth)}",
        "the values hold at epsilon 1 only, rounded; a delta of 1 promises nothing (a misprint)",
    )


def _words() -> list[Erratum]:
    mixed = local([[3, 1]], Laplace(1.0)).item(), local([[3, 1]], Laplace(1.0), "record").item()
    return [
        _erratum(
            "E11",
            "definition 7 gives mixed cells only a '<'",
            f"{{3, 1}}, epsilon 1: conservative {mixed[0]:.4f}, record {mixed[1]:.4f}",
            "the events are disjoint, so that both values are plain sums",
        ),
        _erratum(
            "E12",
            "zero counts 'may be sanitized'; pDP is quoted for rounded counts",
            "they must be: noise on the whole domain, or a stability threshold",
            "zero counts left alone show with certainty which cells are empty, and that is not DP; and probabilistic "
            "DP does not survive rounding: quote the (epsilon, delta)-DP that it implies",
        ),
    ]
