"""Page one of the report, in plain words: what was released, what is promised, what it cost, who may be identified.

Everything here is said from the document and the schema, which are public; only the banner of the custodian's copy
knows the true number of rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sfumato.privacy.accounting.accountant import basic
from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee
from sfumato.privacy.exact import exact, show, text
from sfumato.release.plan import UNSUMMED, Stage
from sfumato.report.charts.figures import MOST_COLUMNS, MOST_FIGURES
from sfumato.report.charts.views import Spread, say
from sfumato.report.document import RecordedCost, ReleaseDocument
from sfumato.schema import Schema

SEEDED = "the noise came from a fixed seed, and anyone who knows the seed can remove it."
GROUPS = (
    "What is common in a group is not hidden: that is what the release is for, and it holds for people who are in the "
    "table and for people who are not."
)
TAKEN = (
    "Facts of the schema that were taken from the private rows are not covered: a largest value or a rare level may "
    "tell of the person who has it."
)
UNPROVED = (
    "Nobody knows: no bound is proved. Assume that people with rare values can be recognised, and read the measured "
    "risks before publishing."
)
WHOLE_DOMAIN = "Every cell of the public domain is there, empty ones included."
CLAMPED = "Counts below 0 were set to 0, which lifts cells that are nearly empty."
UNBIASED = "Counts are unbiased, so some may be below 0."
IN_ROUNDS = (
    "Tables that were measured after the single columns stand as one stage: with the cells of the largest of them, and "
    "with the noise that their whole share would buy for one table. Each took a part of the share, so its noise is "
    "larger; the statistics below say how large."
)


class Banner(NamedTuple):
    """A warning across the top of the page."""

    kind: str
    heading: str
    text: str


class Cost(NamedTuple):
    """The cap as a bar (what other releases and this one took, in per cent), and the same in words."""

    before: float
    this: float
    sentences: tuple[str, ...]


def banners(document: ReleaseDocument, true_rows: int | None = None) -> list[Banner]:
    """Return the warnings that must not be missed."""
    found: list[Banner] = []
    if true_rows is not None:
        heading = "Custodian's copy: contains confidential values. Do not publish."
        text = f"This page sets true values of {say(true_rows)} rows beside the released ones."
        found.append(Banner("danger", heading, text))
    if document.randomness.stamp:
        found.append(Banner("danger", "NOT FOR RELEASE", f"{document.randomness.stamp.capitalize()}: {SEEDED}"))
    if document.guarantee.uncharged:
        heading = f"The choice of {document.guarantee.uncharged} is not covered"
        found.append(Banner("warning", heading, document.guarantee.protection()))
    if document.guarantee.takes_facts_from_rows:
        text = "The schema was not fixed before anybody looked: the promise does not cover what these facts give away."
        found.append(Banner("warning", "Facts were taken from the private rows", text))
    if document.guarantee.is_weak:
        heading = f"Protection: {document.guarantee.band}"
        found.append(Banner("warning", heading, _sentences(document.guarantee.warnings)))
    if not document.guarantee.formal:
        text = f"A release of the {document.guarantee.kind} kind: its parameters do not bound what can be learned."
        found.append(Banner("warning", "No formal guarantee", text))
    return found


def _sentences(words: tuple[str, ...]) -> str:
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in words)


def epsilon(document: ReleaseDocument) -> str | None:
    """Return epsilon in large figures, for formal guarantees only."""
    return show(document.guarantee.exact_epsilon) if document.guarantee.formal else None


def released(document: ReleaseDocument) -> list[str]:
    """Say what was released."""
    tables = document.tables
    if document.method.makes == "values":
        return [f"{_numbers(document)} with noise: {document.method.summary}.", document.method.about]
    if document.method.makes == "rows":
        return [*_released_rows(document), document.method.about]
    cells = sum(table.rows for table in tables)
    named = "; ".join(" x ".join(table.columns) for table in tables)
    what = "1 table" if len(tables) == 1 else f"{len(tables)} tables"
    sign = CLAMPED if document.method.parameters.get("nonnegative") else UNBIASED
    return [f"Noisy counts of all {say(cells)} cells of {what}: {named}.", f"{WHOLE_DOMAIN} {sign}"]


def _released_rows(document: ReleaseDocument) -> list[str]:
    first, *others = document.tables
    names, kept = first.columns, document.statistics.get("not_synthesised") or []
    what = "rows" if kept else "synthetic rows"
    copies = f"{1 + len(others)} copies, the first of " if others else ""
    sentence = f"{copies}{say(first.rows)} {what} with {len(names)} columns: {', '.join(names)}."
    drawn = ", ".join(name for name in names if name not in kept)
    return [sentence, *([f"{', '.join(kept)}: released as they are; {drawn}: synthetic."] if kept else [])]


def _numbers(document: ReleaseDocument) -> str:
    lines = sum(table.rows for table in document.tables)
    return "One number" if lines == 1 else f"{say(lines)} numbers"


def cost(document: ReleaseDocument) -> Cost:
    """Say what the release cost and what is left."""
    recorded, guarantee = document.recorded, document.guarantee
    first = _price(document) if guarantee.formal else "This release is an exposure: no sum of costs can include it."
    if recorded is None:
        return Cost(0.0, 0.0, (first, document.recorded_note))
    cap, spent = exact(recorded.cap_epsilon), exact(recorded.spent_epsilon)
    this = _charged(document)[0]
    whole = max(cap, spent)
    before = max(spent - this, exact(0))
    return Cost(float(100 * before / whole), float(100 * this / whole), (first, *_balance(document.table, recorded)))


def _charged(document: ReleaseDocument) -> tuple[Fraction, Fraction]:
    """Return what the formal events that were run cost; a whole ladder where the ledger was charged for all of it."""
    at_once = document.recorded is not None and len(document.recorded.entries) > len(document.events)
    if at_once:
        return document.guarantee.exact_epsilon, document.guarantee.exact_delta
    return basic([event for event in document.events if event.is_formal])


def _price(document: ReleaseDocument) -> str:
    epsilon, delta = _charged(document)
    price = f"This release cost epsilon {_amount(text(epsilon), text(delta))}."
    if document.guarantee.selection is None:
        return price
    return f"{price} That is what the candidates that were run and their scores cost together; see the promise."


def _balance(table: str, recorded: RecordedCost) -> list[str]:
    sentences = [
        f"The cap of table {table!r} is epsilon {_amount(recorded.cap_epsilon, recorded.cap_delta)}. "
        f"Spent in all: {_amount(recorded.spent_epsilon, recorded.spent_delta)}. "
        f"Left: {_amount(recorded.left_epsilon, recorded.left_delta)}."
    ]
    if recorded.composition == "tight":
        sentences.append("The ledger composes tightly: its own total is below this sum, so more may be left.")
    if recorded.exposures:
        sentences.append(f"Exposures of this table, never added to the sum: {recorded.exposures}.")
    places = ", ".join(f"entry {entry.sequence}" for entry in recorded.entries[:6])
    more = ", ..." if len(recorded.entries) > 6 else ""
    return [*sentences, f"Recorded in the ledger as {places}{more}."]


def _amount(epsilon: str, delta: str) -> str:
    return show(exact(epsilon)) + (f" and delta {float(exact(delta)):.3g}" if exact(delta) else "")


def identified(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say who may be identified, as far as the guarantee tells."""
    if document.randomness.mode == "seeded":
        return ["Anyone in the table, by anyone who knows the seed: treat these files like the private table itself."]
    if not document.guarantee.formal:
        return [UNPROVED]
    sentences = [_certainty(document.guarantee), document.guarantee.protection(), GROUPS]
    if document.unit == "row":
        more = " and more than k times the delta" if exact(document.guarantee.delta) else ""
        sentences.append(f"The promise is for one row; someone who fills k rows has k times the epsilon{more}.")
    if document.unit.startswith(ONE_VALUE):
        sentences.append(f"Only {document.unit} is covered; the rest of a row is released as it is, and tells whose.")
    if document.guarantee.takes_facts_from_rows:
        sentences.append(TAKEN)
    names = _released_columns(document)
    quasi = [name for name in schema.with_role("quasi-identifier") if name in names]
    if quasi:
        sentences.append(f"Released columns by which people may be known elsewhere: {', '.join(quasi)}.")
    return sentences


