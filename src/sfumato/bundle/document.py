"""release.json: the sealed public document of a release."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from sfumato.bundle.layout import PAGES, FileRecord
from sfumato.bundle.ledger_record import LAYOUT, DocumentPart, LedgerCost, RandomnessRecord, SealedPart
from sfumato.core.method import Makes, Method, method_class, parameters_of, registered_home
from sfumato.core.plan import Plan, Stage
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee, WithGuaranteeAndEvents
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.schema import Schema
from sfumato.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.core.release import Release

FORMAT = 1
OPTIONAL_FIELDS = ("facts", "expected_errors")
"""What a document does not write where it knows nothing of it."""
Tables = Mapping[tuple[str, ...], "pa.Table"]
"""Released tables by their columns."""
RENAMED_PARAMETERS = {"aim": {"engine": "model"}}
"""By method, how sfumato 0.2 called parameters that have another name now."""
UNRECORDED = "The cost of this release was not recorded: no ledger was given, so no cap protects the table."
DISTRIBUTIONS = (
    "cryptography",
    "dp-accounting",
    "duckdb",
    "jinja2",
    "numba",
    "numpy",
    "opendp",
    "pyarrow",
)


class ReleasedTable(DocumentPart):
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
        return _require_inside_bundle(path)


def _require_inside_bundle(path: str) -> str:
    """Refuse a path that leads out of the bundle: it is never opened."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path or "\0" in path:
        raise ValueError(f"a file outside the bundle: {path!r}")
    return path


class MethodRecord(DocumentPart):
    """The method that made the release; its parameters are public."""

    name: str
    summary: str
    about: str = ""
    formal: bool
    makes: Makes
    module: str | None = None
    class_name: str | None = None
    """Of a method that is none of sfumato's own; bundles of sfumato 0.1 and 0.2 have them for all methods."""
    parameters: dict[str, Any]
    rows: int | None = None

    def build(self) -> Method:
        """Return the method with its parameters, as the registry knows it: no module is taken from the file."""
        renamed = RENAMED_PARAMETERS.get(self.name, {})
        return method_class(self.name)(**{renamed.get(key, key): value for key, value in self.parameters.items()})

    @property
    def is_known(self) -> bool:
        """Whether the registry knows the method: bundles of other versions state where its class was then."""
        home = registered_home(self.name)
        return home is not None and (
            self.module is None or self.module.startswith("sfumato.") or home == f"{self.module}:{self.class_name}"
        )

    @model_serializer(mode="wrap")
    def _without_known_class(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        body: dict[str, Any] = handler(self)
        return {key: value for key, value in body.items() if key not in ("module", "class_name") or value is not None}


class ProvenanceRecord(DocumentPart):
    """Who vouched for the facts of the schema, when, and where each of them comes from."""

    by: str | None = None
    on: str | None = None
    columns: dict[str, dict[str, str]] = Field(default_factory=dict)
    rules: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema) -> ProvenanceRecord:
        """Return the provenance of all facts of a schema, in words."""
        signed = schema.confirmation
        return cls(
            by=signed.by if signed else None,
            on=str(signed.on) if signed else None,
            columns={c.name: {fact: came.words for fact, came in c.provenance.items()} for c in schema},
            rules={rule.check: rule.provenance.words for rule in schema.rules},
        )


class MainNumber(DocumentPart):
    """One number of the released rows, and how far it may lie from that of the confidential table."""

    name: str
    kind: str
    value: float
    error: float
    low: float
    high: float


class ExpectedErrors(DocumentPart):
    """Main numbers with expected errors, from so many runs of the method on the released rows: free and public."""

    reruns: int
    level: float
    numbers: tuple[MainNumber, ...]


