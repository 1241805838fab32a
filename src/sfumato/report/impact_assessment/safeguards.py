"""Safeguards, sources of facts and signatures: Article 35(7)(d) GDPR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sfumato.bundle.description import PublicRelease, budget_text, cost_statement
from sfumato.privacy.exact import at_least
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.account import Account, Entry, Outcome
from sfumato.report.attack_page.nist_800_226 import say as nist
from sfumato.report.blocks import Block, BulletList, Paragraphs, Section, TableBlock
from sfumato.report.impact_assessment.blanks import dotted_lines, say, to_fill_in
from sfumato.report.texts.provenance import provenance_card


class LedgerSummary(NamedTuple):
    """What a ledger says of one table."""

    account: Account
    entries: tuple[Entry, ...]
    outcomes: dict[int, Outcome]

    @classmethod
    def of(cls, ledger: Ledger, table: str) -> LedgerSummary:
        """Read the account of a table."""
        return cls(ledger.account(table), ledger.history(table), ledger.outcomes(table))


def sources_of_facts(subject: PublicRelease) -> Section:
    """Say who vouched for the facts of the schema."""
    card = provenance_card(subject.schema)
    blocks: list[Block] = [Paragraphs(card.sentences)]
    blocks += [BulletList(tuple(f"{group.heading}. {' '.join(group.lines)}" for group in card.groups))]
    blocks += [TableBlock(("column or rule", "facts", "where they come from"), card.rows)] if card.rows else []
    return Section("facts", "Facts", tuple(blocks))


def safeguards(subject: PublicRelease, book: LedgerSummary | None) -> Section:
    """Say what was done, as far as the release and the ledger know it."""
    return Section("measures", "Measures: Art. 35(7)(d)", tuple(_measures(subject, book)))


def _measures(subject: PublicRelease, book: LedgerSummary | None) -> Iterator[Block]:
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
    spent = budget_text(account.tight_epsilon or account.spent_epsilon, account.spent_delta)
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
    yield TableBlock(("entry", "recorded", "method", "cost", "what came of it"), tuple(map(_line, _paired(book))), (0,))


def _paired(book: LedgerSummary) -> Iterator[tuple[Entry, Outcome | None]]:
    return ((entry, book.outcomes.get(entry.sequence)) for entry in book.entries)


def _line(pair: tuple[Entry, Outcome | None]) -> tuple[str, ...]:
    """Return one entry without its note: notes are the custodian's own."""
    entry, outcome = pair
    event = entry.event
    price = f"epsilon {budget_text(event.epsilon, event.delta)}" if event.epsilon else "none: an exposure"
    return str(entry.sequence), entry.recorded_at[:10], event.method, price, str(outcome or say("no_bundle"))


def sign_off() -> Section:
    """Leave room for advice, decision and signatures."""
    return Section("sign", "Signatures", (Paragraphs((say("signing"),)), BulletList(dotted_lines("signatures"))))