def _certainty(guarantee: Guarantee) -> str:
    aside = f", leaving aside what the choice of {guarantee.uncharged} shows" if guarantee.uncharged else ""
    return f"Someone who gave even odds on {guarantee.bet()} can be {guarantee.odds()}{aside}."


def _released_columns(document: ReleaseDocument) -> set[str]:
    named = {name for table in document.tables for name in table.columns}
    used = document.method.parameters.get("columns") or [document.method.parameters.get("column")]
    return named | {name for name in used if isinstance(name, str)} if document.method.makes == "values" else named


def stages(document: ReleaseDocument) -> list[tuple[str, ...]]:
    """Return the table of stages: name, cells, noise, scale, 95 % of the noise, epsilon, share."""
    return [
        (
            stage.name,
            say(stage.cells),
            stage.noise,
            f"{stage.scale:.4g}",
            _noise_width(stage),
            stage.epsilon if stage.epsilon in UNSUMMED else show(exact(stage.epsilon)),
            f"{float(exact(stage.share)):.1%}",
        )
        for stage in document.stages
    ]


def stage_note(document: ReleaseDocument) -> str:
    """Say how to read a stage whose tables were chosen one after another; empty for other methods."""
    return IN_ROUNDS if "noise_of_rounds" in document.statistics else ""


def _noise_width(stage: Stage) -> str:
    known = stage.noise.endswith(("laplace", "gaussian"))
    return f"± {say(Spread(stage.noise, stage.scale).half_width())}" if known else ""


def columns(document: ReleaseDocument, schema: Schema) -> list[tuple[str, ...]]:
    """Return the public facts of the released columns: name, kind, cells, may be missing, role."""
    names = _released_columns(document)
    return [
        (column.name, column.kind, say(column.size), "yes" if column.missing else "no", column.role or "")
        for column in schema
        if column.name in names
    ]


def not_drawn(document: ReleaseDocument) -> str:
    """Say how much of the release has no chart."""
    rows = document.method.makes == "rows"
    if document.method.makes == "values":
        return ""
    more = len(document.tables[0].columns) - MOST_COLUMNS if rows else len(document.tables) - MOST_FIGURES
    what = ("column" if rows else "table") + ("" if more == 1 else "s")
    return f"Not drawn: {more} more {what}; the data files hold everything." if more > 0 else ""
