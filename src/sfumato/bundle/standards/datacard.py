"""datacard.json: the README of a release for software, in a versioned layout."""

from __future__ import annotations

from typing import Any, Literal

from sfumato.bundle.description import PublicRelease, citation, page_warnings
from sfumato.bundle.document import ExpectedErrors, FileRecord, ReleasedTable
from sfumato.bundle.ledger_record import LAYOUT, DocumentPart
from sfumato.bundle.limitations import limitations, noise_half_widths
from sfumato.bundle.standards.fields import json_value
from sfumato.core.forecast import Forecast
from sfumato.privacy.exact import format_fraction
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import delimiter_of, missing_marker, output_encoding

VERSION = 1
MOST_LEVELS = 1000
"""Levels of one column that the card lists; schema.toml has all of them."""


SAME_FACTS = ("name", "kind", "unit", "role", "step", "decimals", "missing", "source")
"""Facts about a column that the card has under the names of the schema."""


class ColumnEntry(DocumentPart):
    """One released column: the public facts about it."""

    name: str
    kind: str
    label: str | None
    unit: str | None
    role: str | None
    bounds: tuple[Any, Any] | None
    step: int | float | str | None
    decimals: int | None
    levels: tuple[Any, ...] | None
    """In code order; None for numbers and dates, and where there are more than 1,000."""
    level_count: int | None
    level_labels: dict[str, str]
    cells: int
    """Cells into which the method cut the column, that of missing values included."""
    missing: bool
    missing_text: str | None
    """What stands for a missing value in data.csv; in Parquet it is null."""
    source: str | None

    @classmethod
    def of(cls, column: Column, subject: PublicRelease) -> ColumnEntry:
        """Return the card of one column."""
        levels = None if column.is_ordered else column.levels
        mark = missing_marker(subject.schema, column.name) if subject.makes == "rows" else ""
        return cls(
            **{fact: getattr(column, fact) for fact in SAME_FACTS},
            label=column.description,
            bounds=None if column.bounds is None else (json_value(column.bounds[0]), json_value(column.bounds[1])),
            levels=levels if levels is not None and len(levels) <= MOST_LEVELS else None,
            level_count=None if levels is None else len(levels),
            level_labels={str(value): str(words) for value, words in dict(column.value_labels or {}).items()},
            cells=column.size,
            missing_text=mark if column.missing else None,
        )


class TextFile(DocumentPart):
    """How the CSV files are written."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    date_format: str | None = None

    @classmethod
    def of(cls, subject: PublicRelease) -> TextFile:
        """Return the dialect of the rows; counts and numbers are written plainly."""
        if subject.makes != "rows" or not set(subject.first.columns) <= set(subject.schema.names):
            return cls()
        source = subject.schema.source
        return cls(
            delimiter=delimiter_of(subject.schema),
            decimal=source.decimal or ".",
            thousands=source.thousands,
            encoding=output_encoding(subject.schema),
            date_format=source.date_format,
        )


class MethodEntry(DocumentPart):
    """What made the release."""

    name: str
    summary: str
    makes: str
    parameters: dict[str, Any]


class GuaranteeEntry(DocumentPart):
    """What is promised: numbers for software, and the same in words."""

    formal: bool
    kind: str
    epsilon: str | None
    delta: str
    adjacency: str
    unit: str
    strength: str | None
    recorded: bool
    statement: str


class ForecastEntry(DocumentPart):
    """Expected errors from public facts alone, to three digits; what is None is not known."""

    rows: int
    verdict: str
    share_error: float | None
    mean_error_sd: float | None
    mean_error_range: float | None
    median_error_range: float | None
    tvd_1_q16: float | None
    tvd_2_q16: float | None
    smallest_relation: float | None
    drowned: tuple[str, ...]

    @classmethod
    def of(cls, forecast: Forecast | None) -> ForecastEntry | None:
        """Return a forecast of a known number of rows."""
        if forecast is None or forecast.rows is None:
            return None
        whole = ("rows", "verdict", "drowned")
        errors = {name: _short(getattr(forecast, name)) for name in cls.model_fields if name not in whole}
        return cls(rows=forecast.rows, verdict=forecast.verdict, drowned=forecast.drowned, **errors)


def _short(number: float | None) -> float | None:
    """Return three digits: more would differ from machine to machine."""
    return None if number is None else float(f"{number:.3g}")


class DataCard(DocumentPart):
    """The content of datacard.json."""

    datacard: Literal[1] = VERSION
    """Version of this layout."""
    table: str
    description: str | None
    created: str
    fingerprint: str
    software: str
    warnings: tuple[str, ...]
    """What must not be missed: a fixed seed, an exposure, a cost that nobody recorded, a weak promise."""
    for_release: bool
    makes: str
    rows: int
    """Lines of all released tables together."""
    tables: tuple[ReleasedTable, ...]
    text_files: TextFile
    columns: tuple[ColumnEntry, ...]
    rules: tuple[str, ...]
    method: MethodEntry
    guarantee: GuaranteeEntry
    forecast: ForecastEntry | None
    expected_errors: ExpectedErrors | None
    noise: dict[str, float]
    """Of count tables: how far 95 % of the noise on a count reaches, by table."""
    uses: tuple[str, ...]
    limits: tuple[str, ...]
    contact: str | None
    licence: str | None
    confirmed_by: str | None
    confirmed_on: str | None
    citation: str
    files: dict[str, FileRecord]
    """All files but release.json and what is drawn from it: its pages, this one among them."""

    @classmethod
    def of(cls, subject: PublicRelease) -> DataCard:
        """Return the card of a release."""
        document, schema = subject.document, subject.schema
        forecast, signed = ForecastEntry.of(subject.forecast), schema.confirmation
        names = {column.name for column in subject.columns}
        return cls(
            table=schema.name,
            **{fact: getattr(schema, fact) for fact in ("description", "contact", "licence")},
            created=document.created_at,
            fingerprint=document.fingerprint,
            software=f"sfumato {document.versions['sfumato']}",
            warnings=tuple(f"{banner.heading}: {banner.text}" for banner in page_warnings(subject)),
            for_release=document.randomness.stamp is None,
            makes=subject.makes,
            rows=sum(table.rows for table in subject.tables),
            tables=subject.tables,
            text_files=TextFile.of(subject),
            columns=tuple(ColumnEntry.of(column, subject) for column in subject.columns),
            rules=tuple(rule.check for rule in schema.rules if subject.makes == "rows" and set(rule.columns) <= names),
            method=MethodEntry(**document.method.model_dump(include=set(MethodEntry.model_fields))),
            guarantee=_guarantee(subject),
            forecast=forecast,
            expected_errors=document.expected_errors,
            noise={name: float(f"{width:.3g}") for name, width in noise_half_widths(subject).items()},
            uses=() if forecast is None else (forecast.verdict,),
            limits=tuple(limitations(subject)),
            confirmed_by=signed.by if signed else None,
            confirmed_on=str(signed.on) if signed else None,
            citation=citation(subject),
            files=document.files_without_pages,
        )

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, two spaces, UTF-8, one newline at the end."""
        return LAYOUT.text(self.model_dump(mode="json"))


def _guarantee(subject: PublicRelease) -> GuaranteeEntry:
    document, guarantee = subject.document, subject.document.guarantee
    return GuaranteeEntry(
        **guarantee.model_dump(include={"kind", "delta", "adjacency", "unit"}),
        formal=guarantee.formal,
        epsilon=format_fraction(guarantee.exact_epsilon) if guarantee.formal else None,
        strength=guarantee.band if guarantee.formal else None,
        recorded=document.recorded is not None,
        statement=document.statement,
    )
