"""Page one of the report, in plain words: what was released, what is promised, what it cost, who may be identified.

Everything here is said from the document and the schema, which are public.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sfumato.privacy.exact import exact, show
from sfumato.report.document import ReleaseDocument
from sfumato.report.figures import MOST_COLUMNS, MOST_FIGURES
from sfumato.report.views import Spread, say
from sfumato.schema import Schema


class Banner(NamedTuple):
    """A warning across the top of the page."""

    kind: str
    heading: str
    text: str


class Fact(NamedTuple):
    """One named statistic, and the sentence without which it would mislead."""

    name: str
    value: str
    sentence: str


class Cost(NamedTuple):
    """The cap as a bar: what other releases took, what this one took, what is left (in per cent of the cap)."""

    before: float
    this: float
    sentences: tuple[str, ...]


def banners(document: ReleaseDocument, truth: PrivateFacts | None) -> list[Banner]:
    banners: list[Banner] = []
    if truth is not None:
        banners.append(Banner("danger", "Custodian's copy: contains confidential values. Do not publish.",
                              f"This page sets true counts of {say(truth.rows)} rows beside the released ones."))  # fmt: skip
    if document.randomness.stamp:
        banners.append(Banner("danger", "NOT FOR RELEASE", f"{document.randomness.stamp.capitalize()}: the noise came "
                              "from a fixed seed, and anyone who knows the seed can remove it."))  # fmt: skip
    if not document.guarantee.formal:
        banners.append(Banner("warning", "No formal guarantee", f"This release is of the {document.guarantee.kind} kind: "
                              "its parameters do not bound what can be learned from it."))  # fmt: skip
    return banners


def epsilon(document: ReleaseDocument) -> str | None:
    return show(document.guarantee.exact_epsilon) if document.guarantee.formal else None


def released(document: ReleaseDocument) -> list[str]:
    tables = document.tables
    if document.method.makes_rows:
        columns = ", ".join(tables[0].columns) if tables else ""
        return [f"{say(tables[0].rows)} synthetic rows with {len(tables[0].columns)} columns: {columns}.",
                "They were drawn from noisy counts, not copied from the table; one may equal a true row by chance."]  # fmt: skip
    cells = sum(table.rows for table in tables)
    named = "; ".join(" x ".join(table.columns) for table in tables)
    what = "1 table" if len(tables) == 1 else f"{len(tables)} tables"
    return [f"Noisy counts of all {say(cells)} cells of {what}: {named}.",
            "Every cell of the public domain is there, empty ones included. "
            + ("Counts below 0 were set to 0, which lifts cells that are nearly empty."
               if document.method.parameters.get("nonnegative") else "Counts are unbiased, so some may be below 0.")]  # fmt: skip


def cost(document: ReleaseDocument) -> Cost:
    recorded, guarantee = document.recorded, document.guarantee
    price = f"This release cost epsilon {show(guarantee.exact_epsilon)}{_delta(guarantee.delta)}."
    first = price if guarantee.formal else "This release is an exposure: it is recorded, and no sum can include it."
    if recorded is None:
        return Cost(0.0, 0.0, (first, document.recorded_note))
    cap, spent = exact(recorded.cap_epsilon), exact(recorded.spent_epsilon)
    this = guarantee.exact_epsilon if guarantee.formal else exact(0)
    whole = max(cap, spent)
    sentences = [first, f"The cap of table {document.table!r} is epsilon {show(cap)}{_delta(recorded.cap_delta)}. Spent in "
                 f"all: {show(spent)}{_delta(recorded.spent_delta)}. Left: {show(exact(recorded.left_epsilon))}"
                 f"{_delta(recorded.left_delta)}."]  # fmt: skip
    if recorded.composition == "tight":
        sentences.append("The ledger composes tightly: its own total is below this sum, so more may be left.")
    if recorded.exposures:
        sentences.append(f"Exposures of this table, never added to the sum: {recorded.exposures}.")
    sentences.append("Recorded in the ledger as " + ", ".join(f"entry {e.sequence}" for e in recorded.entries[:6])
                     + (", ..." if len(recorded.entries) > 6 else "") + ".")  # fmt: skip
    return Cost(float(100 * max(spent - this, exact(0)) / whole), float(100 * this / whole), tuple(sentences))


def _delta(delta: str) -> str:
    return f" and delta {float(exact(delta)):.3g}" if exact(delta) else ""


def identified(document: ReleaseDocument, schema: Schema) -> list[str]:
    if document.randomness.mode == "seeded":
        return ["Anyone in the table, by anyone who knows the seed: treat these files like the private table itself."]
    if not document.guarantee.formal:
        return ["Nobody knows: no bound is proved. Assume that people with rare values can be recognised, and read the "
                "measured risks before publishing."]  # fmt: skip
    unit, sure = document.unit, 100 / (1 + math.exp(-float(document.guarantee.exact_epsilon)))
    hidden = f"Whether any one {unit} is in the table" if document.adjacency == "add-remove" else f"What any one {unit} says"
    slip = " (except with the probability delta)" if exact(document.guarantee.delta) else ""
    sentences = [f"{hidden} stays uncertain: even odds can become at most {sure:.3g} % certainty{slip}.",
                 "What is common in a group is not hidden: that is what the release is for, and it holds for people who are "
                 "in the table and for people who are not."]  # fmt: skip
    if unit == "row":
        sentences.append("The promise is for one row; someone who fills k rows has k times the epsilon.")
    columns = {name for table in document.tables for name in table.columns}
    quasi = [name for name in schema.with_role("quasi-identifier") if name in columns]
    if quasi:
        sentences.append(f"Released columns by which people may be known elsewhere: {', '.join(quasi)}.")
    return sentences


def stages(document: ReleaseDocument) -> list[tuple[str, ...]]:
    kinds = [(event.kind, part) for event in document.events for part in event.parts]
    widths = {part.stage: Spread(kind, part.scale).half_width() for kind, part in kinds}
    return [
        (stage.name, say(stage.cells), stage.noise, f"{stage.scale:.4g}",
         f"± {say(widths[stage.name])}" if stage.name in widths else "",
         "joint" if stage.epsilon == "joint" else show(exact(stage.epsilon)), f"{float(exact(stage.share)):.1%}")
        for stage in document.stages
    ]  # fmt: skip


STATISTICS: dict[str, tuple[str, Callable[[Any], str], str]] = {
    "entropy_bits": (
        "Entropy of the released counts", lambda value: f"{value:.3f} bits",
        "Computed from the released counts (those below 0 as 0), so it costs nothing. Noise on empty cells pulls it upward.",
    ),
    "noisy_total": (
        "Number of rows, as the noisy counts tell it", lambda value: say(round(value)),
        "An estimate from released counts; the true number is not used.",
    ),
    "tree": (
        "Pairs of columns that the model ties together",
        lambda value: "; ".join(" – ".join(edge) for edge in value) or "none",
        "Other pairs depend on each other only through these.",
    ),
    "rows_redrawn_for_rules": (
        "Rows drawn again to keep the rules", say,
        "Rows that broke a rule of the schema were drawn again; their share shows how far the model is from the rules.",
    ),
    "rows_replaced_for_rules": (
        "Rows replaced to keep the rules", say,
        "Rows that still broke a rule after all draws; copies of rows that keep the rules stand in their place.",
    ),
}  # fmt: skip


def statistics(document: ReleaseDocument) -> list[Fact]:
    facts: list[Fact] = []
    known = [*(key for key in STATISTICS if key in document.statistics), *sorted(set(document.statistics) - set(STATISTICS))]
    for key in known:
        value = document.statistics[key]
        name, form, sentence = STATISTICS.get(key, (key.replace("_", " "), lambda v: json.dumps(v), ""))
        facts.append(Fact(name, form(value), sentence))
    return facts


def columns(document: ReleaseDocument, schema: Schema) -> list[tuple[str, ...]]:
    released = {name for table in document.tables for name in table.columns}
    return [
        (column.name, column.kind, say(column.size), "yes" if column.missing else "no", column.role or "")
        for column in schema if column.name in released
    ]  # fmt: skip


def hidden(document: ReleaseDocument) -> str:
    if document.method.makes_rows:
        more = len(document.tables[0].columns) - MOST_COLUMNS
        return f"{more} more columns are in the data files and not drawn here." if more > 0 else ""
    more = len(document.tables) - MOST_FIGURES
    return f"{more} more tables are in the data files and not drawn here." if more > 0 else ""
