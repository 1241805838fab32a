"""release.json: everything about a release that may be public, in one typed document that seals itself."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.ledger.models import Account, Entry
from sfumato.privacy.sealed import SealedJson, plain
from sfumato.release.method import Makes, parameters_of
from sfumato.release.plan import Stage
from sfumato.schema import Schema
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.release.release import Release

FORMAT = 1
LAYOUT = SealedJson(indent=2, empty="")
UNRECORDED = "The cost of this release was not recorded: no ledger was given, so no cap protects the table."
DISTRIBUTIONS = (
    "altair",
    "cryptography",
    "dp-accounting",
    "duckdb",
    "jinja2",
    "numba",
    "numpy",
    "opendp",
    "pyarrow",
    "vl-convert-python",
)


class Record(BaseModel):
    """A frozen part of the document; an unknown field is refused, so that nothing hides in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FileRecord(Record):
    """One file of the bundle."""

    sha256: str
    bytes: int


class ReleasedTable(Record):
    """One released table, and the files that hold it."""

    columns: tuple[str, ...]
    kind: Makes
    rows: int
    """Lines of the released table: cells of a count table, synthetic rows, or points of a curve."""
    parquet: str
    csv: str

    @field_validator("parquet", "csv")
    @classmethod
    def _inside_the_bundle(cls, path: str) -> str:
        return _inside(path)


def _inside(path: str) -> str:
    """Refuse a path that leads out of the bundle: it is never opened."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path or "\0" in path:
        raise ValueError(f"a file outside the bundle: {path!r}")
    return path


class MethodRecord(Record):
    """The method that made the release; its parameters are public."""

    name: str
    summary: str
    about: str = ""
    formal: bool
    makes: Makes
    module: str
    class_name: str
    parameters: dict[str, Any]
    rows: int | None = None


class RandomnessRecord(Record):
    """Where the noise came from; a seeded run carries its stamp."""

    mode: Literal["secure", "seeded"]
    seed: int | None = None
    stamp: str | None = None


class RecordedEntry(Record):
    """Place and hash of one event in the ledger."""

    sequence: int
    hash: str


class RecordedCost(Record):
    """Where the ledger holds the cost of this release, and how the account stood after it."""

    entries: tuple[RecordedEntry, ...]
    head: str
    composition: str
    cap_epsilon: str
    cap_delta: str
    spent_epsilon: str
    spent_delta: str
    left_epsilon: str
    left_delta: str
    exposures: int = 0

    @classmethod
    def of(cls, entries: tuple[Entry, ...], account: Account) -> RecordedCost:
        """Return the public side of ledger entries and of the account's balance."""
        balance = account.model_dump(include=set(cls.model_fields) - {"entries", "head"})
        places = tuple(RecordedEntry(sequence=entry.sequence, hash=entry.hash) for entry in entries)
        return cls(entries=places, head=entries[-1].hash, **balance)


class FactsRecord(Record):
    """Who vouched for the facts of the schema, when, and where each of them comes from."""

    by: str | None = None
    on: str | None = None
    columns: dict[str, dict[str, str]] = Field(default_factory=dict)
    rules: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema) -> FactsRecord:
        """Return the provenance of all facts of a schema, in words."""
        signed = schema.confirmation
        return cls(
            by=signed.by if signed else None,
            on=str(signed.on) if signed else None,
            columns={c.name: {fact: came.words for fact, came in c.provenance.items()} for c in schema},
            rules={rule.check: rule.provenance.words for rule in schema.rules},
        )


class ReleaseDocument(Record):
    """The content of release.json. It holds nothing that depends on the private rows except through the release."""

    format: Literal[1] = FORMAT
    created_at: str
    table: str
    method: MethodRecord
    adjacency: Literal["add-remove", "replace"]
    unit: str
    guarantee: Guarantee
    statement: str
    facts: FactsRecord | None = None
    """Where the facts of the schema come from; bundles of sfumato 0.1 do not say it."""
    events: tuple[Event, ...]
    stages: tuple[Stage, ...]
    statistics: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    randomness: RandomnessRecord
    recorded: RecordedCost | None = None
    recorded_note: str = ""
    tables: tuple[ReleasedTable, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    files: dict[str, FileRecord] = Field(default_factory=dict)
    seal: str = ""
    """SHA-256 of this document without the seal: a slip of the pen shows even where no other check looks."""

    @field_validator("files")
    @classmethod
    def _inside_the_bundle(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        return {_inside(path): record for path, record in files.items()}

    @model_serializer(mode="wrap")
    def _without_silence(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what an older bundle did not say, so that its seal holds."""
        body: dict[str, Any] = handler(self)
        return {key: value for key, value in body.items() if key != "facts" or value is not None}

    @classmethod
    def from_release(
        cls, release: Release, files: Mapping[str, FileRecord] | None = None, tables: Iterable[ReleasedTable] = ()
    ) -> ReleaseDocument:
        """Return the sealed document of a release."""
        recorded = RecordedCost.of(release.entries, release.account) if release.entries and release.account else None
        return cls(
            created_at=release.created_at,
            table=release.schema.name,
            method=_method(release),
            adjacency=release.schema.adjacency,
            unit=release.plan.unit,
            guarantee=release.guarantee,
            statement=release.guarantee.statement(),
            facts=FactsRecord.of(release.schema),
            events=release.events,
            stages=release.plan.stages,
            statistics=plain(dict(release.statistics)),
            notes=release.notes,
            randomness=_randomness(release),
            recorded=recorded,
            recorded_note="" if recorded else UNRECORDED,
            tables=tuple(tables),
            versions=versions(),
            files=dict(files or {}),
        ).sealed()

    def with_files(self, files: Mapping[str, FileRecord]) -> ReleaseDocument:
        """Return the document with the hashes of the bundle's files."""
        return self.model_copy(update={"files": dict(files)}).sealed()

    def sealed(self) -> ReleaseDocument:
        """Return the document with the seal that its content has."""
        return self.model_copy(update={"seal": LAYOUT.seal(self.model_dump(mode="json"))})

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, two spaces, UTF-8, one newline at the end."""
        return LAYOUT.text(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, data: str) -> ReleaseDocument:
        """Read a document back; unknown fields and other formats are refused."""
        return cls.model_validate_json(data)


def released_schema(schema: Schema, names: Iterable[str]) -> Schema:
    """Return the schema of released rows: only their columns and rules, nothing clamped, no private row count."""
    kept = set(names)
    columns = tuple(replace(column, outside="refuse") for column in schema if column.name in kept)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= kept)
    return replace(
        schema, columns=columns, rules=rules, adjacency="add-remove", rows=None, person=None, rows_per_person=1
    )


def versions() -> dict[str, str]:
    """Return the versions of everything that shaped the numbers."""
    own = {"python": platform.python_version(), "sfumato": __version__}
    return own | {name: importlib.metadata.version(name) for name in DISTRIBUTIONS}


def _method(release: Release) -> MethodRecord:
    cls = type(release.method)
    return MethodRecord(
        name=release.method.name,
        summary=release.method.summary,
        about=release.method.about,
        formal=release.guarantee.formal,
        makes=release.method.makes,
        module=cls.__module__,
        class_name=cls.__name__,
        parameters=plain(parameters_of(release.method)),
        rows=release.plan.rows,
    )


def _randomness(release: Release) -> RandomnessRecord:
    source = release.randomness
    return RandomnessRecord(mode=source.mode, seed=source.seed, stamp=source.stamp)
