"""Buy a schema: check the budget, record the cost, count, add noise, describe the columns."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from sfumato.arrays import Counts
from sfumato.core.outcome import mark_lost_on_failure, mark_saved
from sfumato.core.release import UNRECORDED, LedgerChoice, check_seed, open_ledger, scales_of
from sfumato.core.schema_assumptions import UNRECORDED_PURCHASE, clamping_notes, cost_words
from sfumato.dp_schema.domains import (
    CERTAIN_SIGMAS,
    ROWS_PER_CELL,
    InferredForm,
    NoisyHistogram,
    boolean_column,
    date_column,
    histogram_edges,
    infer_form,
    number_column,
    text_column,
    year_edges,
)
from sfumato.dp_schema.plan import DetectionLimits, SchemaPlan, schema_plan, validated_budget
from sfumato.dp_schema.run import NoisyCounter
from sfumato.errors import NoLedgerWarning, TableError, TooLittleSeenError
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.exact import Number, format_fraction
from sfumato.privacy.ledger import Entry
from sfumato.privacy.noise import require_samplable
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.confirm import confirming_person
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import Confirmation
from sfumato.schema.purchase import Purchase
from sfumato.table.check import is_scalar_type
from sfumato.table.column_expressions import lacks_person
from sfumato.table.drafting.draft import require_right_delimiter
from sfumato.table.engines.engine import Engine, engine_errors
from sfumato.table.sources import Source, open_source

NOTHING = "nothing rose above the noise; buy it with more epsilon, or describe it by hand"
UNSEEN = "no value of it is common enough to be seen: an identifier or free text, never released"


def buy_schema(
    source: Any,
    epsilon: Number,
    delta: Number | None = None,
    ledger: LedgerChoice = None,
    name: str | None = None,
    person: str | None = None,
    rows_per_person: int = 1,
    adjacency: str = "add-remove",
    rows: int | None = None,
    seed: int | None = None,
    columns: Sequence[str] | None = None,
    about_rows: int | None = None,
    delimiter: str | None = None,
    by: str | None = None,
    **dialect: Any,
) -> Schema:
    """Buy a schema: bounds, values and kinds measured on the rows at the cost of (epsilon, delta).

    The names of the columns, and the types of a source that declares types, are taken for public; nothing else is.
    Rows of JSON declare no names, so ``columns`` must say which are public; types that a source infers from its rows
    (JSON, workbooks, SQLite, objects of pandas) are bought with the rest. A text is UTF-8 unless ``encoding`` says so.
    The cost is recorded in the ledger before anything is counted. ``person`` names the column that tells people apart,
    with at most ``rows_per_person`` rows each; ``columns`` limits what is bought; ``by`` is who buys, the account's
    name by default. The schema is confirmed: a release
    from it says what its facts cost. ``about_rows`` is a public guess of how many rows there are: where so few would
    foreseeably show nothing, the purchase is refused.
    """
    facts = {"adjacency": adjacency, "rows": rows, "person": person, "rows_per_person": rows_per_person}
    options = {"delimiter": delimiter, **dialect}
    ordered = prepared(source, epsilon, delta, name, columns, about_rows, options, **facts)
    if ledger is None:
        warnings.warn(NoLedgerWarning(UNRECORDED), stacklevel=2)
    return ordered.buy(ledger, seed, by).schema


class Bought(NamedTuple):
    """The result of a purchase: the schema, its cost and notes."""

    schema: Schema
    rows: int | None
    """About how many rows there are, from the noisy counts that were paid for; None where nothing was counted."""


@dataclass(frozen=True)
class Prepared:
    """A purchase that was checked by its header alone: nothing is spent, and no row is counted."""

    opened: Source
    order: SchemaPlan
    left_out: tuple[str, ...]

    @property
    def foresight(self) -> DetectionLimits:
        """The detection limits of the purchase."""
        return DetectionLimits.of(self.order)

    def buy(self, ledger: LedgerChoice, seed: int | None, by: str | None) -> Bought:
        """Buy: record the cost, then count."""
        return _bought(_SchemaPurchase(self, Randomness.of(check_seed(seed)), confirming_person(by)), ledger)


def prepared(
    source: Any,
    epsilon: Number,
    delta: Number | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    about_rows: int | None = None,
    dialect: Mapping[str, Any] | None = None,
    **facts: Any,
) -> Prepared:
    """Return a purchase of this table by its header alone; refuse one that would foreseeably show nothing."""
    facts = {"adjacency": "add-remove", "rows": None, "person": None, "rows_per_person": 1, **facts}
    asked = None if columns is None else [*columns, *([facts["person"]] if facts["person"] else [])]
    opened = open_source(source, Dialect.of(dialect or {}), infer=False, names=asked)
    require_right_delimiter(opened)
    budget = validated_budget(epsilon, delta, facts["rows_per_person"])
    header, left_out = _header(opened, name or opened.name, columns, facts)
    purchase = Prepared(opened, schema_plan(header, opened.engine.table.schema(), *budget), left_out)
    purchase.foresight.require(about_rows)
    return purchase


def forecast_schema(source: Any, *order: Any, **facts: Any) -> DetectionLimits:
    """Forecast what a purchase can detect, from the header of a table alone; its arguments are those of `prepared`."""
    return prepared(source, *order, **facts).foresight


def _header(
    opened: Source, name: str, wanted: Sequence[str] | None, facts: dict[str, Any]
) -> tuple[Schema, tuple[str, ...]]:
    """Return what is known without looking at rows, and notes on columns that no schema can describe."""
    kinds = opened.engine.table.schema()
    names = [each for each in kinds if wanted is None or each in wanted or each == facts["person"]]
    asked = [*(wanted or ()), *([facts["person"]] if facts["person"] else [])]
    if unknown := [f"column {each!r} is not in the table" for each in asked if each not in kinds]:
        step = f"the table has: {', '.join(list(kinds)[:20])}"
        raise TableError(f"{len(unknown)} of the named columns are not in {opened.name!r}", unknown, step)
    plain = [
        each for each in names if _is_counted(kinds[each]) or (each == facts["person"] and is_scalar_type(kinds[each]))
    ]
    odd = tuple(f"left out: {each} (values of type {kinds[each]})" for each in names if each not in plain)
    if not plain:
        raise TableError(f"no column of {opened.name!r} can be described", odd, "write the schema by hand")
    open_columns = tuple(Column(each, "category", role="identifier") for each in plain)
    return Schema(name, open_columns, source=opened.dialect, **facts), odd


def _is_counted(kind: Any) -> bool:
    """Whether values of an engine's type have a form: texts, numbers, dates, true and false."""
    return kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_date() or kind.is_timestamp()


