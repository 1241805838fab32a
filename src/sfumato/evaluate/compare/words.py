"""What each measure is, in a sentence that a custodian understands."""

from __future__ import annotations

WORDS = {
    "tvd_1": "share of rows that would have to change for a column to be right, mean over columns",
    "tvd_2": "the same for the cross table of two columns, mean over pairs",
    "tvd_3": "the same for three columns, mean over a fixed sample of triples",
    "mean_error": "error of a mean, in standard deviations of the column, mean over numbers and dates",
    "sd_error": "error of a standard deviation, as the logarithm of its ratio, mean over numbers and dates",
    "quantile_error": "mean error of the quantiles, as a share of the range from the 10 % to the 90 % quantile",
    "pearson_error": "error of a linear correlation, mean over pairs of numbers",
    "spearman_error": "error of a rank correlation, mean over pairs of numbers",
    "cramer_error": "error of Cramér's V, mean over pairs of columns with levels",
    "propensity": "how much better than by chance a linear model tells made rows from real ones (1: by chance)",
    "propensity_auc": "how often boosted trees tell a made row from a real one (0.5: by chance)",
    "prediction": "share of what models learn from real rows that they learn from made ones, tested on real rows",
    "missing_error": "error of the share of missing values, mean over columns that may have some",
    "rule_violations": "share of rows that break a rule of the schema",
}
"""The measures in the order in which they are shown."""
LARGER_IS_BETTER = ("prediction",)
SHORT = {
    "tvd_1": "single columns",
    "tvd_2": "pairs of columns",
    "tvd_3": "three columns",
    "mean_error": "means, in sd",
    "sd_error": "standard deviations",
    "quantile_error": "quantiles",
    "pearson_error": "linear correlations",
    "spearman_error": "rank correlations",
    "cramer_error": "relations of levels",
    "propensity": "told apart, linear",
    "propensity_auc": "told apart, trees",
    "prediction": "share of skill kept",
    "missing_error": "missing values",
    "rule_violations": "broken rules",
}
"""What each measure is about, in two or three words."""
