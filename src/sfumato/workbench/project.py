"""The project folder: everything typed and chosen, saved so that a restart loses nothing.

It holds public facts, choices and paths, and the draft, which is proposed from the rows and is the owner's alone: the
folder has mode 700. No row, no comparison and no password is ever written to it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import threading
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.atomic_files import atomic_file
from sfumato.errors import ModelError, WorkbenchError
from sfumato.privacy.ledger.address import shown_address
from sfumato.schema import Schema

STATE, DRAFT, SCHEMA, HELD, BOOK, BUNDLES = "project.json", "draft.toml", "schema.toml", ".lock", "budget.db", "bundles"
OWN = (STATE, DRAFT, SCHEMA, HELD)
DOOR = "open-workbench.html"
"""What the browser is given: it leads into the workbench, once."""
OTHER_FOLDER = "give another folder with --project"


class ReleaseRecord(BaseModel):
    """One release that was made here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str
    method: str
    table: str
    cost: str
    made_at: str


class ProjectState(BaseModel):
    """Everything that was typed, as it was typed: what is wrong is kept, too, and said beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str = ""
    dialect: dict[str, Any] = {}
    edits: dict[str, dict[str, str]] = {}
    """What was typed about columns, by column and field."""
    no_rules: tuple[str, ...] = ()
    """Rules of the draft that need not hold."""
    sources: dict[str, str] = {}
    rest_source: str = ""
    accept: bool = False
    by: str = ""
    whose: Literal["", "rows", "people"] = ""
    person: str = ""
    rows_per_person: str = ""
    about_rows: str = ""
    epsilon: str = "1"
    delta: str = ""
    preset: str = ""
    method: str = ""
    settings: str = ""
    columns: tuple[str, ...] | None = None
    rows: str = ""
    anyway: bool = False
    ledger: str = ""
    cap_epsilon: str = "5"
    cap_delta: str = "1e-6"
    out: str = ""
    holdout: str = ""
    colours: Literal["auto", "light", "dark"] = "auto"
    releases: tuple[ReleaseRecord, ...] = ()


FRESH_TABLE = ("edits", "no_rules", "sources", "rest_source", "accept", "whose", "person", "rows_per_person", "columns")
"""What is about one table, and begins anew with another."""


class Project:
    """A folder of one custodian, open in one workbench at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        self._is_new = not self.folder.exists()
        _prepare(self.folder)
        self._held = _lock_folder(self.folder)
        self._writing = threading.RLock()
        self._passwords: dict[str, str] = {}
        self.state = self._read()
        self.draft: Schema | None = self._schema(DRAFT)
        self.schema: Schema | None = self._schema(SCHEMA)

    def close(self) -> None:
        """Let another workbench open the folder; a new one in which nothing came to stand is removed."""
        if self._is_new and [path.name for path in self.folder.iterdir()] == [HELD]:
            (self.folder / HELD).unlink()
            self.folder.rmdir()
        os.close(self._held)

    def change(self, **facts: Any) -> ProjectState:
        """Keep what was typed; nothing else changes."""
        with self._writing:
            self.state = ProjectState.model_validate({**self.state.model_dump(), **facts})
            self._write(STATE, self.state.model_dump_json(indent=1))
            return self.state

    def edit(self, column: str, **fields: str) -> None:
        """Keep what was typed about a column."""
        with self._writing:
            kept = {**self.state.edits.get(column, {}), **fields}
            self.change(edits={**self.state.edits, column: kept})
            self.unconfirm()

    def keep_draft(self, draft: Schema, source: str, dialect: dict[str, Any]) -> None:
        """Keep a draft of a file; of another file, nothing that was said about the one before holds."""
        with self._writing:
            fresh = {} if source == self.state.source else {name: _default(name) for name in FRESH_TABLE}
            self._write(DRAFT, draft.to_toml())
            self.draft = draft
            self.unconfirm()
            self.change(source=source, dialect=dialect, **fresh)

    def confirm(self, schema: Schema) -> None:
        """Keep the schema that a person vouched for."""
        with self._writing:
            self._write(SCHEMA, schema.to_toml())
            self.schema = schema

    def unconfirm(self) -> None:
        """Something that was vouched for has changed: it must be confirmed again."""
        with self._writing:
            (self.folder / SCHEMA).unlink(missing_ok=True)
            self.schema = None

    def add_release(self, made: ReleaseRecord) -> None:
        """Remember a release."""
        with self._writing:
            self.change(releases=(*self.state.releases, made))

    @property
    def ledger(self) -> str:
        """The ledger's path or address, with a password that was typed since the start."""
        named = self.state.ledger or str(self.folder / BOOK)
        return self._passwords.get(named, named)

    def choose_ledger(self, address: str) -> None:
        """Keep the address of a ledger; a password in it is remembered until the workbench stops, and never written."""
        bare = shown_address(address.strip())
        self._passwords[bare] = address.strip()
        self.change(ledger=bare)

    @property
    def out(self) -> Path:
        """The folder of the next bundle: what was typed, or a new one in the project."""
        if self.state.out:
            return Path(self.state.out).expanduser()
        return self.folder / BUNDLES / f"release-{len(self.state.releases) + 1}"

    def _read(self) -> ProjectState:
        place = self.folder / STATE
        if not place.exists():
            return ProjectState()
        try:
            return ProjectState.model_validate_json(place.read_text(encoding="utf-8"))
        except (OSError, ValueError, ValidationError) as error:
            raise WorkbenchError(f"{str(place)!r} cannot be read as a project", next_step=OTHER_FOLDER) from error

    def _schema(self, name: str) -> Schema | None:
        place = self.folder / name
        if not place.exists():
            return None
        read = Schema.load(place)
        comments = place.read_text(encoding="utf-8").splitlines()
        notes = tuple(line.removeprefix("# ") for line in comments if line.startswith("# "))
        return _with_notes(read, notes)

    def _write(self, name: str, text: str) -> None:
        try:
            with atomic_file(self.folder / name, overwrite=True) as fresh:
                descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
        except ModelError as error:
            raise WorkbenchError(error.headline, error.problems, OTHER_FOLDER) from error


def _default(name: str) -> Any:
    return ProjectState.model_fields[name].get_default(call_default_factory=True)


def _with_notes(schema: Schema, notes: tuple[str, ...]) -> Schema:
    return dataclasses.replace(schema, notes=notes) if schema.is_draft else schema


def _prepare(folder: Path) -> None:
    """Make the folder, for its owner alone; refuse one that holds something else."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = {path.name for path in folder.iterdir()}
        if there and not there & set(OWN):
            raise WorkbenchError(f"{str(folder)!r} holds other things than a project", next_step=OTHER_FOLDER)
        folder.chmod(0o700)
    except OSError as error:
        raise WorkbenchError(f"{str(folder)!r} cannot be used: {error.strerror}", next_step=OTHER_FOLDER) from error


def _lock_folder(folder: Path) -> int:
    descriptor = os.open(folder / HELD, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise WorkbenchError(
            f"the project {str(folder)!r} is open in another workbench", next_step=f"stop that one, or {OTHER_FOLDER}"
        ) from error
    return descriptor