@dataclass(frozen=True)
class _SchemaPurchase:
    """Everything that a purchase is made with."""

    prepared: Prepared
    randomness: Randomness
    by: str
    """Who buys: known before anything is spent."""

    @property
    def order(self) -> SchemaPlan:
        return self.prepared.order

    @property
    def header(self) -> Schema:
        return self.order.header

    @property
    def counter(self) -> NoisyCounter:
        return NoisyCounter(self.prepared.opened.engine, self.header, self.randomness)


def _bought(purchase: _SchemaPurchase, ledger: LedgerChoice) -> Bought:
    """Check, record, then count: nothing is spent and nothing drawn when anything is wrong."""
    book, name = open_ledger(ledger), purchase.header.name
    events = (purchase.order.event(purchase.randomness.mode),) if purchase.order.values else ()
    require_samplable(scales_of(events), purchase.randomness.seed is not None)
    if book is not None and events:
        book.check(name, events)
    require_readable_rows(purchase.prepared.opened.engine, purchase.header)
    purchase.counter.rehearse(purchase.order.forms)
    entries = book.spend(name, events) if book is not None and events else ()
    with mark_lost_on_failure(book, entries):
        bought = _described(purchase, events, tuple(_paid(purchase, event, entries) for event in events))
    if book is not None and entries:
        sealed = hashlib.sha256(bought.schema.to_toml().encode()).hexdigest()
        mark_saved(book, entries, sealed, "the facts are bought")
    return bought


