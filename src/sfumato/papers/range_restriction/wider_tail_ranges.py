"""Section 4.3, figures 11 to 14, 17 and 18: a wider range for the largest values."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from sfumato.papers.range_restriction.results import Part, comparison
from sfumato.papers.range_restriction.simulation import DATA, TOPS, UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, SharedResults
from sfumato.papers.range_restriction.violins import list_values, spread_table, violin_chart

SIX = (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, *TOPS)
CHAIN = (WIDE_AVERAGED, *TOPS)
TEXT = "The top 1, 5 or 10 % of the values have the range (0.2, 2.4), all others (0.4, 1.8); range-averaged."


def figure_11(work: SharedResults) -> Part:
    """Return epsilon over repeated samples."""
    found = work.samples.get("epsilon", SIX)
    means = {name: float(found[name].mean()) for name in (*CHAIN, WEIGHTED)}
    steps = [found[a] <= found[b] for a, b in pairwise(CHAIN)]
    chain = np.all([*steps, found[CHAIN[-1]] < found[WEIGHTED]], axis=0)
    return Part(
        name="figure 11",
        text=(TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "epsilon rises, and stays below Weighted",
                list_values(means),
                f"agrees in the means; with shared draws the whole chain in {int(chain.sum())} of {len(chain)} "
                "samples; 5 and 10 % hardly differ",
            ),
        ),
        values=(spread_table("epsilon", found),),
        charts=(violin_chart("Epsilon over samples", "epsilon", found),),
    )


def _utility(work: SharedResults, name: str, measure: str, words: str, factor: float = 1.0) -> Part:
    """Return an ECDF difference: small is good."""
    found = {each: factor * values for each, values in work.samples.get(measure, SIX).items()}
    means = {each: float(found[each].mean()) for each in (*CHAIN, WEIGHTED)}
    rising = [means[each] for each in CHAIN]
    return Part(
        name=name,
        text=(TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "utility falls",
                list_values(means),
                "agrees in the means" if rising == sorted(rising) else "does not hold in the means",
            ),
        ),
        values=(spread_table(words, found),),
        charts=(violin_chart(words, words, found),),
    )


def _statistic(work: SharedResults, name: str, measure: str, words: str) -> Part:
    """Return a statistic beside that of the data: near is good."""
    found = work.samples.get(measure, (DATA, *SIX))
    ratios = {each: work.samples.ratio(measure, each) for each in (*CHAIN, WEIGHTED)}
    falling = [ratios[each] for each in CHAIN]
    return Part(
        name=name,
        text=(TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "further from the data",
                f"ratio to the data: {list_values(ratios)}",
                "agrees" if falling == sorted(falling, reverse=True) else "does not hold",
            ),
        ),
        values=(spread_table(words, found),),
        charts=(violin_chart(f"{words} over samples", words, found),),
    )


figure_12 = partial(_utility, name="figure 12", measure="ECDF max", words="ECDF maximum difference")
figure_13 = partial(_statistic, name="figure 13", measure="median", words="median")
figure_14 = partial(_statistic, name="figure 14", measure="Q90", words="90 % quantile")
figure_17 = partial(_utility, name="figure 17", measure="ECDF msq", words="ECDF msq x 1,000", factor=1000.0)
figure_18 = partial(_statistic, name="figure 18", measure="mean", words="mean")
