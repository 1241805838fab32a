"""Answers to the points of NIST SP 800-226 on evaluating differential privacy.

Its pyramid says what a guarantee rests on: each part holds only as far as the parts below it. Its hazards are the ways
in which a sound theorem fails in practice. Every answer here is what the release itself says; what a program cannot
know is called open. Names and order are ours, after the publication.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.description import ledger_sentence
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import capitalize_first
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text
from sfumato.privacy.exact import at_most, format_fraction
from sfumato.report.texts import Texts
from sfumato.report.texts.provenance import provenance_card
from sfumato.schema import Schema

say = Texts("nist_800_226")


class NistPoint(NamedTuple):
    """One point: its name, how it stands (the word for its colour and in words), and the answer."""

    name: str
    nearness: str
    standing: str
    answer: str


def _answered(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "near", "answered", answer)


def _open(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "middling", say("open"), answer)


def _hazard(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "far", "hazard", answer)


def pyramid_points(document: ReleaseDocument, schema: Schema, curve: PrivacyCurve | None) -> list[NistPoint]:
    """Return the parts of the pyramid from the top down."""
    return [
        _epsilon(document, curve),
        _unit(document, schema),
        _mechanisms(document),
        _accuracy(document),
        _open("Trust model", say("pyramid.trust")),
        _randomness(document),
        _open("Security and access control", say("pyramid.access")),
        _open("Data collection exposure", say("pyramid.collection")),
    ]


def _epsilon(document: ReleaseDocument, curve: PrivacyCurve | None) -> NistPoint:
    guarantee = document.guarantee
    if not guarantee.formal or curve is None:
        return _hazard("Epsilon", say("pyramid.no_epsilon"))
    answer = say(
        "pyramid.epsilon",
        epsilon=format_fraction(guarantee.exact_epsilon),
        delta=f" and delta {at_most(guarantee.exact_delta, 3)}" if guarantee.exact_delta else "",
        band=guarantee.band,
        frequencies=capitalize_first(attack_frequency_text(curve)),
        advantage=advantage_text(curve),
    )
    return _hazard("Epsilon", answer) if guarantee.is_weak else _answered("Epsilon", answer)


def _unit(document: ReleaseDocument, schema: Schema) -> NistPoint:
    guarantee = document.guarantee
    change = f"{capitalize_first(guarantee.change())}."
    unit = change if guarantee.formal else say("pyramid.no_unit", unit=document.unit)
    if document.unit == "row" and schema.person is None:
        return _open("Unit of privacy", say("pyramid.unit_open", unit=unit))
    return _answered("Unit of privacy", unit)


def _mechanisms(document: ReleaseDocument) -> NistPoint:
    kinds = ", ".join(sorted({event.kind for event in document.events})) or "none"
    method = document.method
    answer = say("pyramid.mechanisms", method=method.name, summary=method.summary, kinds=kinds)
    if not method.formal:
        return _hazard("Mechanisms", f"{answer} {say('pyramid.unproved')}")
    return _answered("Mechanisms", f"{answer} {say('integers')}")


def _accuracy(document: ReleaseDocument) -> NistPoint:
    errors = document.expected_errors
    answer = say("pyramid.no_errors")
    if errors is not None:
        answer = say("pyramid.errors", numbers=len(errors.numbers), reruns=errors.reruns)
    return _open("Utility and bias", f"{answer} {say('pyramid.small_groups')}")


def _randomness(document: ReleaseDocument) -> NistPoint:
    name = "Randomness and side channels"
    if document.randomness.mode == "seeded":
        return _hazard(name, say("pyramid.seeded"))
    return _answered(name, say("pyramid.secure"))


def hazard_points(document: ReleaseDocument, schema: Schema) -> list[NistPoint]:
    """Return the hazards, each answered from what the release knows."""
    return [
        _large_epsilon(document),
        _several_rows(schema),
        _facts(document, schema),
        _choice(document),
        _composition(document),
        _floating_point(document),
        _seed(document),
        _open("Timing and other side channels", say("hazards.timing")),
        _open("What is common in a group", say("hazards.groups")),
        _open("Bias against small groups", say("hazards.bias")),
    ]


def _large_epsilon(document: ReleaseDocument) -> NistPoint:
    guarantee, name = document.guarantee, "No or a large epsilon"
    if not guarantee.formal:
        return _hazard(name, say("hazards.no_epsilon"))
    warnings = " ".join(f"{capitalize_first(warning)}." for warning in guarantee.warnings)
    if guarantee.is_weak:
        return _hazard(name, warnings or guarantee.protection())
    return _answered(name, f"The promise is {guarantee.band}. {warnings}".strip())


def _several_rows(schema: Schema) -> NistPoint:
    name = "People with several rows"
    if schema.person is not None:
        return _answered(name, say("hazards.persons", person=schema.person, rows=schema.rows_per_person))
    return _open(name, say("hazards.no_person"))


def _facts(document: ReleaseDocument, schema: Schema) -> NistPoint:
    name, signed = "Facts taken from the rows", provenance_card(schema).sentences[0]
    if document.guarantee.takes_facts_from_rows:
        return _hazard(name, say("hazards.taken", signed=signed))
    return _answered(name, say("hazards.public", signed=signed))


def _choice(document: ReleaseDocument) -> NistPoint:
    name, guarantee = "Choices made by looking at the rows", document.guarantee
    if guarantee.uncharged:
        return _hazard(name, say("hazards.uncharged", choice=guarantee.uncharged))
    if guarantee.selection is not None:
        return _answered(name, say("hazards.charged", choice=guarantee.selection.parameter))
    return _answered(name, say("hazards.no_choice"))


def _composition(document: ReleaseDocument) -> NistPoint:
    name, sentence = "Further releases of the same table", ledger_sentence(document)
    return _hazard(name, sentence) if document.recorded is None else _answered(name, sentence)


def _floating_point(document: ReleaseDocument) -> NistPoint:
    if document.method.formal:
        return _answered("Floating point", say("integers"))
    return _hazard("Floating point", say("hazards.floating_point"))


def _seed(document: ReleaseDocument) -> NistPoint:
    name = "Noise that can be repeated"
    if document.randomness.mode == "seeded":
        return _hazard(name, say("hazards.seeded"))
    return _answered(name, say("hazards.secret"))
