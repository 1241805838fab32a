"""The comparison as one page, for the custodian's eyes alone.

The page holds true numbers of the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.comparison.result import Comparison
from sfumato.report.compared.columns import SIDES, column_cards
from sfumato.report.compared.measures import capital, measure_rows
from sfumato.report.compared.relations import glance, pair_cards, prediction_rows
from sfumato.report.compared.worst import worst_columns, worst_groups, worst_relations
from sfumato.report.page import render
from sfumato.report.private_page import free_place, save_private
from sfumato.report.words.banners import Banner
from sfumato.report.words.numbers import say
from sfumato.report.words.statistics import Fact
from sfumato.version import __version__

TEMPLATE = "comparison.html.j2"
USES = {"single": "single columns", "pairs": "pairs of columns", "prediction": "predictions"}
GRADES = {"as good as real rows": "best", "good": "good", "usable in part": "part", "not usable": "bad"}
"""How a grade is coloured; its words always stand beside the colour."""
WHAT = "the page of a comparison"


class Equivalent(NamedTuple):
    """How many real rows a use is worth: a large number, and the sentence around it."""

    number: str
    use: str
    sentence: str


def comparison_page(comparison: Comparison, confidential: Sequence[Fact] = ()) -> str:
    """Return the page: verdict first, then every column, every strong relation, and the worst of each.

    ``confidential`` are numbers about the private rows that a method hands over with its release.
    """
    return render(
        TEMPLATE,
        version=__version__,
        comparison=comparison,
        banners=banners(comparison),
        tone=GRADES.get(comparison.grade, "part"),
        verdict=verdict_words(comparison),
        equivalents=[equivalent(comparison, use) for use in comparison.equivalent_rows],
        measures=measure_rows(comparison),
        worst_columns=worst_columns(comparison),
        worst_pairs=worst_relations(comparison),
        worst_subgroups=worst_groups(comparison),
        columns=column_cards(comparison),
        sides=SIDES,
        pairs=pair_cards(comparison),
        glance=glance(comparison),
        predictions=prediction_rows(comparison),
        yardstick=yardstick_words(comparison),
        confidential=confidential,
        say=say,
    )


def banners(comparison: Comparison) -> list[Banner]:
    """Return the warning across the top."""
    text = (
        f"This page shows true values of {say(comparison.rows)} rows without noise, and no budget paid for them. It is "
        "no part of a bundle and must never become one."
    )
    return [Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", text)]


def verdict_words(comparison: Comparison) -> str:
    """Return the verdict without its grade, which stands above it in large letters."""
    grade, _, rest = comparison.verdict.partition(": ")
    return capital(rest) if grade.lower() == comparison.grade.lower() and rest else comparison.verdict


def equivalent(comparison: Comparison, use: str) -> Equivalent:
    """Say how large a random sample of real rows would be as near."""
    rows, name = comparison.equivalent_rows[use], USES.get(use, use)
    if math.isnan(rows):
        return Equivalent("not known", name, f"For {name} it could not be measured.")
    if rows >= comparison.rows:
        sentence = f"For {name} as near as a sample of as many real rows as the table has."
        return Equivalent(f"{say(comparison.rows)} or more", name, sentence)
    shown = "under 10" if rows < 10 else say(_two_digits(rows))
    return Equivalent(shown, name, f"For {name} as near as a random sample of {shown} real rows would be.")


def _two_digits(number: float) -> float:
    """Return a number rounded to two digits: more would pretend to know."""
    return float(f"{number:.2g}")


def yardstick_words(comparison: Comparison) -> str:
    """Say what the second real sample is."""
    if comparison.holdout_rows is not None:
        return (
            f"The second real sample: {say(comparison.holdout_rows)} real rows that were not in the table (the "
            "holdout)."
        )
    return "The second real sample is estimated from parts of the table that share no row, as no holdout was given."


def save_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = free_place(path, WHAT)
    return save_private(place, comparison_page(comparison))
