"""Render the comparison page: verdict first, then the worst columns, pairs and subgroups.

The page holds true numbers of the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.bundle.description import Banner
from sfumato.bundle.target_folder import require_free_path, save_private_file
from sfumato.evaluate.compare.result import Comparison
from sfumato.formatting import format_number
from sfumato.report.cards import share
from sfumato.report.comparison_page.association_cards import overview, pair_cards, prediction_rows
from sfumato.report.comparison_page.column_cards import SIDES, column_cards, distance_text
from sfumato.report.comparison_page.measures import capital, measure_rows, nearness
from sfumato.report.page import render_page
from sfumato.report.release_page.column_cards import card_id
from sfumato.report.texts.statistics import StatisticText
from sfumato.version import __version__


class WorstItem(NamedTuple):
    """One of the worst: what it is, where its card stands (if it has one), and how far off."""

    what: str
    place: str
    told: str
    nearness: str


def worst_columns(comparison: Comparison) -> list[WorstItem]:
    """Return the worst columns; each has a card."""
    found = {column.name: (card_id(i), column) for i, column in enumerate(comparison.columns, 1)}
    chosen = [found[name] for name in comparison.worst_columns if name in found]
    return [_worst(column.name, place, column.tvd, column.yardstick) for place, column in chosen]


def worst_relations(comparison: Comparison) -> list[WorstItem]:
    """Return the worst pairs; each has a card among the relations, if the comparison kept it."""
    places = {pair.names: (f"pair-{i}", pair) for i, pair in enumerate(comparison.pairs, 1)}
    rows: list[WorstItem] = []
    for names in comparison.worst_pairs:
        place, pair = places.get(names, ("", None))
        words = " and ".join(names)
        rows.append(WorstItem(words, "", "", "") if pair is None else _worst(words, place, pair.tvd, pair.yardstick))
    return rows


def worst_groups(comparison: Comparison) -> list[WorstItem]:
    """Return the worst subgroups, and the column in which they differ most."""
    return [
        _worst(
            f"{group.column} = {group.level} ({share(group.share)} of the rows): its {group.target}",
            "",
            group.tvd,
            group.yardstick,
        )
        for group in comparison.worst_subgroups
    ]


def _worst(what: str, place: str, tvd: float, yardstick: float) -> WorstItem:
    return WorstItem(what, place, f"distance {distance_text(tvd, yardstick)}", nearness(tvd, yardstick)[0])


TEMPLATE = "comparison.html.j2"

USES = {"single": "single columns", "pairs": "pairs of columns", "prediction": "predictions"}

GRADE_COLOURS = {"as good as real rows": "best", "good": "good", "usable in part": "part", "not usable": "bad"}

"""How a grade is coloured; its words always stand beside the colour."""

WHAT = "the page of a comparison"


class EquivalentRows(NamedTuple):
    """How many real rows a use is worth: a large number, and the sentence around it."""

    number: str
    use: str
    sentence: str


def comparison_page(comparison: Comparison, confidential: Sequence[StatisticText] = ()) -> str:
    """Return the page: verdict first, then every column, every strong relation, and the worst of each.

    ``confidential`` are numbers about the private rows that a method hands over with its release.
    """
    return render_page(
        TEMPLATE,
        version=__version__,
        comparison=comparison,
        banners=banners(comparison),
        tone=GRADE_COLOURS.get(comparison.grade, "part"),
        verdict=verdict_words(comparison),
        equivalents=[equivalent_rows_text(comparison, use) for use in comparison.equivalent_rows],
        measures=measure_rows(comparison),
        worst_columns=worst_columns(comparison),
        worst_pairs=worst_relations(comparison),
        worst_subgroups=worst_groups(comparison),
        columns=column_cards(comparison),
        sides=SIDES,
        pairs=pair_cards(comparison),
        glance=overview(comparison),
        predictions=prediction_rows(comparison),
        yardstick=yardstick_words(comparison),
        confidential=confidential,
        say=format_number,
    )


def banners(comparison: Comparison) -> list[Banner]:
    """Return the warning across the top."""
    text = (
        f"This page shows true values of {format_number(comparison.rows)} rows without noise, and no budget paid for "
        f"them. It is "
        "no part of a bundle and must never become one."
    )
    return [Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", text)]


def verdict_words(comparison: Comparison) -> str:
    """Return the verdict without its grade, which stands above it in large letters."""
    grade, _, rest = comparison.verdict.partition(": ")
    return capital(rest) if grade.lower() == comparison.grade.lower() and rest else comparison.verdict


def equivalent_rows_text(comparison: Comparison, use: str) -> EquivalentRows:
    """Say how large a random sample of real rows would be as near."""
    rows, name = comparison.equivalent_rows[use], USES.get(use, use)
    if math.isnan(rows):
        return EquivalentRows("not known", name, f"For {name} it could not be measured.")
    if rows >= comparison.rows:
        sentence = f"For {name} as near as a sample of as many real rows as the table has."
        return EquivalentRows(f"{format_number(comparison.rows)} or more", name, sentence)
    shown = "under 10" if rows < 10 else format_number(_two_digits(rows))
    return EquivalentRows(shown, name, f"For {name} as near as a random sample of {shown} real rows would be.")


def _two_digits(number: float) -> float:
    """Return a number rounded to two digits: more would pretend to know."""
    return float(f"{number:.2g}")


def yardstick_words(comparison: Comparison) -> str:
    """Say what the second real sample is."""
    if comparison.holdout_rows is not None:
        return (
            f"The second real sample: {format_number(comparison.holdout_rows)} real rows that were not in the table "
            f"(the "
            "holdout)."
        )
    return "The second real sample is estimated from parts of the table that share no row, as no holdout was given."


def save_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = require_free_path(path, WHAT)
    return save_private_file(place, comparison_page(comparison))
