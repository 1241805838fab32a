"""Assemble the impact assessment from a verified bundle and, if given, a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.bundle.description import PublicRelease, page_warnings
from sfumato.bundle.layout import statement_files
from sfumato.bundle.read import open_bundle
from sfumato.bundle.target_folder import require_free_path, save_private_file
from sfumato.bundle.verify import verify_bundle
from sfumato.bundle.verify_quality import read_statement
from sfumato.errors import BundleError
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.ledger import Ledger
from sfumato.report.blocks import Page
from sfumato.report.impact_assessment.blanks import blank_names, say
from sfumato.report.impact_assessment.processing import introduction, necessity, processing
from sfumato.report.impact_assessment.risks import guarantee_section, numbers_section, risks
from sfumato.report.impact_assessment.safeguards import LedgerSummary, safeguards, sign_off, sources_of_facts
from sfumato.report.page import to_html, to_markdown
from sfumato.report.texts.guarantee import three_sentences
from sfumato.reprs import ReprMixin

WHAT = "an impact assessment"
WHY = "is the custodian's paper and no part of the release"
ENDINGS = (".md", ".html", ".htm")


@dataclass(frozen=True, repr=False)
class ImpactAssessment(ReprMixin):
    """A form that is filled in as far as the release knows; :attr:`blanks` are left for people."""

    guide: Page
    subject: PublicRelease

    @property
    def blanks(self) -> tuple[str, ...]:
        """Names of what people fill in."""
        return blank_names()

    @property
    def three_sentences(self) -> tuple[str, str, str]:
        """The release in three sentences for the people concerned and for the public."""
        return three_sentences(self.subject.document)

    def to_markdown(self) -> str:
        """Return the form as Markdown, to be filled in with any editor."""
        return to_markdown(self.guide)

    def to_html(self) -> str:
        """Return the form as a page, to be printed."""
        return to_html(self.guide, self.subject.document.versions["sfumato"])

    def save(self, path: str | Path) -> Path:
        """Write the form, by the file's ending as Markdown or as a page, readable by its owner alone."""
        place = output_path(path)
        return save_private_file(place, self.to_markdown() if place.suffix == ".md" else self.to_html())

    def _line(self) -> str:
        return f"{self.guide.title}, {len(self.blanks)} blanks"

    def _lines(self) -> list[tuple[str, str]]:
        return [("section", section.title) for section in self.guide.sections]


def output_path(path: str | Path) -> Path:
    """Return where a form goes; refuse an ending that says nothing, a place that is taken, and one in a bundle."""
    if Path(path).suffix not in ENDINGS:
        raise BundleError(
            f"{str(path)!r} does not say how it is to be written",
            next_step=f"give a name that ends in {' or '.join(ENDINGS[:2])}",
        )
    return require_free_path(path, WHAT, WHY)


def dpia(bundle: str | Path, ledger: Ledger | str | Path | None = None) -> ImpactAssessment:
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
    opened = open_bundle(bundle)
    beside = [read_statement(path).guarantee for path in statement_files(opened.folder)]
    return fill_in(PublicRelease(opened.document, opened.schema), checked.verdict, book, beside[-1] if beside else None)


def fill_in(
    subject: PublicRelease, verified: str, ledger: Ledger | None, with_statements: Guarantee | None = None
) -> ImpactAssessment:
    """Return the form of a release that was verified; the last quality statement promises for all that lies there."""
    known = None if ledger is None else LedgerSummary.of(ledger, subject.document.table)
    sections = (
        introduction(subject, verified),
        processing(subject),
        necessity(subject),
        sources_of_facts(subject),
        guarantee_section(subject, with_statements),
        numbers_section(subject, _together(subject, ledger, known)),
        risks(subject),
        safeguards(subject, known),
        sign_off(),
    )
    document, title = subject.document, f"Impact assessment: {subject.document.table}"
    stamp = f" ({document.randomness.stamp})" if document.randomness.stamp else ""
    page = Page(
        title,
        say("lead", day=document.created_at[:10]),
        page_warnings(subject),
        sections,
        kicker="Sfumato release, impact assessment",
        footer=say("footer", fingerprint=document.fingerprint),
        tab=f"{title}{stamp}",
    )
    return ImpactAssessment(page, subject)


def _together(subject: PublicRelease, ledger: Ledger | None, known: LedgerSummary | None) -> PrivacyCurve | None:
    """Return the curve of all formal releases of the table, where there are others beside this one."""
    if ledger is None or known is None or not subject.document.guarantee.formal:
        return None
    formal = [entry for entry in known.entries if entry.event.is_formal]
    return ledger.curve(subject.document.table) if len(formal) > len(subject.document.events) else None