def require_readable_rows(engine: Engine, header: Schema) -> None:
    """Read every row once before anything is spent; refuse rows of nobody, and another number of rows than stated."""
    table = engine.table
    measures = {f"missing {i}": table[each].isnull().sum() for i, each in enumerate(header.names)}
    if header.person is not None:
        measures["nobody"] = lacks_person(table[header.person], header[header.person]).sum()
    with engine_errors(repr(header.name)):
        counts = engine.aggregate(table.aggregate(rows=table.count(), **measures)).to_pylist()[0]
    problems: list[str] = []
    if counts.get("nobody"):
        problems.append(f"{header.person}: {counts['nobody']:,} rows without a person would share one person's bound")
    if header.rows is not None and counts["rows"] != header.rows:
        problems.append(f"rows = {header.rows:,} was stated, the table has {counts['rows']:,}")
    if problems:
        step = "correct the table, or the number of rows"
        raise TableError(f"facts about table {header.name!r} cannot be bought; nothing was spent", problems, step)


def _paid(purchase: _SchemaPurchase, event: Event, entries: Sequence[Entry]) -> Purchase:
    """Return what the schema says of its purchase; every bought column repeats the words."""
    seed, text = purchase.randomness.seed, event.to_json()
    unrecorded = uuid.uuid4().hex if seed is None else hashlib.sha256(f"{seed} {text}".encode()).hexdigest()
    identity = entries[0].hash if entries else unrecorded
    cost = cost_words(event)
    place = f"ledger entry {entries[0].sequence}" if entries else f"{UNRECORDED_PURCHASE}, purchase {identity[:8]}"
    stamp = f"; {purchase.randomness.stamp}" if purchase.randomness.stamp else ""
    words = f"{place}: {cost} (sfumato schema buy, {dt.datetime.now(dt.UTC).date()}{stamp})"
    return Purchase(words, identity, text)


def _described(purchase: _SchemaPurchase, events: Sequence[Event], paid: tuple[Purchase, ...]) -> Bought:
    """Count with noise and return the schema."""
    parts = {part.stage: part for event in events for part in event.parts}
    columns, notes, rows = _SchemaBuilder(purchase, parts, paid[0].words if paid else "").columns()
    if not any(column.name != purchase.header.person for column in columns):
        _refuse_nothing(purchase.order)
    header, stamp = purchase.header, purchase.randomness.stamp
    schema = Schema(
        header.name,
        tuple(_in_words(column, purchase.prepared.opened) for column in columns),
        adjacency=header.adjacency,
        rows=header.rows,
        person=header.person,
        rows_per_person=header.rows_per_person,
        source=header.source,
        confirmation=Confirmation(purchase.by, dt.datetime.now(dt.UTC).date()),
        notes=(*([stamp] if stamp else []), *purchase.prepared.left_out, *notes),
        purchases=paid,
    )
    return Bought(schema, rows)


def _refuse_nothing(order: SchemaPlan) -> NoReturn:
    """Say that all of it was noise, and how many rows it would have taken."""
    raise TooLittleSeenError(
        f"nothing about table {order.header.name!r} rose above the noise of epsilon "
        f"{format_fraction(order.epsilon)}, which is "
        "spent",
        [DetectionLimits.of(order).words],
        "buy for more epsilon, fewer columns or fewer rows of one person, after a look with 'sfumato schema buy "
        "--plan'; or state public facts in a schema (sfumato schema draft DATA)",
    )


def _in_words(column: Column, opened: Source) -> Column:
    """Return a column with the words that the file itself has for it, which are part of its header."""
    words = opened.facts.get(column.name, {})
    return dataclasses.replace(column, **{key: words[key] for key in ("description", "unit") if key in words})


