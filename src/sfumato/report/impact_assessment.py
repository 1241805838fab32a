"""The form of a data protection impact assessment, filled in from a verified bundle and, if given, a ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from sfumato.bundle.description import PublicRelease, budget_text, citation, cost_statement
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import statement_files
from sfumato.bundle.read import open_bundle
from sfumato.bundle.target_folder import require_free_path, save_private_file
from sfumato.bundle.verify import verify_bundle
from sfumato.bundle.verify_generated import read_statement
from sfumato.errors import BundleError
from sfumato.formatting import capitalize_first, list_names
from sfumato.privacy.accounting.guarantee import Guarantee, one_unit
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.exact import at_least, round_up, to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.account import Account, Entry, Outcome
from sfumato.report.blocks import Block, BulletList, Page, Paragraphs, Section, TableBlock
from sfumato.report.page import to_html, to_markdown
from sfumato.report.privacy_criteria import hazard_points, questions
from sfumato.report.privacy_criteria import say as nist
from sfumato.report.readme_page import page_for_people
from sfumato.report.texts import Texts
from sfumato.report.texts.guarantee import guarantee_text, public_identifiers, three_sentences
from sfumato.report.texts.provenance import provenance_card
from sfumato.report.texts.summary import explanation, headline, quality_lines, released_columns, uses_text
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema

WHAT = "an impact assessment"
WHY = "is the custodian's paper and no part of the release"
ENDINGS = (".md", ".html", ".htm")
DOTS = "...................."
say = Texts("impact_assessment")
BASELINES, FALSE_ALARMS = (0.01, 0.1, 0.5), (0.01, 0.05)


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
    document, schema = subject.document, subject.schema
    known = None if ledger is None else LedgerSummary.of(ledger, document.table)
    together = _together(subject, ledger, known)
    sections = (
        Section("about", "This form", tuple(_introduction(subject, verified))),
        Section("processing", "Description: Art. 35(7)(a)", tuple(_processing(subject))),
        Section("necessity", "Necessity: Art. 35(7)(b)", tuple(_necessity(subject))),
        Section("facts", "Facts", tuple(_sources_of_facts(schema))),
        Section("guarantee", "Promise", tuple(_guarantee(document, with_statements))),
        Section("numbers", "Numbers", tuple(_numbers(document.guarantee, together))),
        Section("risks", "Risks: Art. 35(7)(c)", tuple(_risks(subject))),
        Section("measures", "Measures: Art. 35(7)(d)", tuple(_measures(subject, known))),
        Section("sign", "Signatures", (Paragraphs((say("signing"),)), BulletList(dotted_lines("signatures")))),
    )
    title, lead = f"Impact assessment: {document.table}", say("lead", day=document.created_at[:10])
    footer = say("footer", fingerprint=document.fingerprint)
    page = page_for_people(subject, title, lead, sections, "Sfumato release, impact assessment", footer)
    return ImpactAssessment(page, subject)


def _together(subject: PublicRelease, ledger: Ledger | None, known: LedgerSummary | None) -> PrivacyCurve | None:
    """Return the curve of all formal releases of the table, where there are others beside this one."""
    if ledger is None or known is None or not subject.document.guarantee.formal:
        return None
    formal = [entry for entry in known.entries if entry.event.is_formal]
    return ledger.curve(subject.document.table) if len(formal) > len(subject.document.events) else None


def blank_names() -> tuple[str, ...]:
    """Return what people fill in, in the order of the form."""
    return tuple(name for group in say.table("blanks").values() for name in group)


def dotted_lines(group: str) -> tuple[str, ...]:
    """Return the lines of one group of blanks.

    >>> dotted_lines("measures")[-1]
    'Next review: .................... (date, or what will start one)'
    """
    return tuple(f"{name}: {DOTS} ({asks})" for name, asks in say.table("blanks")[group].items())


def to_fill_in(group: str) -> tuple[Paragraphs, BulletList]:
    """Return one group of blanks for a section."""
    return Paragraphs((say("to_fill"),)), BulletList(dotted_lines(group))


def _introduction(subject: PublicRelease, verified: str) -> Iterator[Block]:
    """Yield what the form is, of which release, and that the release was checked."""
    yield Paragraphs((say("form"), say("no_advice")))
    yield BulletList((f"The release: {citation(subject)}", f"sfumato verify: {verified}."))


def _processing(subject: PublicRelease) -> Iterator[Block]:
    """Yield what was done with the rows."""
    schema, document = subject.schema, subject.document
    own = (f"About the table, in the custodian's words: {schema.description}",) if schema.description else ()
    yield Paragraphs((headline(document), *explanation(document, schema), *own))
    yield BulletList(tuple(_facts(subject)))
    yield from to_fill_in("processing")
    if subject.columns:
        header = ("released column", "what it is", "kind", "role")
        rows = ((c.name, c.description or "", c.kind, c.role or "") for c in subject.columns)
        yield TableBlock(header, tuple(rows))


def _facts(subject: PublicRelease) -> Iterator[str]:
    schema, out = subject.schema, released_columns(subject.document)
    yield f"What is protected: {_unit(subject.document.guarantee)}."
    if schema.person is not None:
        most = "one row" if schema.rows_per_person == 1 else f"{schema.rows_per_person} rows"
        yield say("persons", person=schema.person, most=most)
    yield _rows(subject)
    withheld = [name for name in schema.names if name not in out]
    yield say("withheld", names=list_names(withheld)) if withheld else say("nothing_withheld")
    if subject.kept:
        yield say("kept", names=list_names(subject.kept))
    if schema.contact:
        yield f"Contact that stands in the bundle: {schema.contact}"
    if schema.licence:
        yield f"Terms that stand in the bundle: {schema.licence}"


def _rows(subject: PublicRelease) -> str:
    if subject.schema.rows:
        return say("public_rows", rows=subject.schema.rows)
    return say("hidden_rows" if subject.document.guarantee.formal else "unknown_rows")


def _unit(guarantee: Guarantee) -> str:
    return (
        f"{guarantee.change()}"
        if guarantee.formal
        else f"nothing provably; the unit would be {one_unit(guarantee.unit)}"
    )


def _necessity(subject: PublicRelease) -> Iterator[Block]:
    """Leave necessity to people, beside what the release is good for."""
    yield from to_fill_in("necessity")
    quality = quality_lines(subject.forecast)
    if quality is None:
        yield Paragraphs((Texts("release")("verdict.unknown"),))
    else:
        expected = f"What may be expected of the release, from public facts: {quality.verdict} {quality.basis}"
        yield Paragraphs((expected,))
        yield TableBlock(("expected", "of what"), tuple((line.number, line.words) for line in quality.lines))
    uses = uses_text(subject.document, subject.forecast)
    yield TableBlock(
        ("what it may be used for", "what it is not for"), tuple(zip_longest(uses.good, uses.bad, fillvalue=""))
    )
    if uses.note and quality is not None:
        yield Paragraphs((uses.note,))


def _guarantee(document: ReleaseDocument, with_statements: Guarantee | None) -> Iterator[Block]:
    """Yield what is promised, word for word; with quality statements beside the release, what all of it promises."""
    if with_statements is not None:
        yield Paragraphs((say("with_statements"), with_statements.headline()))
    promise = guarantee_text(document)
    yield Paragraphs((f"{promise.heading}. {promise.numbers}",))
    if document.guarantee.formal and document.randomness.mode == "seeded":
        yield Paragraphs(promise.sentences[:2])
    yield BulletList(tuple(document.guarantee.statement().splitlines()))
    yield Paragraphs(("In three sentences, for the people concerned and for the public:", *three_sentences(document)))


def _numbers(guarantee: Guarantee, together: PrivacyCurve | None) -> Iterator[Block]:
    """Yield the curve of the release, and of all releases where a ledger was given."""
    if not guarantee.formal:
        yield Paragraphs((say("no_curve"),))
        return
    pair = PrivacyCurve.of_pair(round_up(guarantee.exact_epsilon), min(1.0, round_up(guarantee.exact_delta)))
    all_releases = () if together is None else (together,)
    header = ("question", "proved", "by the stated pair alone", *("all releases" for _ in all_releases))
    yield Paragraphs((say("curve"),))
    yield TableBlock.of_numbers(header, tuple(_bounds((guarantee.curve, pair, *all_releases))))
    seeded = guarantee.randomness == "seeded"
    yield Paragraphs((*(say("as_if"),) * seeded, say("averages"), *(say("together") for _ in all_releases)))


def _bounds(curves: tuple[PrivacyCurve, ...]) -> Iterator[tuple[str, ...]]:
    yield "attacker's advantage (hits less false alarms), at most", *(_up(c.advantage, 1, 1000) for c in curves)
    for rate in FALSE_ALARMS:
        asked = f"hits in 1,000, of an attacker with {1000 * rate:g} false alarms in 1,000, at most"
        yield asked, *(_up(c.hits(rate), 1000) for c in curves)
    for chance in BASELINES:
        verb = "is" if chance == 0.01 else "are"
        asked = f"right guesses in 100, where {100 * chance:g} {verb} right without the data, at most"
        yield asked, *(_up(c.success(chance), 100) for c in curves)


def _up(value: float, base: int, digits: int = 1) -> str:
    """Return how many of so many, rounded up.

    >>> _up(0.0731, 1, 1000), _up(0.122, 100)
    ('0.074', '13')
    """
    return f"{math.ceil(to_fraction(value) * base * digits) / digits:g}"


def _risks(subject: PublicRelease) -> Iterator[Block]:
    """Yield what the promise leaves open, each with room for a judgement."""
    document, schema = subject.document, subject.schema
    yield Paragraphs(("Who may be identified, as far as the guarantee tells:",))
    yield BulletList(tuple(public_identifiers(document, schema)))
    yield Paragraphs(("The three questions of Opinion 05/2014 of the Article 29 Working Party (WP 216):",))
    proved = _bound(subject)
    yield TableBlock(
        ("criterion", "question", "what is proved", "your answer"),
        tuple((capitalize_first(name), question, proved, DOTS) for name, question in questions().items()),
    )
    yield Paragraphs(("Hazards after NIST SP 800-226, as far as the release knows them:",))
    known = [(point.name, point.standing, point.answer, DOTS) for point in hazard_points(document, schema)]
    known += [("People who are related", nist("open"), say("related"), DOTS)]
    known += [("Facts about populations", nist("open"), say("population"), DOTS)]
    yield TableBlock(("risk", "how it stands", "what the release says", "likelihood and severity"), tuple(known))
    yield from to_fill_in("risks")


def _bound(subject: PublicRelease) -> str:
    from sfumato.privacy.accounting.strength import attack_frequency_text

    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return nist("wp_216.unproved")
    frequencies = attack_frequency_text(guarantee.curve)
    seeded = " Not for whoever knows the seed." if guarantee.randomness == "seeded" else ""
    return f"{capitalize_first(frequencies)}, for every attack on one {guarantee.unit.partition(' (')[0]}.{seeded}"


class LedgerSummary(NamedTuple):
    """What a ledger says of one table."""

    account: Account
    entries: tuple[Entry, ...]
    outcomes: dict[int, Outcome]

    @classmethod
    def of(cls, ledger: Ledger, table: str) -> LedgerSummary:
        """Read the account of a table."""
        return cls(ledger.account(table), ledger.history(table), ledger.outcomes(table))


def _sources_of_facts(schema: Schema) -> Iterator[Block]:
    """Yield who vouched for the facts of the schema."""
    card = provenance_card(schema)
    yield Paragraphs(card.sentences)
    yield BulletList(tuple(f"{group.heading}. {' '.join(group.lines)}" for group in card.groups))
    if card.rows:
        yield TableBlock(("column or rule", "facts", "where they come from"), card.rows)


def _measures(subject: PublicRelease, book: LedgerSummary | None) -> Iterator[Block]:
    """Yield what was done, as far as the release and the ledger know it."""
    document, schema = subject.document, subject.schema
    identifiers = ", ".join(schema.with_role("identifier"))
    measures = [nist("integers")] * document.method.formal + [say("sealed")]
    measures += [say("identifiers", names=identifiers)] * bool(identifiers)
    yield BulletList((*measures, *cost_statement(document).sentences))
    if book is None:
        yield Paragraphs((say("no_ledger"),))
    else:
        yield from _ledger(book)
    yield from to_fill_in("measures")


def _ledger(book: LedgerSummary) -> Iterator[Block]:
    account = book.account
    spent = budget_text(account.total_epsilon, account.spent_delta)
    yield Paragraphs(
        (
            say(
                "ledger",
                name=account.name,
                cap=budget_text(account.cap_epsilon, account.cap_delta),
                composition=account.composition,
                spent=spent,
                left=at_least(account.left_epsilon),
                exposures=account.exposures,
            ),
        )
    )
    lines = tuple(_line(entry, book.outcomes.get(entry.sequence)) for entry in book.entries)
    yield TableBlock(("entry", "recorded", "method", "cost", "what came of it"), lines, (0,))


def _line(entry: Entry, outcome: Outcome | None) -> tuple[str, ...]:
    """Return one entry without its note: notes are the custodian's own."""
    event = entry.event
    price = f"epsilon {budget_text(event.epsilon, event.delta)}" if event.epsilon else "none: an exposure"
    return str(entry.sequence), entry.recorded_at[:10], event.method, price, str(outcome or say("no_bundle"))
