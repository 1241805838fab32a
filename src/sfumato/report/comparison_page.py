"""Page of a comparison between private and synthetic rows: verdict first, then every column, and the worst of all.

The page holds true numbers of the confidential rows, without noise. It is one file that loads nothing, and it is
written for its owner alone, never inside a bundle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.bundle.description import Banner
from sfumato.bundle.target_folder import require_free_path, save_private_file
from sfumato.evaluate.compare.result import Comparison
from sfumato.formatting import capitalize_first, format_number
from sfumato.report.blocks import (
    BigNumber,
    Block,
    Card,
    Cards,
    ChartBlock,
    Deck,
    Definition,
    Definitions,
    MeasureTable,
    Page,
    Paragraphs,
    RankedItem,
    Ranking,
    Section,
    Verdict,
)
from sfumato.report.cards import share
from sfumato.report.comparison_cards import (
    SIDES,
    card_id,
    column_cards,
    distance_text,
    measure_rows,
    nearness,
    overview,
    pair_cards,
    prediction_rows,
)
from sfumato.report.page import to_html
from sfumato.report.texts import Texts
from sfumato.report.texts.numbers import StatisticText
from sfumato.version import __version__

say = Texts("comparison")
USES = {"single": "single columns", "pairs": "pairs of columns", "prediction": "predictions"}
GRADE_COLOURS = {"as good as real rows": "best", "good": "good", "usable in part": "part", "not usable": "bad"}
"""How a grade is coloured; its words always stand beside the colour."""
WHAT = "the page of a comparison"
MEASURES = ("measure", "synthetic", "second real sample", "side by side")
PREDICTIONS = ("target", "from synthetic", "from real", "guessing", "side by side")
ORDERS = (("place", "as in the table"), ("worst", "worst first"), ("name", "by name"))
FEWEST_AT_A_GLANCE = 3


def comparison_page(comparison: Comparison, confidential: Sequence[StatisticText] = ()) -> str:
    """Return the page: verdict first, then every column, every strong relation, and the worst of each.

    ``confidential`` are numbers about the private rows that a method hands over with its release.
    """
    rows = format_number(comparison.rows)
    page = Page(
        comparison.table,
        say(
            "lead",
            synthetic=format_number(comparison.synthetic_rows),
            rows=rows,
            columns=len(comparison.columns),
            yardstick=yardstick_words(comparison),
        ),
        (Banner("danger", "Confidential: for the custodian's eyes. Do not publish.", say("confidential", rows=rows)),),
        tuple(_sections(comparison, confidential)),
        kicker="Sfumato comparison, custodian's copy",
        footer=say("footer", table=comparison.table, version=__version__),
        tab=f"{comparison.table}: comparison with the confidential table (do not publish)",
    )
    return to_html(page)


def _sections(comparison: Comparison, confidential: Sequence[StatisticText]) -> Iterator[Section]:
    tone = GRADE_COLOURS.get(comparison.grade, "part")
    verdict = Verdict(comparison.grade, tone, verdict_words(comparison), tuple(comparison.notes))
    yield Section("", "", (verdict,))
    if comparison.equivalent_rows:
        worth = tuple(_worth(comparison, use) for use in comparison.equivalent_rows)
        yield Section("worth", "How many real rows it is worth", (Cards(worth, in_three=True),), "Worth")
    marks = ("value of the synthetic rows", "value of a second real sample")
    measures = MeasureTable(MEASURES, tuple(measure_rows(comparison)), *marks)
    title = "Every measure beside its yardstick"
    yield Section("measures", title, (Paragraphs((say("measures"),)), measures), "Measures")
    yield Section("worst", "What is worst", (Cards(tuple(_worst_cards(comparison)), in_three=True),), "Worst")
    search = ("Type a column's name", "Show columns and relations whose name contains")
    cards = tuple(column_cards(comparison))
    deck = Deck("columns", (say("columns"),), SIDES, cards, search, ORDERS, "Columns and their distances")
    yield Section("columns", "Every column", (deck,), "Columns")
    yield Section("relations", "Strong relations, and the worst", tuple(_relations(comparison)), "Relations")
    if comparison.predictions:
        marks = ("trained on synthetic rows", "trained on real rows")
        table = MeasureTable(PREDICTIONS, tuple(prediction_rows(comparison)), *marks)
        yield Section("predictions", "Predictions", (Paragraphs((say("predictions"),)), table))
    if confidential:
        facts = tuple(Definition(each.name, tuple(filter(None, each[1:]))) for each in confidential)
        blocks = (Paragraphs((say("private_rows"),)), Definitions(facts))
        yield Section("confidential", "Numbers about the private rows", blocks, "Private rows")


def _worth(comparison: Comparison, use: str) -> Card:
    worth = equivalent_rows_text(comparison, use)
    return Card(worth.use.capitalize(), "", (BigNumber(worth.number, "real rows"), Paragraphs((worth.sentence,))))


def _relations(comparison: Comparison) -> Iterator[Block]:
    if not comparison.pairs:
        yield Paragraphs((say("no_relations"),))
        return
    if len(comparison.pairs) >= FEWEST_AT_A_GLANCE:
        kept = comparison.association_kept
        strength = "" if kept is None else f" {say('kept', share=100 * kept)}"
        yield ChartBlock("All of them at a glance", (f"{say('glance')}{strength}",), overview(comparison), beside=True)
    yield Deck("relations", (say("relations"),), SIDES, tuple(pair_cards(comparison)))


def _worst_cards(comparison: Comparison) -> Iterator[Card]:
    """Yield the worst columns, pairs and subgroups; columns and pairs have a card, if the comparison kept them."""
    columns = {column.name: (card_id(i), column) for i, column in enumerate(comparison.columns, 1)}
    pairs = {pair.names: (f"pair-{i}", pair) for i, pair in enumerate(comparison.pairs, 1)}
    chosen = [columns[name] for name in comparison.worst_columns if name in columns]
    yield _ranked("Columns", [_worst(each.name, place, each.tvd, each.yardstick) for place, each in chosen])
    rows: list[RankedItem] = []
    for names in comparison.worst_pairs:
        place, pair = pairs.get(names, ("", None))
        words = " and ".join(names)
        rows.append(RankedItem(words) if pair is None else _worst(words, place, pair.tvd, pair.yardstick))
    yield _ranked("Pairs", rows)
    groups = [
        (f"{each.column} = {each.level} ({share(each.share)} of the rows): its {each.target}", each)
        for each in comparison.worst_subgroups
    ]
    yield _ranked("Subgroups", [_worst(words, "", each.tvd, each.yardstick) for words, each in groups])


def _ranked(title: str, items: Sequence[RankedItem]) -> Card:
    nothing = Paragraphs((f"No {title.lower().removesuffix('s')} stands out.",))
    return Card(title, "", (Ranking(tuple(items)) if items else nothing,))


def _worst(words: str, place: str, tvd: float, yardstick: float) -> RankedItem:
    return RankedItem(words, place, f"distance {distance_text(tvd, yardstick)}", nearness(tvd, yardstick)[0])


def verdict_words(comparison: Comparison) -> str:
    """Return the verdict without its grade, which stands above it in large letters."""
    grade, _, rest = comparison.verdict.partition(": ")
    return capitalize_first(rest) if grade.lower() == comparison.grade.lower() and rest else comparison.verdict


class EquivalentRows(NamedTuple):
    """How many real rows a use is worth: a large number, and the sentence around it."""

    number: str
    use: str
    sentence: str


def equivalent_rows_text(comparison: Comparison, use: str) -> EquivalentRows:
    """Say how large a random sample of real rows would be as near."""
    rows, name = comparison.equivalent_rows[use], USES.get(use, use)
    if math.isnan(rows):
        return EquivalentRows("not known", name, say("worth.unmeasured", use=name))
    if rows >= comparison.rows:
        return EquivalentRows(f"{format_number(comparison.rows)} or more", name, say("worth.all", use=name))
    number = "under 10" if rows < 10 else format_number(float(f"{rows:.2g}"))  # more digits would pretend to know
    return EquivalentRows(number, name, say("worth.some", use=name, rows=number))


def yardstick_words(comparison: Comparison) -> str:
    """Say what the second real sample is."""
    if comparison.holdout_rows is None:
        return say("yardstick.estimated")
    return say("yardstick.holdout", rows=format_number(comparison.holdout_rows))


def save_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the page with mode 600; refuse a place inside a bundle or one that exists."""
    place = require_free_path(path, WHAT)
    return save_private_file(place, comparison_page(comparison))
