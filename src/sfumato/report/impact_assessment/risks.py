"""Risks to data subjects, in sentences and frequencies: Article 35(7)(c) GDPR."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease
from sfumato.formatting import capitalize_first
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.exact import round_up, to_fraction
from sfumato.report.attack_page.article29_criteria import questions
from sfumato.report.attack_page.nist_800_226 import hazard_points
from sfumato.report.attack_page.nist_800_226 import say as nist
from sfumato.report.blocks import Block, BulletList, Paragraphs, Section, TableBlock
from sfumato.report.impact_assessment.blanks import DOTS, say, to_fill_in
from sfumato.report.texts.guarantee import guarantee_text, public_identifiers, three_sentences

BASELINES, FALSE_ALARMS = (0.01, 0.1, 0.5), (0.01, 0.05)


def guarantee_section(subject: PublicRelease, with_statements: Guarantee | None = None) -> Section:
    """Say what is promised, word for word; with quality statements beside the release, what all of it promises."""
    whole = () if with_statements is None else (Paragraphs((say("with_statements"), with_statements.headline())),)
    return Section("guarantee", "Promise", (*whole, *_guarantee(subject)))


def _guarantee(subject: PublicRelease) -> Iterator[Block]:
    document = subject.document
    promise = guarantee_text(document)
    yield Paragraphs((f"{promise.heading}. {promise.numbers}",))
    if document.guarantee.formal and document.randomness.mode == "seeded":
        yield Paragraphs(promise.sentences[:2])
    yield BulletList(tuple(document.guarantee.statement().splitlines()))
    yield Paragraphs(
        ("In three sentences, for the people concerned and for the public:", *three_sentences(subject.document))
    )


def numbers_section(subject: PublicRelease, together: PrivacyCurve | None) -> Section:
    """Show the curve of the release, and of all releases where a ledger was given."""
    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return Section("numbers", "Numbers", (Paragraphs((say("no_curve"),)),))
    pair = PrivacyCurve.of_pair(round_up(guarantee.exact_epsilon), min(1.0, round_up(guarantee.exact_delta)))
    curves = (guarantee.curve, pair, *(() if together is None else (together,)))
    header = ("question", "proved", "by the stated pair alone", *(() if together is None else ("all releases",)))
    grid = TableBlock(header, tuple(_numbers(curves)), tuple(range(1, len(header))))
    seeded = guarantee.randomness == "seeded"
    notes = (*(say("as_if"),) * seeded, say("averages"), *(() if together is None else (say("together"),)))
    return Section("numbers", "Numbers", (Paragraphs((say("curve"),)), grid, Paragraphs(notes)))


def _numbers(curves: tuple[PrivacyCurve, ...]) -> Iterator[tuple[str, ...]]:
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


def risks(subject: PublicRelease) -> Section:
    """List what the promise leaves open, each with room for a judgement."""
    return Section("risks", "Risks: Art. 35(7)(c)", tuple(_risks(subject)))


def _risks(subject: PublicRelease) -> Iterator[Block]:
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