class ReleaseDocument(WithGuaranteeAndEvents, SealedPart):
    """The content of release.json. It holds nothing that depends on the private rows except through the release."""

    format: Literal[1] = FORMAT
    created_at: str
    table: str
    method: MethodRecord
    adjacency: Literal["add-remove", "replace"]
    unit: str
    guarantee: Guarantee
    statement: str
    facts: ProvenanceRecord | None = None
    """Where the facts of the schema come from; bundles of sfumato 0.1 do not say it."""
    events: tuple[Event, ...]
    stages: tuple[Stage, ...]
    statistics: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    expected_errors: ExpectedErrors | None = None
    """How sure the main numbers are, where the release was saved with reruns."""
    randomness: RandomnessRecord
    recorded: LedgerCost | None = None
    recorded_note: str = ""
    tables: tuple[ReleasedTable, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    files: dict[str, FileRecord] = Field(default_factory=dict)

    @field_validator("files")
    @classmethod
    def _inside_the_bundle(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        return {_require_inside_bundle(path): record for path, record in files.items()}

    @model_serializer(mode="wrap")
    def _without_silence(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what an older bundle did not say, so that its seal holds."""
        body: dict[str, Any] = handler(self)
        return {key: value for key, value in body.items() if key not in OPTIONAL_FIELDS or value is not None}

    @classmethod
    def from_release(
        cls,
        release: Release,
        files: Mapping[str, FileRecord] | None = None,
        tables: Iterable[ReleasedTable] = (),
        expected_errors: ExpectedErrors | None = None,
    ) -> ReleaseDocument:
        """Return the sealed document of a release."""
        recorded = LedgerCost.of(release.entries, release.account) if release.entries and release.account else None
        return cls(
            created_at=release.created_at,
            table=release.schema.name,
            method=_method(release),
            adjacency=release.schema.adjacency,
            unit=release.plan.unit,
            guarantee=release.guarantee,
            statement=release.guarantee.statement(),
            facts=ProvenanceRecord.of(release.schema),
            events=release.events,
            stages=release.plan.stages,
            statistics=to_jsonable(dict(release.statistics)),
            notes=release.notes,
            expected_errors=expected_errors,
            randomness=RandomnessRecord.of(release.randomness),
            recorded=recorded,
            recorded_note="" if recorded else UNRECORDED,
            tables=tuple(tables),
            versions=versions(),
            files=dict(files or {}),
        ).sealed()

    def with_files(self, files: Mapping[str, FileRecord]) -> ReleaseDocument:
        """Return the document with the hashes of the bundle's files."""
        return self.model_copy(update={"files": dict(files)}).sealed()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a changed copy, which has another fingerprint."""
        copied = super().model_copy(update=update, deep=deep)
        vars(copied).pop("fingerprint", None)
        return copied

    @property
    def planned_events(self) -> tuple[Event, ...]:
        """The events, with those of a selection that were never run."""
        chosen = self.guarantee.selection
        return self.events if chosen is None else (*self.events, *chosen.unclimbed)

    @property
    def charged_events(self) -> tuple[Event, ...]:
        """What the ledger was charged for: with tight composition all candidates of a selection, before the first."""
        at_once = self.recorded is not None and len(self.recorded.entries) > len(self.events)
        return self.planned_events if at_once else self.events

    @property
    def files_without_pages(self) -> dict[str, FileRecord]:
        """The files that were there when the pages were drawn: what these may tell of."""
        return {path: record for path, record in self.files.items() if path not in PAGES}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of this document without its pages: stands on every page and sheet, and verify prints it."""
        bare = self.model_copy(update={"files": self.files_without_pages}).model_dump(mode="json")
        return LAYOUT.seal(bare)

    def replan(self, schema: Schema) -> tuple[Method, Plan]:
        """Return the method and its plan, made anew from public facts: what the registry knows, no module of a file."""
        method = self.method.build()
        return method, method.plan(schema, self.method.rows, self.randomness.mode)


def first_copies(
    tables: Iterable[ReleasedTable], load: Callable[[ReleasedTable], pa.Table]
) -> dict[tuple[str, ...], pa.Table]:
    """Return the released tables that a page shows, by their columns: of several copies of rows, the first."""
    first: dict[tuple[str, ...], ReleasedTable] = {}
    for listed in tables:
        first.setdefault(listed.columns, listed)
    return {names: load(listed) for names, listed in first.items()}


def released_schema(schema: Schema, names: Iterable[str]) -> Schema:
    """Return the schema of released rows: only their columns and rules, nothing clamped, no private row count."""
    kept = set(names)
    columns = tuple(replace(column, outside="refuse") for column in schema if column.name in kept)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= kept)
    return replace(
        schema, columns=columns, rules=rules, adjacency="add-remove", rows=None, person=None, rows_per_person=1
    )


def versions() -> dict[str, str]:
    """Return the versions of everything that may have shaped the numbers; OpenDP is not always there."""
    own = {"python": platform.python_version(), "sfumato": __version__}
    installed = [name for name in DISTRIBUTIONS if name != "opendp" or importlib.util.find_spec(name) is not None]
    return own | {name: importlib.metadata.version(name) for name in installed}


def _method(release: Release) -> MethodRecord:
    cls = type(release.method)
    own = f"{cls.__module__}:{cls.__name__}"
    public = registered_home(release.method.name) == own and own.startswith("sfumato.")
    return MethodRecord(
        name=release.method.name,
        summary=release.method.summary,
        about=release.method.about,
        formal=release.guarantee.formal,
        makes=release.method.makes,
        module=None if public else cls.__module__,
        class_name=None if public else cls.__name__,
        parameters=to_jsonable(parameters_of(release.method)),
        rows=release.plan.rows,
    )
