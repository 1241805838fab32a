"""The three Article 29 criteria (WP 216): singling out, linkability, inference.

Opinion 05/2014 on anonymisation techniques asks of a release: can a person be singled out, can records about one
person be linked, can something about a person be inferred? A proved bound answers for every attack, a measured one for
itself alone, and neither says much without what is reached without the release.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.formatting import capitalize_first, percent
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.accounting.strength import attack_frequency_text
from sfumato.report.texts import Texts
from sfumato.risk.on_release.judge import strongest_of
from sfumato.risk.on_release.result import Criterion, ReleaseAttackReport, ReleaseAttackResult

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
