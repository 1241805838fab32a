"""Check the seal, guarantee and ledger record of quality statements beside a release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfumato.bounded_reads import bounded_bytes
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, file_record, statement_files
from sfumato.bundle.quality_statement import QualityStatement, combined_guarantee, events_of
from sfumato.bundle.verify_generated import age_of
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import format_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema


def read_statement(path: Path) -> QualityStatement:
    """Read a statement; raises where it cannot be read."""
    return QualityStatement.from_json(bounded_bytes(path).decode())


def statement_problems(path: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Yield what does not hold of a statement, from public files alone."""
    statement, text = read_statement(path), bounded_bytes(path).decode()
    if not statement.is_intact(text):
        yield f"{path.name} was changed after it was written: its seal does not hold"
    here = (document.seal, file_record(path.with_name(DOCUMENT)).sha256)
    if (statement.about.seal, statement.about.sha256) != here:
        yield f"{path.name} is about another release than the {DOCUMENT} beside it"
    if document.method.makes != "rows":
        yield f"{path.name} states the quality of rows, and the release has none"
        return
    yield from _guarantee_problems(path, statement, document, schema)
    if age_of(statement.version) == "later":
        yield f"{path.name} says that sfumato {statement.version} made it: verify it with that version"


def _guarantee_problems(
    path: Path, statement: QualityStatement, document: ReleaseDocument, schema: Schema
) -> Iterator[str]:
    """Compose the guarantee again, from the release and the statements that lie before this one."""
    name, guarantee = path.name, statement.guarantee
    before = statement_files(path.parent)
    released, earlier = (document.guarantee, document.events), events_of(before[: before.index(path)])
    recorded = statement.recorded is not None
    expected = combined_guarantee(statement.events, schema, released, earlier, recorded, allow_weak=True)
    # in which words a guarantee rests on what, another version may say otherwise
    facts = (
        Guarantee.model_fields
        if age_of(statement.version) == "this"
        else ("kind", "epsilon", "delta", "unit", "beside")
    )
    if other := [fact for fact in facts if getattr(guarantee, fact) != getattr(expected, fact)]:
        yield f"{name}: its guarantee is not that of the release and its statements together: see {', '.join(other)}"
    for problem in filter(None, map(understated_cost, statement.events)):
        yield f"{name}: {problem}"
    if statement.table != schema.name:
        yield f"{name}: its table is not that of the release"
    if statement.recorded is not None:
        yield from (f"{name}: {problem}" for problem in statement.recorded.problems(statement.events))
    stamp, seeded = Randomness.of(statement.randomness.seed).stamp, statement.randomness.mode == "seeded"
    if statement.randomness.stamp != stamp or seeded != (stamp is not None):
        yield f"{name}: the stamp and the mode of randomness disagree"


def wording_problems(name: str, statement: QualityStatement) -> Iterator[str]:
    """Word the guarantee of a statement again and compare."""
    if statement.statement != statement.guarantee.statement():
        yield f"{name}: its statement in plain words is not that of its guarantee"


def statement_summary(path: Path) -> str:
    """Return in a line what a statement says."""
    statement = read_statement(path)
    shares = "; ".join(f"{one.name} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for one in statement.measures)
    own, whole = (
        format_fraction(basic_composition(statement.events)[0]),
        format_fraction(statement.guarantee.exact_epsilon),
    )
    return f"{path.name} states, at epsilon {own} (together with what it lies beside, {whole}): {shares}"