def missing_value_notes(forms: Mapping[str, InferredForm], parts: Mapping[str, EventPart]) -> list[str]:
    """Describe where values are missing; where none were detected a few may be, and the schema allows them."""
    certain = {
        name: form.missing_rows >= CERTAIN_SIGMAS * parts[f"form of {name}"].scale for name, form in forms.items()
    }
    some = ", ".join(f"{name} (about {forms[name].missing_rows:,} rows)" for name in forms if certain[name])
    none = ", ".join(name for name in forms if not certain[name])
    return [
        *([f"missing values: {some}"] if some else []),
        *([f"no missing values above the noise: {none}; write missing = false where you know of none"] if none else []),
    ]


@dataclass(frozen=True)
class _SchemaBuilder:
    """The two counts of every column, and what they say."""

    purchase: _SchemaPurchase
    parts: dict[str, EventPart]
    words: str

    def columns(self) -> tuple[list[Column], list[str], int | None]:
        order, counter = self.purchase.order, self.purchase.counter
        first = counter.forms({name: self.parts[f"form of {name}"] for name in order.forms})
        forms = {name: infer_form(noisy, self.parts[f"form of {name}"].scale) for name, noisy in first.items()}
        cells = self._cells(counter, forms)
        texts = {name: counter.texts(name, self._values(name)) for name, f in forms.items() if f.reading == "text"}
        described = [
            self._column(name, forms.get(name), cells.get(name), texts.get(name)) for name in order.header.names
        ]
        columns = [column for column, _ in described if column is not None]
        notes = [note for _, note in described if note] + missing_value_notes(forms, self.parts)
        return columns, [*notes, *clamping_notes(columns)], self._rows(first)

    def _rows(self, first: Mapping[str, Counts]) -> int | None:
        """Return about how many rows there are: the median over the columns of their counts above the noise."""
        sure = [int(n[n >= CERTAIN_SIGMAS * self.parts[f"form of {name}"].scale].sum()) for name, n in first.items()]
        return max(sorted(sure)[len(sure) // 2], 1) if sure else None

    def _values(self, name: str) -> EventPart:
        return self.parts[f"values of {name}"]

    def _cells(self, counter: NoisyCounter, forms: dict[str, InferredForm]) -> dict[str, NoisyHistogram]:
        """Return the second counts of numbers and dates."""
        numbers = {name: self._edges(name, form) for name, form in forms.items() if form.reading == "number"}
        typed_dates = [name for name in self.purchase.order.values if name not in forms]
        edges = {**numbers, **{name: year_edges() for name in typed_dates}}
        written = {name: self._values(name) for name, form in forms.items() if form.reading == "date"}
        noisy = counter.values({name: self._values(name) for name in edges}, edges)
        noisy |= counter.years(written, year_edges())
        return {
            name: NoisyHistogram(noisy[name], edges.get(name, year_edges()), self._values(name).scale) for name in noisy
        }

    def _edges(self, name: str, form: InferredForm) -> tuple[float, ...]:
        return histogram_edges(form.span, form.whole, form.rows / (ROWS_PER_CELL * self._values(name).scale))

    def _column(
        self, name: str, form: InferredForm | None, cells: NoisyHistogram | None, texts: Sequence[str] | None
    ) -> tuple[Column | None, str]:
        """Return one column of the schema, or none, with a note for people."""
        if name == self.purchase.header.person:
            return Column(name, "category", role="identifier"), ""
        if texts is not None:
            return text_column(name, texts, self.words), "" if texts else f"look at: {name} ({UNSEEN})"
        if cells is not None and form is not None and form.reading == "number":
            return number_column(name, form, cells, self.words), ""
        if cells is not None and (column := date_column(name, cells, self.words)):
            return column, ""
        if form is None and cells is None:
            return boolean_column(name, None), ""
        if form is not None and form.reading == "flag":
            return boolean_column(name, self.words), ""
        return None, f"left out: {name} ({NOTHING})"
