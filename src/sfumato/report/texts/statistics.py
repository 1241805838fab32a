"""Names, formats and explanations of the statistics in a release's document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import format_number
from sfumato.privacy.exact import at_most


class StatisticText(NamedTuple):
    """One named statistic, and the sentence without which it would mislead."""

    name: str
    value: str
    sentence: str


def _short(value: Any) -> str:
    """Return a number with four digits, and anything else as it is written."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _bits(value: float) -> str:
    return f"{value:.4g} bits"


def _tables(tables: list[list[str]]) -> str:
    """Return the first of many tables by their columns, and how many more there are."""
    shown = "; ".join(" x ".join(names) for names in tables[:MOST_TABLES])
    return f"{shown}; and {len(tables) - MOST_TABLES} more" if len(tables) > MOST_TABLES else shown or "none"


def _range(values: list[float]) -> str:
    return f"{_short(max(values))} down to {_short(min(values))}" if len(set(values)) > 1 else _short(values[0])


def _by_name(amounts: dict[str, int]) -> str:
    """Return named amounts in the order of their names, which is the one that release.json keeps."""
    return "; ".join(f"{name}: {format_number(amount)}" for name, amount in sorted(amounts.items())) or "none"


MOST_TABLES = 40
SHOWN_ELSEWHERE = ("noise_of_tables", "groups_of_tables")
"""Statistics whose place is the table under a chart."""
STATISTICS: dict[str, tuple[str, Callable[[Any], str], str]] = {
    "entropy_bits": (
        "Entropy of the released counts",
        lambda value: f"{value:.3f} bits",
        "Computed from the released counts (those below 0 as 0), so it costs nothing. Noise on empty cells pulls it "
        "upward.",
    ),
    "released_entropy_bits": (
        "Released entropy",
        _bits,
        "The entropy itself with noise, kept between 0 and log2 of the number of cells.",
    ),
    "entropy_order": ("Order of the entropy", str, "1 is Shannon, 0 the support, inf the min-entropy."),
    "mean_absolute_error_bits": (
        "Mean error of the released entropy",
        _bits,
        "The noise is a Laplace law with this mean size, for every table of this size.",
    ),
    "k": ("k", format_number, "Rows of the table that could have made a released row, up to noise."),
    "t": (
        "t",
        format_number,
        "Part of the proof: below t plausible rows a record counts towards delta, above it towards epsilon.",
    ),
    "gamma": (
        "gamma",
        _short,
        "Rows count as equally plausible when their probabilities differ by at most this factor.",
    ),
    "epsilon0": ("epsilon0", _short, "Noise parameter of the privacy test."),
    "epsilon_of_one_row": ("Epsilon of one released row", _short, "All rows together cost what page one says."),
    "delta_of_one_row": ("Delta of one released row", _short, ""),
    "prior_share": (
        "Share of rows that no row of the table had a part in",
        lambda value: f"{value:.2%}",
        "At least this share is drawn from public knowledge and noisy counts alone; failed attempts add to it, and how "
        "many there were is not shown.",
    ),
    "kept_attributes": (
        "Number of attributes that a seed hands on",
        lambda value: ", ".join(map(str, value)),
        "Chosen by lot for each row; the others are drawn from noisy conditional tables.",
    ),
    "attribute_order": (
        "Order of the attributes",
        " → ".join,
        "The first ones may be handed on, the others are drawn.",
    ),
    "sigma": ("Size of the noise", _short, "In the units of the curve, before the kernel spreads it over the points."),
    "sensitivity": (
        "Sensitivity of the curve",
        _short,
        "The most by which one person can move it, in the kernel's norm.",
    ),
    "noise_rmse": ("Noise, root mean square", _short, "Over all points of the curve."),
    "bias_bound": ("Bias, at most", at_most, "For any paths within the public norm; smooth curves have far less."),
    "bias_per_kernel_norm": (
        "Bias for each unit of roughness",
        _short,
        "Times the kernel norm of the true mean curve.",
    ),
    "rho": (
        "Smoothing penalty rho",
        _short,
        "More of it means less noise and more bias; the guarantee stays the same.",
    ),
    "clip": ("Public norm of a path", _short, "Longer paths were scaled down to it."),
    "kernel": ("Kernel", str, ""),
    "lattice_step": ("Step of the public lattice", _short, "Values are whole multiples of it before noise is added."),
    "noisy_rows": ("Noisy number of rows", format_number, "Released with the curve, which is divided by it."),
    "noisy_rows_sd": ("Noise on the number of rows", _short, ""),
    "rows": ("Public number of rows", format_number, ""),
    "standard": ("Standard", str, ""),
    "way": ("Way of drawing parameters", str, "From a clipped posterior, or from noisy statistics."),
    "family": ("Family", str, ""),
    "unit": ("Unit of the target", str, "The claimed epsilon changes with it: a log density has a unit."),
    "claimed_epsilon": (
        "What the paper calls epsilon",
        _short,
        "Asymptotic, local, draw-based; not differential privacy. It is computed from the private rows and bounds "
        "nothing that can be learned.",
    ),
    "claimed_epsilon_of_all_copies": ("The same for all copies together", _short, "Every copy is a draw of its own."),
    "claim_with_whole_exponent": (
        "The claim with the whole exponent",
        _short,
        "What the posterior that was really drawn from would be charged; equation 7 leaves a part of it out.",
    ),
    "claim_by_equation_15_as_printed": ("The claim by equation 15 as printed", _short, "A misprint, for comparison."),
    "oscillation_epsilon": ("The unit-free claim", _short, "Largest less smallest log density over the draws."),
    "leave_one_out_loss": (
        "Measured loss from leaving out one record",
        _short,
        "The worst over the oddest records, at delta 0.001; the published proof leaves out what others' weights do.",
    ),
    "added_outlier_loss": ("Measured loss from adding one outlier", _short, "An outlier ten standard deviations away."),
    "added_outlier_breaks_the_claim": ("Does the outlier break the claim?", _yes, "Then the local guarantee is false."),
    "sum_of_weights": ("Sum of the weights", _short, "How many records the weighted posterior rests on."),
    "share_of_zero_weights": ("Share of records with weight 0", lambda value: f"{value:.2%}", ""),
    "sign_of_highest_log_density": ("Sign of the highest log density", str, "With + the order of the claims can flip."),
    "not_synthesised": (
        "Columns released as they are",
        lambda value: ", ".join(value) or "none",
        "Whoever knows a person's values in these columns finds the row.",
    ),
    "moved_into_bounds": ("Values moved into the public bounds", format_number, "Drawn outside the schema's bounds."),
    "rows_left_out_for_rules": ("Rows left out", format_number, "They broke a rule of the schema."),
    "clusters": ("Clusters", format_number, ""),
    "centre_columns": ("Columns of the centres", ", ".join, ""),
    "centres": (
        "Noisy centres",
        lambda value: "; ".join("(" + ", ".join(f"{x:.4g}" for x in centre) + ")" for centre in value),
        "One for each cluster, in the units of the columns; a centre may lie outside the bounds, rows never do.",
    ),
    "shares_of_clusters": ("Noisy shares of the clusters", lambda value: ", ".join(f"{x:.1%}" for x in value), ""),
    "grid_shape": ("Cells of the grid", lambda value: " x ".join(map(str, value)), "Chosen from public facts alone."),
    "noise_scale": ("Scale of the noise", _short, "A size, not a guarantee: the published form has none."),
    "radii_clamped": (
        "Share of radii that the noise made 0",
        lambda value: f"{value:.1%}",
        "Those rows share a point.",
    ),
    "centroids_outside": (
        "Share of centroid coordinates left outside their bounds",
        lambda value: f"{value:.1%}",
        "One reflection does not always end inside.",
    ),
    "lid": (
        "Interval disclosure (LID)",
        lambda value: f"{value:.2%}",
        "Share of the true rows of which some released number lies within the tolerance of the true one. It says "
        "nothing about linkage.",
    ),
    "tolerance": ("Tolerance of the interval disclosure", _short, "As a share of each input's public range."),
    "lid_floor": (
        "Smallest interval disclosure of these pairs",
        lambda value: f"{value:.2%}",
        "At alpha 0, in the stratum where it is largest.",
    ),
    "alpha": ("Weight of the true rows", lambda value: ", ".join(f"{x:.3g}" for x in value), "One for each stratum."),
    "linkage_top_1": (
        "Rows whose nearest released row is their own",
        lambda value: f"{value:.1%}",
        "With true inputs.",
    ),
    "linkage_top_10": ("Rows whose own is among the ten nearest", lambda value: f"{value:.1%}", ""),
    "membership_auc": (
        "Membership told from the released inputs (AUC)",
        _short,
        "0.5 is guessing; measured on held-out rows.",
    ),
    "least_displacement": ("The row that moved least", _short, "Distance in standard deviations."),
    "median_displacement": ("Median distance that rows moved", _short, "In standard deviations."),
    "chosen_on_private_data": ("Chosen on private data", str, "Nothing of it is paid for."),
    "noisy_total": (
        "Number of rows that the model assumes",
        lambda value: format_number(round(value)),
        "Estimated from the noisy counts; under adjacency replace it is the public row count.",
    ),
    "rounds": (
        "Measured tables besides the columns themselves",
        format_number,
        "One in each round; a table that was measured again counts again.",
    ),
    "measured_tables": (
        "Which tables these were",
        _tables,
        "In the order in which they were first measured. The model ties their columns together; other columns depend "
        "on each other only through these.",
    ),
    "noise_of_rounds": (
        "Noise of a count, from round to round",
        lambda value: _range(value) if value else "none",
        "Standard deviations. The table of stages shows what the share of all rounds would buy for one table.",
    ),
    "groups_of_columns": (
        "Cells of each column in the model",
        _by_name,
        "Neighbouring or rare values were merged where noise would have hidden them, as the noisy counts say; rows get "
        "values of the whole column.",
    ),
    "model_steps": ("Steps of the fit", format_number, ""),
    "model_settled": ("Did the fit settle?", _yes, "It stops when more steps would hardly change it."),
    "tree": (
        "Pairs of columns that the model ties together",
        lambda value: "; ".join(" – ".join(edge) for edge in value) or "none",
        "Other pairs depend on each other only through these.",
    ),
    "rows_redrawn_for_rules": (
        "Rows drawn again to keep the rules",
        format_number,
        "Rows that broke a rule of the schema were drawn again; their share shows how far the model is from the rules.",
    ),
    "rows_repaired_for_rules": (
        "Synthetic rows mended to keep each rule",
        _by_name,
        "As drawn they broke the rule, of which the model knows at most what groups of values tell. They were changed "
        "as little as the rule allows; every released row keeps every rule.",
    ),
    "rows_replaced_for_rules": (
        "Rows replaced to keep the rules",
        format_number,
        "Rows that could not be mended or drawn anew; values of synthetic rows that keep the rules stand in their "
        "place.",
    ),
}


def statistics(document: ReleaseDocument) -> list[StatisticText]:
    """Return the public statistics, those that need a sentence first."""
    return statistic_texts(document.statistics)


def statistic_texts(numbers: Mapping[str, Any]) -> list[StatisticText]:
    """Return named numbers in words, those that need a sentence first."""
    present = {key: value for key, value in numbers.items() if key not in SHOWN_ELSEWHERE}
    named = [key for key in STATISTICS if key in present]
    facts: list[StatisticText] = []
    for key in (*named, *sorted(set(present) - set(named))):
        name, form, sentence = STATISTICS.get(key, (key.replace("_", " "), _short, ""))
        facts.append(StatisticText(name, form(present[key]), sentence))
    return facts


def statistic_text(key: str, value: Any) -> str:
    """Return a statistic for one line of a terminal: lists and answers in words, numbers as they are.

    >>> statistic_text("measured_tables", [["age", "sex"], ["age", "region", "sex"]])
    'age x sex; age x region x sex'
    """
    if key in STATISTICS and isinstance(value, list | tuple | dict | bool):
        return STATISTICS[key][1](value)
    return str(value)
