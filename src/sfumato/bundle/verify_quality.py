"""Check the seal, guarantee and ledger record of quality statements beside a release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from sfumato.bounded_reads import bounded_bytes
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.quality_statement import QualityStatement, events_of, statement_files
from sfumato.bundle.verify_generated import age_of
from sfumato.bundle.write import DOCUMENT, file_record
from sfumato.evaluate.quality.noisy_metrics import metrics_of
from sfumato.evaluate.quality.questions import PublicFacts, Questions
from sfumato.evaluate.quality.result import statement_text
from sfumato.evaluate.quality.run import note_on
from sfumato.evaluate.quality.together import together
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.exact import format_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

CLOSE = 1e-5
"""How far a recomputed share may lie from the stated one: machines add up in different orders."""


def read_statement(path: Path) -> QualityStatement:
    """Read a statement; raises where it cannot be read."""
    return QualityStatement.from_json(bounded_bytes(path).decode())


def statement_problems(path: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Yield what does not hold of a statement, from public files alone."""
    said, text = read_statement(path), bounded_bytes(path).decode()
    if text != said.to_json() or said != said.sealed():
        yield f"{path.name} was changed after it was written: its seal does not hold"
    here = (document.seal, file_record(path.with_name(DOCUMENT)).sha256)
    if (said.about.seal, said.about.sha256) != here:
        yield f"{path.name} is about another release than the {DOCUMENT} beside it"
    if document.method.makes != "rows":
        yield f"{path.name} states the quality of rows, and the release has none"
        return
    yield from _guarantee_problems(path, said, document, schema)
    age = age_of(said.version)
    if age == "later":
        yield f"{path.name} says that sfumato {said.version} made it: verify it with that version"
    elif age == "this":
        yield from recomputed_problems(path, document, schema)


def _guarantee_problems(path: Path, said: QualityStatement, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Compose the guarantee again, from the release and the statements that lie before this one."""
    name, guarantee = path.name, said.guarantee
    before = statement_files(path.parent)
    released, earlier = (document.guarantee, document.events), events_of(before[: before.index(path)])
    recorded = said.recorded is not None
    expected = together(said.events, schema, released, earlier, recorded, allow_weak=True)
    # in which words a guarantee rests on what, another version may say otherwise
    facts = Guarantee.model_fields if age_of(said.version) == "this" else ("kind", "epsilon", "delta", "unit", "beside")
    if other := [fact for fact in facts if getattr(guarantee, fact) != getattr(expected, fact)]:
        yield f"{name}: its guarantee is not that of the release and its statements together: see {', '.join(other)}"
    for problem in filter(None, map(understated_cost, said.events)):
        yield f"{name}: {problem}"
    if said.table != schema.name or said.statement != guarantee.statement():
        yield f"{name}: its table or its statement in plain words is not that of its guarantee"
    if said.recorded is not None:
        yield from (f"{name}: {problem}" for problem in said.recorded.problems(said.events))
    stamp, seeded = Randomness.of(said.randomness.seed).stamp, said.randomness.mode == "seeded"
    if said.randomness.stamp != stamp or seeded != (stamp is not None):
        yield f"{name}: the stamp and the mode of randomness disagree"


def recomputed_problems(path: Path, document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Ask again from public facts: the same events must come out, and the same shares from the noisy numbers."""
    said = read_statement(path)
    rows = pq.ParquetFile(path.with_name(document.tables[0].parquet)).read()
    public = PublicFacts.of(rows, schema, said.target, said.correlations)
    if public.fingerprint != said.about.rows_sha256:
        yield f"{path.name} is about other rows than those of the release"
    questions = Questions(schema, public.target, basic_composition(said.events)[0], said.correlations)
    if said.events != (questions.event(said.randomness.mode, note_on(document.created_at)),):
        yield f"{path.name}: what it says that it asked is not what such a statement asks"
        return
    again, stated = metrics_of(questions, public, said.noisy, said.level), said.measures
    if [each.name for each in again] != [each.name for each in stated]:
        yield f"{path.name} does not state what it measured"
    for one, other in zip(again, stated, strict=False):
        pairs = ((one.value, other.value), (one.low, other.low), (one.high, other.high))
        pairs += ((one.yardstick or 0.0, other.yardstick or 0.0),)
        if one.words != other.words or not all(math.isclose(a, b, abs_tol=CLOSE) for a, b in pairs):
            yield f"{path.name}: {other.name} does not follow from its noisy numbers"
    if said.words != statement_text(stated, said.level, said.randomness.stamp):
        yield f"{path.name}: its words are not those of its measures"


def ledger_problems(path: Path, ledger: Ledger) -> Iterator[str]:
    """Yield what the ledger says otherwise than a statement."""
    said = read_statement(path)
    if said.recorded is None:
        yield f"{path.name} says that its cost was not recorded, so the ledger cannot hold it"
        return
    held = {entry.sequence: entry for entry in ledger.history(said.table)}
    outcomes, here = ledger.outcomes(said.table), file_record(path).sha256
    if len(said.recorded.entries) != len(said.events):
        yield f"{path.name} names {len(said.recorded.entries)} entries of the ledger for {len(said.events)} events"
    for recorded, event in zip(said.recorded.entries, said.events, strict=False):
        entry, outcome = held.get(recorded.sequence), outcomes.get(recorded.sequence)
        if entry is None or entry.hash != recorded.hash or entry.event != event:
            yield f"entry {recorded.sequence} of the ledger is not the one that {path.name} names"
        elif outcome is not None and here not in outcome.bundles:
            yield f"the ledger does not know this {path.name} for entry {recorded.sequence}: {outcome}"


def statement_summary(path: Path) -> str:
    """Return in a line what a statement says."""
    said = read_statement(path)
    shares = "; ".join(f"{one.name} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for one in said.measures)
    own, whole = format_fraction(basic_composition(said.events)[0]), format_fraction(said.guarantee.exact_epsilon)
    return f"{path.name} states, at epsilon {own} (together with what it lies beside, {whole}): {shares}"
