"""The form as a whole: sections in the order of the Regulation, from a bundle that verifies and, if given, a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import BundleError
from sfumato.privacy.accounting.curve import Curve
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.ledger import Ledger
from sfumato.quality.saved import statements
from sfumato.report.assessment import blanks
from sfumato.report.assessment.described import about_the_form, necessity, processing
from sfumato.report.assessment.measures import Book, facts, measures, sign_off
from sfumato.report.assessment.risks import guarantee_told, numbers_told, risks
from sfumato.report.opened import opened_bundle
from sfumato.report.page import render
from sfumato.report.private_page import free_place, save_private
from sfumato.report.users.about import top
from sfumato.report.users.markdown import markdown
from sfumato.report.users.parts import Guide
from sfumato.report.users.subject import Subject
from sfumato.report.verify import verify_bundle
from sfumato.report.verify_quality import statement_of
from sfumato.report.words.spoken import three_sentences
from sfumato.shown import Shown

WHAT = "an impact assessment"
WHY = "is the custodian's paper and no part of the release"
ENDINGS = (".md", ".html", ".htm")


@dataclass(frozen=True, repr=False)
class Assessment(Shown):
    """A form that is filled in as far as the release knows; :attr:`blanks` are left for people."""

    guide: Guide
    subject: Subject

    @property
    def blanks(self) -> tuple[str, ...]:
        """Names of what people fill in."""
        groups = (blanks.PROCESSING, blanks.NECESSITY, blanks.RISKS, blanks.MEASURES, blanks.SIGNATURES)
        return tuple(blank.name for group in groups for blank in group)

    @property
    def three_sentences(self) -> tuple[str, str, str]:
        """The release in three sentences for the people concerned and for the public."""
        return three_sentences(self.subject.document)

    def to_markdown(self) -> str:
        """Return the form as Markdown, to be filled in with any editor."""
        return markdown(self.guide)

    def to_html(self) -> str:
        """Return the form as a page, to be printed."""
        version, document = self.subject.document.versions["sfumato"], self.subject.document
        return render(
            "assessment.html.j2", version=version, document=document, guide=self.guide, banners=self.guide.banners
        )

    def save(self, path: str | Path) -> Path:
        """Write the form, by the file's ending as Markdown or as a page, readable by its owner alone."""
        place = place_for(path)
        return save_private(place, self.to_markdown() if place.suffix == ".md" else self.to_html())

    def _line(self) -> str:
        return f"{self.guide.title}, {len(self.blanks)} blanks"

    def _lines(self) -> list[tuple[str, str]]:
        return [("section", section.title) for section in self.guide.sections]


def place_for(path: str | Path) -> Path:
    """Return where a form goes; refuse an ending that says nothing, a place that is taken, and one in a bundle."""
    if Path(path).suffix not in ENDINGS:
        raise BundleError(
            f"{str(path)!r} does not say how it is to be written",
            next_step=f"give a name that ends in {' or '.join(ENDINGS[:2])}",
        )
    return free_place(path, WHAT, WHY)


def dpia(bundle: str | Path, ledger: Ledger | str | Path | None = None) -> Assessment:
    """Fill in an impact assessment from a bundle and, where one is given, from the ledger that recorded it.

    The bundle is verified first: a form about files that do not hold what they say would be worth nothing. Nothing of
    the confidential table is read, and nothing is spent.
    """
    book = None if ledger is None else Ledger.of(ledger)
    checked = verify_bundle(bundle, book)
    if not checked:
        raise BundleError(
            f"{str(bundle)!r} does not verify", checked.problems, "find out why before anybody assesses this release"
        )
    opened = opened_bundle(bundle)
    beside = [statement_of(path).guarantee for path in statements(opened.folder)]
    return assess(Subject(opened.document, opened.schema), checked.verdict, book, beside[-1] if beside else None)


def assess(
    subject: Subject, verified: str, ledger: Ledger | None, with_statements: Guarantee | None = None
) -> Assessment:
    """Return the form of a release that was verified; the last quality statement promises for all that lies there."""
    known = None if ledger is None else Book.of(ledger, subject.document.table)
    sections = (
        about_the_form(subject, verified),
        processing(subject),
        necessity(subject),
        facts(subject),
        guarantee_told(subject, with_statements),
        numbers_told(subject, _together(subject, ledger, known)),
        risks(subject),
        measures(subject, known),
        sign_off(),
    )
    title = f"Impact assessment: {subject.document.table}"
    made = subject.document.created_at[:10]
    lead = f"For the custodian and the data protection officer, about the release of {made}."
    return Assessment(Guide(title, lead, top(subject), sections), subject)


def _together(subject: Subject, ledger: Ledger | None, known: Book | None) -> Curve | None:
    """Return the curve of all formal releases of the table, where there are others beside this one."""
    if ledger is None or known is None or not subject.document.guarantee.formal:
        return None
    formal = [entry for entry in known.entries if entry.event.is_formal]
    return ledger.curve(subject.document.table) if len(formal) > len(subject.document.events) else None
