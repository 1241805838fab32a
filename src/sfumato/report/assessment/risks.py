"""What is promised, in words, frequencies and numbers, and what is not: Article 35(7)(c)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.privacy.accounting.curve import Curve
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import exact, round_up
from sfumato.report.assessment.blanks import DOTS, RISKS, TO_FILL, lines
from sfumato.report.attacked.criteria import QUESTIONS, UNPROVED
from sfumato.report.attacked.nist import hazards
from sfumato.report.users.parts import Block, Grid, Points, Prose, Section
from sfumato.report.users.subject import Subject
from sfumato.report.words.promise import KNOWN_SEED, OTHERWISE, identified, promise
from sfumato.report.words.spoken import three_sentences

CURVE = (
    "The curve of the release: ceilings that are proved for every attack. Numbers are rounded up. Beside them stands "
    "what follows from the stated epsilon and delta alone."
)
AVERAGES = "These are averages over attempts. What one unlucky outcome can show is bounded by epsilon and delta alone."
AS_IF = "They hold for noise that nobody can repeat. Here the noise came from a seed, and against its owner none holds."
WITH_STATEMENTS = "A quality statement lies beside the release. What all of it promises together:"
NO_CURVE = "There is no curve: the release has no formal guarantee, so no number bounds what an attacker learns."
TOGETHER = (
    "The last column is for all releases of the table that the ledger holds, together; it is proved if the parameters "
    "of all of them were fixed before the first was seen. Otherwise the sums of the account count."
)
RELATED = (
    "What the rows of others tell about somebody: relatives, a household, people at the same place. The promise is "
    "about one row or person at a time; what several of them give away together is protected less, and what all of "
    "them share is not hidden."
)
POPULATION = (
    "What is true of a population: that such people earn more, or fall ill more often, may be learned and used for or "
    "against anybody, whether they are in the table or not."
)
BASELINES, FALSE_ALARMS = (0.01, 0.1, 0.5), (0.01, 0.05)


def guarantee_told(subject: Subject, with_statements: Guarantee | None = None) -> Section:
    """Say what is promised, word for word; with quality statements beside the release, what all of it promises."""
    whole = () if with_statements is None else (Prose((WITH_STATEMENTS, with_statements.headline())),)
    return Section("guarantee", "Promise", (*whole, *_guarantee(subject)))


def _guarantee(subject: Subject) -> Iterator[Block]:
    document = subject.document
    said = promise(document)
    yield Prose((f"{said.heading}. {said.numbers}",))
    if document.guarantee.formal and document.randomness.mode == "seeded":
        yield Prose((KNOWN_SEED, OTHERWISE))
    yield Points(tuple(document.guarantee.statement().splitlines()))
    yield Prose(
        ("In three sentences, for the people concerned and for the public:", *three_sentences(subject.document))
    )


def numbers_told(subject: Subject, together: Curve | None) -> Section:
    """Show the curve of the release, and of all releases where a ledger was given."""
    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return Section("numbers", "Numbers", (Prose((NO_CURVE,)),))
    pair = Curve.of_pair(round_up(guarantee.exact_epsilon), min(1.0, round_up(guarantee.exact_delta)))
    curves = (guarantee.curve, pair, *(() if together is None else (together,)))
    header = ("question", "proved", "by the stated pair alone", *(() if together is None else ("all releases",)))
    grid = Grid(header, tuple(_numbers(curves)), tuple(range(1, len(header))))
    seeded = guarantee.randomness == "seeded"
    notes = (*(AS_IF,) * seeded, AVERAGES, *(() if together is None else (TOGETHER,)))
    return Section("numbers", "Numbers", (Prose((CURVE,)), grid, Prose(notes)))


def _numbers(curves: tuple[Curve, ...]) -> Iterator[tuple[str, ...]]:
    yield "attacker's advantage (hits less false alarms), at most", *(_up(c.advantage, 1, 1000) for c in curves)
    for rate in FALSE_ALARMS:
        asked = f"hits in 1,000, of an attacker with {1000 * rate:g} false alarms in 1,000, at most"
        yield asked, *(_up(c.hits(rate), 1000) for c in curves)
    for chance in BASELINES:
        asked = f"of 100 attempts of which {100 * chance:g} would succeed by chance, successes, at most"
        yield asked, *(_up(c.success(chance), 100) for c in curves)


def _up(value: float, base: int, digits: int = 1) -> str:
    """Return how many of so many, rounded up.

    >>> _up(0.0731, 1, 1000), _up(0.122, 100)
    ('0.074', '13')
    """
    return f"{math.ceil(exact(value) * base * digits) / digits:g}"


def risks(subject: Subject) -> Section:
    """List what the promise leaves open, each with room for a judgement."""
    return Section("risks", "Risks: Art. 35(7)(c)", tuple(_risks(subject)))


def _risks(subject: Subject) -> Iterator[Block]:
    document, schema = subject.document, subject.schema
    yield Prose(("Who may be identified, as far as the guarantee tells:",))
    yield Points(tuple(identified(document, schema)))
    yield Prose(("The three questions of Opinion 05/2014 of the Article 29 Working Party (WP 216):",))
    proved = _bound(subject)
    yield Grid(
        ("criterion", "question", "what is proved", "your answer"),
        tuple((name, question, proved, DOTS) for name, question in QUESTIONS.values()),
    )
    yield Prose(("Hazards after NIST SP 800-226, as far as the release knows them:",))
    known = [(point.name, point.standing, point.answer, DOTS) for point in hazards(document, schema)]
    known += [("People who are related", "open: for the custodian", RELATED, DOTS)]
    known += [("Facts about populations", "open: for the custodian", POPULATION, DOTS)]
    yield Grid(("risk", "how it stands", "what the release says", "likelihood and severity"), tuple(known))
    yield Prose((TO_FILL,))
    yield Points(lines(RISKS))


def _bound(subject: Subject) -> str:
    from sfumato.privacy.accounting.frequencies import successes

    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return UNPROVED
    said = successes(guarantee.curve)
    seeded = " Not for whoever knows the seed." if guarantee.randomness == "seeded" else ""
    return f"{said[0].upper()}{said[1:]}, for every attack on one {guarantee.unit.partition(' (')[0]}.{seeded}"
