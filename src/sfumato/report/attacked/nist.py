"""NIST SP 800-226 (2025), "Guidelines for Evaluating Differential Privacy Guarantees", answered point by point.

Its pyramid says what a guarantee rests on: each part holds only as far as the parts below it. Its hazards are the ways
in which a sound theorem fails in practice. Every answer here is what the release itself says; what a program cannot
know is called open. Names and order are ours, after the publication.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.privacy.accounting.curve import Curve
from sfumato.privacy.accounting.frequencies import advantage, successes
from sfumato.privacy.exact import at_most, show
from sfumato.report.compared.measures import capital
from sfumato.report.document import ReleaseDocument
from sfumato.report.words.cost import recorded_in_short
from sfumato.report.words.vouched import who_vouched
from sfumato.schema import Schema

INTEGERS = (
    "Noise is drawn and added in whole numbers, without floating point, from laws whose tables are enclosed by exact "
    "arithmetic. What is computed afterwards in floating point is post-processing."
)


class Point(NamedTuple):
    """One point: its name, how it stands (the word for its colour and in words), and the answer."""

    name: str
    nearness: str
    standing: str
    answer: str


def _settled(name: str, answer: str) -> Point:
    return Point(name, "near", "answered", answer)


def _open(name: str, answer: str) -> Point:
    return Point(name, "middling", "open: for the custodian", answer)


def _hazard(name: str, answer: str) -> Point:
    return Point(name, "far", "hazard", answer)


def pyramid(document: ReleaseDocument, schema: Schema, curve: Curve | None) -> list[Point]:
    """Return the parts of the pyramid from the top down."""
    return [
        _epsilon(document, curve),
        _unit(document, schema),
        _mechanisms(document),
        _accuracy(document),
        _open(
            "Trust model",
            "Central: the custodian holds the rows as they are, and whoever runs the release sees them. The guarantee "
            "is about everybody else.",
        ),
        _randomness(document),
        _open(
            "Security and access control",
            "Table, ledger and custodian's pages are files with the rights of their folder; pages with true values are "
            "readable by their owner alone. Who may read that folder, the program cannot know.",
        ),
        _open(
            "Data collection exposure",
            "Nothing of this protects the rows before the release: where they lie, who collected them, and whether the "
            "people know. Rows that are no longer needed are best deleted.",
        ),
    ]


def _epsilon(document: ReleaseDocument, curve: Curve | None) -> Point:
    promise = document.guarantee
    if not promise.formal or curve is None:
        return _hazard("Epsilon", "There is none: the release has no formal guarantee, and nothing bounds an attack.")
    delta = f" and delta {at_most(promise.exact_delta, 3)}" if promise.exact_delta else ""
    said = (
        f"Epsilon {show(promise.exact_epsilon)}{delta}: {promise.band}. {capital(successes(curve))}; "
        f"{advantage(curve)}. These are averages over attempts; what one unlucky outcome can show is bounded by "
        "epsilon alone."
    )
    return _hazard("Epsilon", said) if promise.is_weak else _settled("Epsilon", said)


def _unit(document: ReleaseDocument, schema: Schema) -> Point:
    promise = document.guarantee
    said = f"{capital(promise.change())}." if promise.formal else f"One {document.unit}, of which nothing is promised."
    if document.unit == "row" and schema.person is None:
        return _open("Unit of privacy", f"{said} Whether a person has one row or several, the custodian must know.")
    return _settled("Unit of privacy", said)


def _mechanisms(document: ReleaseDocument) -> Point:
    kinds = sorted({event.kind for event in document.events})
    said = f"{document.method.name}: {document.method.summary}. Recorded events: {', '.join(kinds) or 'none'}."
    if not document.method.formal:
        return _hazard("Mechanisms", f"{said} No theorem stands behind it.")
    return _settled("Mechanisms", f"{said} {INTEGERS}")


def _accuracy(document: ReleaseDocument) -> Point:
    name = "Utility and bias"
    if document.expected_errors is not None:
        numbers = len(document.expected_errors.numbers)
        said = (
            f"The report shows expected errors of {numbers} main numbers, from {document.expected_errors.reruns} runs."
        )
    else:
        said = "The report says what the noise of each stage was; expected errors of single numbers were not computed."
    return _open(name, f"{said} Small groups lose most by noise: look at them before anybody relies on the release.")


def _randomness(document: ReleaseDocument) -> Point:
    name = "Randomness and side channels"
    if document.randomness.mode == "seeded":
        return _hazard(name, "The noise came from a fixed seed: whoever knows it removes the noise. Not for release.")
    said = "The noise came from the cryptographic source of the machine. How long the run took is not hidden."
    return _settled(name, f"{said} Nobody but the custodian should see that time.")


def hazards(document: ReleaseDocument, schema: Schema) -> list[Point]:
    """Return the hazards, each answered from what the release knows."""
    return [
        _large_epsilon(document),
        _several_rows(document, schema),
        _facts(document, schema),
        _choice(document),
        _composition(document),
        _settled("Floating point", INTEGERS)
        if document.method.formal
        else _hazard("Floating point", "The method as published computes in floating point, and proves nothing."),
        _seed(document),
        _open(
            "Timing and other side channels",
            "Not covered: how long a release takes may depend on the rows. Do not let others start or time releases.",
        ),
        _open(
            "What is common in a group",
            "Not hidden, and not meant to be: the release teaches about groups, whoever is in the table.",
        ),
        _open(
            "Bias against small groups",
            "Noise is as large for a small group as for a large one, so that small groups are told worst.",
        ),
    ]


def _large_epsilon(document: ReleaseDocument) -> Point:
    promise = document.guarantee
    if not promise.formal:
        return _hazard("No or a large epsilon", "No epsilon bounds what can be learned.")
    said = " ".join(f"{capital(warning)}." for warning in promise.warnings)
    if promise.is_weak:
        return _hazard("No or a large epsilon", said or promise.protection())
    return _settled("No or a large epsilon", f"The promise is {promise.band}. {said}".strip())


def _several_rows(document: ReleaseDocument, schema: Schema) -> Point:
    name = "People with several rows"
    if schema.person is not None:
        return _settled(
            name,
            f"Persons are told apart by {schema.person}; at most {schema.rows_per_person} rows of each were used.",
        )
    return _open(name, "The schema names no person: somebody with k rows has k times the epsilon.")


def _facts(document: ReleaseDocument, schema: Schema) -> Point:
    name = "Facts taken from the rows"
    signed = who_vouched(schema).sentences[0]
    if document.guarantee.takes_facts_from_rows:
        return _hazard(name, f"Some facts of the schema were taken from the private rows, uncharged. {signed}")
    return _settled(name, f"{signed} Bounds, levels and rules are said to be public, or were bought from the budget.")


def _choice(document: ReleaseDocument) -> Point:
    name = "Choices made by looking at the rows"
    if document.guarantee.uncharged:
        return _hazard(
            name, f"{document.guarantee.uncharged} was chosen on the private table, and nothing paid for it."
        )
    if document.guarantee.selection is not None:
        return _settled(name, f"{document.guarantee.selection.parameter} was chosen on the rows, and paid for.")
    return _settled(name, "None is declared. Whoever tried several releases and kept one must declare it.")


def _composition(document: ReleaseDocument) -> Point:
    name = "Further releases of the same table"
    said = recorded_in_short(document)
    return _hazard(name, said) if document.recorded is None else _settled(name, said)


def _seed(document: ReleaseDocument) -> Point:
    if document.randomness.mode == "seeded":
        return _hazard("Noise that can be repeated", "A seeded run: not for release.")
    return _settled("Noise that can be repeated", "The noise was secret: no seed exists.")
