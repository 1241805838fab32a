"""Answers to the criteria of two authorities: WP 216 of the Article 29 Working Party, and NIST SP 800-226."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.bundle.description import ledger_sentence
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import capitalize_first, percent
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text
from sfumato.privacy.exact import at_most, format_fraction
from sfumato.report.texts import Texts
from sfumato.report.texts.provenance import provenance_card
from sfumato.risk.on_release.result import Criterion, ReleaseAttackReport, ReleaseAttackResult, strongest_of
from sfumato.schema import Schema

SLIGHT = 0.25
"""A proved gain below this is called within the guarantee and not simply an attack that works."""
say = Texts("nist_800_226")


class CriterionAnswer(NamedTuple):
    """One criterion: its question, and what is known."""

    heading: str
    question: str
    proved: str
    measured: str
    baseline: str
    standing: str
    nearness: str


def questions() -> dict[Criterion, str]:
    """Return the question that each criterion asks."""
    return say.table("wp_216")["questions"]


def criteria(report: ReleaseAttackReport, curve: PrivacyCurve | None) -> list[CriterionAnswer]:
    """Return the three criteria answered."""
    return [_answer(report, criterion, question, curve) for criterion, question in questions().items()]


def _answer(
    report: ReleaseAttackReport, criterion: Criterion, question: str, curve: PrivacyCurve | None
) -> CriterionAnswer:
    heading, proved = capitalize_first(criterion), say("wp_216.unproved")
    if curve is not None:
        proved = f"{capitalize_first(attack_frequency_text(curve))}, whatever the attack."
    results = report.of(criterion)
    best = strongest_of(results)
    if best is None:
        return CriterionAnswer(heading, question, proved, say("wp_216.untried"), "", "not measured", "middling")
    strongest = f"The strongest of {len(results)} attacks: " if len(results) > 1 else ""
    measured = f"{strongest}{capitalize_first(best.attack)}: {_measured(best)}"
    baseline = say("wp_216.baseline", share=percent(best.baseline))
    return CriterionAnswer(
        heading, question, proved, measured, baseline, *attack_status(best, report.holdout_rows is not None)
    )


def _measured(result: ReleaseAttackResult) -> str:
    members = f"{percent(result.rate)} on people of the table"
    if result.control is None:
        return f"{members}."
    return f"{members}, {percent(result.control)} on people who are not in it."


def attack_status(result: ReleaseAttackResult, holdout: bool = True) -> tuple[str, str]:
    """Say how an attack stands, and the word for its colour."""
    if result.refutes_claim:
        return "breaks the guarantee", "far"
    if result.succeeds and result.control is None:
        overfits = result.criterion == "overfitting"
        return "nearer than it should be" if overfits else "better than without the release", "middling"
    if result.succeeds:
        within = result.ceiling is not None and result.gain_low < SLIGHT
        return ("works, within the guarantee", "middling") if within else ("works", "far")
    return ("no significant effect", "near") if holdout else ("not better than without the release", "near")


class NistPoint(NamedTuple):
    """One point: its name, how it stands (the word for its colour and in words), and the answer."""

    name: str
    nearness: str
    standing: str
    answer: str


def _point(name: str, hazard: bool, answer: str) -> NistPoint:
    return NistPoint(name, "far", "hazard", answer) if hazard else NistPoint(name, "near", "answered", answer)


def _open(name: str, answer: str) -> NistPoint:
    return NistPoint(name, "middling", say("open"), answer)


def pyramid_points(document: ReleaseDocument, schema: Schema, curve: PrivacyCurve | None) -> list[NistPoint]:
    """Return the parts of the pyramid from the top down."""
    guarantee, method, seeded = document.guarantee, document.method, document.randomness.mode == "seeded"
    proved = curve if guarantee.formal else None
    epsilon = say("pyramid.no_epsilon") if proved is None else _epsilon(guarantee, proved)
    unit = (
        f"{capitalize_first(guarantee.change())}." if guarantee.formal else say("pyramid.no_unit", unit=document.unit)
    )
    protected = _point("Unit of privacy", False, unit)
    if document.unit == "row" and schema.person is None:
        protected = _open("Unit of privacy", say("pyramid.unit_open", unit=unit))
    kinds = ", ".join(sorted({event.kind for event in document.events})) or "none"
    mechanisms = say("pyramid.mechanisms", method=method.name, summary=method.summary, kinds=kinds)
    errors = document.expected_errors
    accuracy = say("pyramid.no_errors")
    if errors is not None:
        accuracy = say("pyramid.errors", numbers=len(errors.numbers), reruns=errors.reruns)
    return [
        _point("Epsilon", proved is None or guarantee.is_weak, epsilon),
        protected,
        _point(
            "Mechanisms", not method.formal, f"{mechanisms} {say('integers' if method.formal else 'pyramid.unproved')}"
        ),
        _open("Utility and bias", f"{accuracy} {say('pyramid.small_groups')}"),
        _open("Trust model", say("pyramid.trust")),
        _point("Randomness and side channels", seeded, say("pyramid.seeded" if seeded else "pyramid.secure")),
        _open("Security and access control", say("pyramid.access")),
        _open("Data collection exposure", say("pyramid.collection")),
    ]


def _epsilon(guarantee: Guarantee, curve: PrivacyCurve) -> str:
    return say(
        "pyramid.epsilon",
        epsilon=format_fraction(guarantee.exact_epsilon),
        delta=f" and delta {at_most(guarantee.exact_delta, 3)}" if guarantee.exact_delta else "",
        band=guarantee.band,
        frequencies=capitalize_first(attack_frequency_text(curve)),
        advantage=advantage_text(curve),
    )


def hazard_points(document: ReleaseDocument, schema: Schema) -> list[NistPoint]:
    """Return the hazards, each answered from what the release knows."""
    guarantee, formal, seeded = document.guarantee, document.method.formal, document.randomness.mode == "seeded"
    several = _open("People with several rows", say("hazards.no_person"))
    if schema.person is not None:
        rows = say("hazards.persons", person=schema.person, rows=schema.rows_per_person)
        several = _point("People with several rows", False, rows)
    taken = guarantee.takes_facts_from_rows
    facts = say("hazards.taken" if taken else "hazards.public", signed=provenance_card(schema).sentences[0])
    return [
        _large_epsilon(guarantee),
        several,
        _point("Facts taken from the rows", taken, facts),
        _point("Choices made by looking at the rows", bool(guarantee.uncharged), _choice(guarantee)),
        _point("Further releases of the same table", document.recorded is None, ledger_sentence(document)),
        _point("Floating point", not formal, say("integers" if formal else "hazards.floating_point")),
        _point("Noise that can be repeated", seeded, say("hazards.seeded" if seeded else "hazards.secret")),
        _open("Timing and other side channels", say("hazards.timing")),
        _open("What is common in a group", say("hazards.groups")),
        _open("Bias against small groups", say("hazards.bias")),
    ]


def _large_epsilon(guarantee: Guarantee) -> NistPoint:
    name, warnings = "No or a large epsilon", " ".join(f"{capitalize_first(each)}." for each in guarantee.warnings)
    if not guarantee.formal:
        return _point(name, True, say("hazards.no_epsilon"))
    if guarantee.is_weak:
        return _point(name, True, warnings or guarantee.protection())
    return _point(name, False, f"The promise is {guarantee.band}. {warnings}".strip())


def _choice(guarantee: Guarantee) -> str:
    if guarantee.uncharged:
        return say("hazards.uncharged", choice=guarantee.uncharged)
    if guarantee.selection is not None:
        return say("hazards.charged", choice=guarantee.selection.parameter)
    return say("hazards.no_choice")
