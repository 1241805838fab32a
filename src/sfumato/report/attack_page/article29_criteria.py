"""The three Article 29 criteria (WP 216): singling out, linkability, inference.

Opinion 05/2014 on anonymisation techniques asks of a release: can a person be singled out, can records about one
person be linked, can something about a person be inferred? A proved bound answers for every attack, a measured one for
itself alone, and neither says much without what is reached without the release.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.formatting import percent
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.accounting.strength import attack_frequency_text
from sfumato.report.comparison_page.measures import capital
from sfumato.risk.on_release.judge import strongest_of
from sfumato.risk.on_release.result import Criterion, ReleaseAttackReport, ReleaseAttackResult

QUESTIONS: dict[Criterion, tuple[str, str]] = {
    "singling out": ("Singling out", "Can somebody state conditions that exactly one person of the table fulfils?"),
    "linkability": ("Linkability", "Can two files about the same people be joined through the release?"),
    "inference": ("Inference", "Can a secret value of a person be guessed who is in the table?"),
}
UNPROVED = "Nothing is proved: no formal guarantee is known."
UNTRIED = "Not measured: no attack of this kind fits the release."


class CriterionAnswer(NamedTuple):
    """One criterion: its question, and what is known."""

    heading: str
    question: str
    proved: str
    measured: str
    baseline: str
    standing: str
    nearness: str


def criteria(found: ReleaseAttackReport, curve: PrivacyCurve | None) -> list[CriterionAnswer]:
    """Return the three criteria answered."""
    return [_answer(found, criterion, curve) for criterion in QUESTIONS]


def _answer(found: ReleaseAttackReport, criterion: Criterion, curve: PrivacyCurve | None) -> CriterionAnswer:
    heading, question = QUESTIONS[criterion]
    proved = UNPROVED if curve is None else f"{capital(attack_frequency_text(curve))}, for every attack on one person."
    results = found.of(criterion)
    best = strongest_of(results)
    if best is None:
        return CriterionAnswer(heading, question, proved, UNTRIED, "", "not measured", "middling")
    tried = f" The strongest of {len(results)} attacks:" if len(results) > 1 else ""
    measured = f"{tried} {capital(best.attack)}: {_measured(best)}".strip()
    baseline = f"{percent(best.baseline)} of tries succeed without the release."
    return CriterionAnswer(
        heading, question, proved, measured, baseline, *attack_status(best, found.holdout_rows is not None)
    )


def _measured(result: ReleaseAttackResult) -> str:
    said = f"{percent(result.rate)} on people of the table"
    return f"{said}." if result.control is None else f"{said}, {percent(result.control)} on people who are not in it."


def attack_status(result: ReleaseAttackResult, holdout: bool = True) -> tuple[str, str]:
    """Say how an attack stands, and the word for its colour."""
    if result.refutes_claim:
        return "breaks the guarantee", "far"
    if result.succeeds and result.control is None:
        said = "better than without the release" if result.criterion != "overfitting" else "nearer than it should be"
        return said, "middling"
    if result.succeeds:
        within = result.ceiling is not None and result.gain_low < 0.25
        return ("works, within the guarantee", "middling") if within else ("works", "far")
    return ("was not seen to work", "near") if holdout else ("not better than without the release", "near")
