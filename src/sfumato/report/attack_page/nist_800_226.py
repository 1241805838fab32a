"""Answers to the points of NIST SP 800-226 on evaluating differential privacy.

Its pyramid says what a guarantee rests on: each part holds only as far as the parts below it. Its hazards are the ways
in which a sound theorem fails in practice. Every answer here is what the release itself says; what a program cannot
know is called open. Names and order are ours, after the publication.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.cost_statement import ledger_sentence
from sfumato.bundle.document import ReleaseDocument
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text
from sfumato.privacy.exact import at_most, format_fraction
from sfumato.report.comparison_page.measures import capital
from sfumato.report.texts.provenance import provenance_card
from sfumato.schema import Schema

INTEGERS = (
    "Noise is drawn and added in whole numbers, without floating point, from laws whose tables are enclosed by exact "
    "arithmetic. What is computed afterwards in floating point is post-processing."
)


class NistPoint(NamedTuple):
    """One point: its name, how it stands (the word for its colour and in words), and the answer."""

    name: str
    nearness: str
    standing: str
    answer: str


def _answered(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "near", "answered", answer)


def _open(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "middling", "open: for the custodian", answer)


def _hazard(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "far", "hazard", answer)


def pyramid_points(document: ReleaseDocument, schema: Schema, curve: PrivacyCurve | None) -> list[NistPoint]:
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


def _epsilon(document: ReleaseDocument, curve: PrivacyCurve | None) -> NistPoint:
    promise = document.guarantee
    if not promise.formal or curve is None:
        return _hazard("Epsilon", "There is none: the release has no formal guarantee, and nothing bounds an attack.")
    delta = f" and delta {at_most(promise.exact_delta, 3)}" if promise.exact_delta else ""
    said = (
        f"Epsilon {format_fraction(promise.exact_epsilon)}{delta}: {promise.band}. "
        f"{capital(attack_frequency_text(curve))}; "
        f"{advantage_text(curve)}. These are averages over attempts; what one unlucky outcome can show is bounded by "
        "epsilon alone."
    )
    return _hazard("Epsilon", said) if promise.is_weak else _answered("Epsilon", said)


def _unit(document: ReleaseDocument, schema: Schema) -> NistPoint:
    promise = document.guarantee
    said = f"{capital(promise.change())}." if promise.formal else f"One {document.unit}, of which nothing is promised."
    if document.unit == "row" and schema.person is None:
        return _open("Unit of privacy", f"{said} Whether a person has one row or several, the custodian must know.")
    return _answered("Unit of privacy", said)


def _mechanisms(document: ReleaseDocument) -> NistPoint:
    kinds = sorted({event.kind for event in document.events})
    said = f"{document.method.name}: {document.method.summary}. Recorded events: {', '.join(kinds) or 'none'}."
    if not document.method.formal:
        return _hazard("Mechanisms", f"{said} No theorem stands behind it.")
    return _answered("Mechanisms", f"{said} {INTEGERS}")


def _accuracy(document: ReleaseDocument) -> NistPoint:
    name = "Utility and bias"
    if document.expected_errors is not None:
        numbers = len(document.expected_errors.numbers)
        said = (
            f"The report shows expected errors of {numbers} main numbers, from {document.expected_errors.reruns} runs."
        )
    else:
        said = "The report says what the noise of each stage was; expected errors of single numbers were not computed."
    return _open(name, f"{said} Small groups lose most by noise: look at them before anybody relies on the release.")


def _randomness(document: ReleaseDocument) -> NistPoint:
    name = "Randomness and side channels"
    if document.randomness.mode == "seeded":
        return _hazard(name, "The noise came from a fixed seed: whoever knows it removes the noise. Not for release.")
    said = "The noise came from the cryptographic source of the machine. How long the run took is not hidden."
    return _answered(name, f"{said} Nobody but the custodian should see that time.")


def hazard_points(document: ReleaseDocument, schema: Schema) -> list[NistPoint]:
    """Return the hazards, each answered from what the release knows."""
    return [
        _large_epsilon(document),
        _several_rows(document, schema),
        _facts(document, schema),
        _choice(document),
        _composition(document),
        _answered("Floating point", INTEGERS)
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


def _large_epsilon(document: ReleaseDocument) -> NistPoint:
    promise = document.guarantee
    if not promise.formal:
        return _hazard("No or a large epsilon", "No epsilon bounds what can be learned.")
    said = " ".join(f"{capital(warning)}." for warning in promise.warnings)
    if promise.is_weak:
        return _hazard("No or a large epsilon", said or promise.protection())
    return _answered("No or a large epsilon", f"The promise is {promise.band}. {said}".strip())


def _several_rows(document: ReleaseDocument, schema: Schema) -> NistPoint:
    name = "People with several rows"
    if schema.person is not None:
        return _answered(
            name,
            f"Persons are told apart by {schema.person}; at most {schema.rows_per_person} rows of each were used.",
        )
    return _open(name, "The schema names no person: somebody with k rows has k times the epsilon.")


def _facts(document: ReleaseDocument, schema: Schema) -> NistPoint:
    name = "Facts taken from the rows"
    signed = provenance_card(schema).sentences[0]
    if document.guarantee.takes_facts_from_rows:
        return _hazard(name, f"Some facts of the schema were taken from the private rows, uncharged. {signed}")
    return _answered(name, f"{signed} Bounds, levels and rules are said to be public, or were bought from the budget.")


def _choice(document: ReleaseDocument) -> NistPoint:
    name = "Choices made by looking at the rows"
    if document.guarantee.uncharged:
        return _hazard(
            name, f"{document.guarantee.uncharged} was chosen on the private table, and nothing paid for it."
        )
    if document.guarantee.selection is not None:
        return _answered(name, f"{document.guarantee.selection.parameter} was chosen on the rows, and paid for.")
    return _answered(name, "None is declared. Whoever tried several releases and kept one must declare it.")


def _composition(document: ReleaseDocument) -> NistPoint:
    name = "Further releases of the same table"
    said = ledger_sentence(document)
    return _hazard(name, said) if document.recorded is None else _answered(name, said)


def _seed(document: ReleaseDocument) -> NistPoint:
    if document.randomness.mode == "seeded":
        return _hazard("Noise that can be repeated", "A seeded run: not for release.")
    return _answered("Noise that can be repeated", "The noise was secret: no seed exists.")
