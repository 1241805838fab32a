"""Rows of a fitted model in one file: streamed batch by batch, with the guarantee where the format can carry it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import ModelError
from sfumato.methods.graphical.saved.model import Drawn, FittedModel
from sfumato.release.stamp import parquet_metadata, warning
from sfumato.rows.atomic import whole_file
from sfumato.table.writing.formats import WRITERS, require_installed, suffix_of

PARQUET = ".parquet"
"""The one format that carries the guarantee and the stamp itself."""


@dataclass(frozen=True)
class Written:
    """Where rows were written, how many, how many broke each rule and were mended, and how many were replaced."""

    path: Path
    rows: int
    repaired: Mapping[str, int]
    replaced: int
    notes: tuple[str, ...] = ()
    """What the rules cost the first batch, where a reader must know."""


def format_of(path: str | Path) -> str:
    """Return the format that a file name asks for; one that cannot be written here is refused."""
    suffix = suffix_of(path)
    if suffix is None:
        raise ModelError(
            f"{str(path)!r} ends in none of {', '.join(WRITERS)}", next_step="choose a name such as people.parquet"
        )
    require_installed(suffix)
    return suffix


def warning_place(target: Path) -> Path:
    """Return where the warning lies that a file of a seeded fit cannot carry itself, unless it is Parquet."""
    return target.with_name(f"{target.name}.NOT-FOR-RELEASE.txt")


def write_rows(
    model: FittedModel,
    path: str | Path,
    kind: str,
    batches: Iterator[Drawn],
    overwrite: bool = False,
) -> Written:
    """Write batches to one file, in the forms that the schema states; when anything fails, no rows are left behind."""
    target, metadata = Path(path).absolute(), parquet_metadata(model.require_guarantee(), model.stamp)
    with whole_file(target, overwrite) as fresh:
        counts = fill_file(fresh, opener(kind, model), batches, metadata)
        if model.stamp and kind != PARQUET:
            with whole_file(warning_place(target), overwrite=True) as note:
                note.write_text(warning(model.stamp), encoding="utf-8")
    return Written(target, *counts)


def opener(kind: str, model: FittedModel) -> Callable[[Path, pa.Schema], Any]:
    """Return what opens a file of a format for rows of a model."""
    return lambda path, fields: WRITERS[kind](path, fields, model.schema)


def fill_file(
    fresh: Path,
    opened: Callable[[Path, pa.Schema], Any],
    batches: Iterator[Drawn],
    metadata: dict[str, str],
) -> tuple[int, dict[str, int], int, tuple[str, ...]]:
    """Write batches; return the rows, how many were mended for each rule, how many replaced, and notes."""
    rows, replaced, repaired, notes = 0, 0, Counter[str](), ()
    with ExitStack() as stack:
        writer: Any = None
        for drawn in batches:
            writer = writer or stack.enter_context(opened(fresh, drawn.table.schema.with_metadata(metadata)))
            writer.write_table(drawn.table.replace_schema_metadata(metadata))
            notes = notes if rows else drawn.notes
            rows, replaced = rows + drawn.table.num_rows, replaced + drawn.replaced
            repaired.update(drawn.repaired)
    return rows, dict(repaired), replaced, notes
