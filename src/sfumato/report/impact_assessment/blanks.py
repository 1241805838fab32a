"""Named blanks of the form that only people can fill in."""

from __future__ import annotations

from typing import NamedTuple

DOTS = "...................."
TO_FILL = "To be filled in by people:"


class Blank(NamedTuple):
    """One thing to fill in: its name, and what is asked."""

    name: str
    asks: str

    def __str__(self) -> str:
        """Return the line of the form.

        >>> str(Blank("Purpose", "what for?"))
        'Purpose: .................... (what for?)'
        """
        return f"{self.name}: {DOTS} ({self.asks})"


CONTROLLER = Blank("Controller", "who decides on purposes and means; name and address")
PURPOSE = Blank("Purpose", "what the table was collected for, and what the release is for")
PEOPLE = Blank("People concerned", "who they are and about how many; children, patients or employees among them?")
COLLECTED = Blank("Where the rows come from", "who collected them, when, and what the people were told")
RECIPIENTS = Blank("Recipients", "who gets the release, under which terms, and whether anybody may have it")
PROCESSORS = Blank("Others who handle the rows", "processors, hosting, transfers to other countries")
PROCESSING = (CONTROLLER, PURPOSE, PEOPLE, COLLECTED, RECIPIENTS, PROCESSORS)

LEGAL_BASIS = Blank("Legal basis", "of making the release from the rows, with the article")
NEED = Blank("Why a release is needed", "and why the purpose cannot be reached without one")
LESS = Blank("Why not less", "fewer columns, counts instead of rows, a smaller epsilon, fewer recipients")
RETENTION = Blank("Retention", "how long the rows are kept after the release, and who deletes them")
RIGHTS = Blank("Rights of the people concerned", "information, access, objection: how they are served")
VIEWS = Blank("Views of the people concerned", "whom you asked and what they said, or why nobody was asked")
NECESSITY = (LEGAL_BASIS, NEED, LESS, RETENTION, RIGHTS, VIEWS)

WHY_EPSILON = Blank("Why this epsilon", "who chose it, by which reasoning, and whether the rows were looked at for it")
SEVERITY = Blank("Severity", "what could happen to somebody of whom something is learned wrongly or rightly")
ATTACKS = Blank("Measured attacks", "result of 'sfumato attack', for the custodian's eyes; or why none was run")
JUDGEMENT = Blank("Judgement of the residual risk", "low, medium or high, by whom, and why")
RISKS = (WHY_EPSILON, SEVERITY, ATTACKS, JUDGEMENT)

ACCESS = Blank("Access to the rows and to the ledger", "who has it, and how it is controlled and logged")
TERMS = Blank("Terms for users of the release", "what they agreed to, such as trying to identify nobody")
INCIDENT = Blank("If a promise turns out to be broken", "who is told, by whom, and how the release is withdrawn")
REVIEW = Blank("Next review", "date, or what will start one")
MEASURES = (ACCESS, TERMS, INCIDENT, REVIEW)

ADVICE = Blank("Advice of the data protection officer", "in words")
FOLLOWED = Blank("Whether it was followed", "and if not, why not")
CONSULTATION = Blank("Prior consultation", "whether the supervisory authority must be asked, and the answer")
DECISION = Blank("Decision", "release, release with conditions, or do not release")
OFFICER = Blank("Data protection officer", "name, date, signature")
CUSTODIAN = Blank("Custodian", "name, date, signature")
CONTROLLER_SIGNS = Blank("For the controller", "name, date, signature")
SIGNATURES = (ADVICE, FOLLOWED, CONSULTATION, DECISION, OFFICER, CUSTODIAN, CONTROLLER_SIGNS)


def dotted_lines(some: tuple[Blank, ...]) -> tuple[str, ...]:
    """Return the lines of several blanks."""
    return tuple(str(blank) for blank in some)
