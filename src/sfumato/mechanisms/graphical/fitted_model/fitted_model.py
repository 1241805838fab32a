"""FittedModel: sample rows again at no cost, save and load, guarantee attached.

Proof note. The model is computed from noisy answers that were paid for when it was fitted. Rows drawn from it, however
many and however often, are post-processing: they have the model's guarantee and cost nothing more. The same holds for
rows drawn with a seed, as long as the noise in the model was not: whoever knows the seed of a sample learns how rows
were drawn from the model, and nothing about the noise. So a seed stamps rows only where it was the seed of the fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.constraints.functional_dependence import apply_maps, notes_on_maps, with_estimated_maps
from sfumato.constraints.repair import count_repairs, repair, repair_notes
from sfumato.core.plan import refuse_memory
from sfumato.errors import ModelError, PlanError
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.within_group_values import (
    HasMarginals,
    ModelPairWeights,
    WithinGroupDependence,
    move_within_groups,
    values_in_groups,
    within_group_dependence,
)
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.progress import report_progress
from sfumato.reprs import ReprMixin
from sfumato.sampling.values import rows_table
from sfumato.schema import Schema
from sfumato.table.writing.frames import to_frame

if TYPE_CHECKING:
    from sfumato.mechanisms.graphical.fitted_model.sample_files import SampleParts

BATCH_ROWS = 250_000
BYTES_PER_VALUE = 48
"""Memory of one value while rows are drawn: group, score, place, cell, value, mask and the released column."""
FREE = (
    "Nothing more is spent: the model was paid for when it was fitted, and what is computed from it without the "
    "private table keeps its guarantee (post-processing)."
)


class GroupModel(HasMarginals, Protocol):
    """What every model of groups offers: the junction tree, the mixture of products, and the average of both."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        ...

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        ...

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> NDArray[np.int32]:
        """Return rows as codes of groups."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as arrays of numbers."""
        ...


@dataclass(frozen=True)
class ModelSample:
    """Synthetic rows, how many of them broke each rule and were mended, and how many were replaced for it."""

    table: pa.Table
    repaired: Mapping[str, int]
    replaced: int
    notes: tuple[str, ...] = ()
    """What the rules cost, where a reader must know."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel(ReprMixin):
    """A model of noisy marginals with everything that rows drawn from it need, and the guarantee that they carry."""

    schema: Schema
    names: tuple[str, ...]
    groupings: tuple[Grouping, ...] = field(repr=False)
    model: GroupModel = field(repr=False)
    method: str
    guarantee: Guarantee | None = None
    events: tuple[Event, ...] = field(default=(), repr=False)
    stamp: str | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def _line(self) -> str:
        stamp = f"{self.stamp.upper()}; " if self.stamp else ""
        promise = "no guarantee yet" if self.guarantee is None else self.guarantee.headline()
        return f"{stamp}{self.method} of table {self.schema.name!r}, {len(self.names)} columns; {promise}"

    def _lines(self) -> list[tuple[str, str]]:
        return [("columns", ", ".join(self.names)), ("rows by default", f"{self.rows:,}"), ("cost of rows", FREE)]

    def promised(self, guarantee: Guarantee, events: Sequence[Event], stamp: str | None) -> Self:
        """Return the model with the guarantee, the events and the stamp of the release that it came from."""
        return dataclasses.replace(self, guarantee=guarantee, events=tuple(events), stamp=stamp)

    def require_guarantee(self) -> Guarantee:
        """Return the guarantee; refuse a model that was taken from a method before its release promised anything."""
        if self.guarantee is None:
            raise ModelError(
                "this model carries no guarantee, so neither it nor its rows are written",
                next_step="take the model of a release: sfumato.release(...).model",
            )
        return self.guarantee

    @property
    def rows(self) -> int:
        """The noisy number of rows, rounded: how many are drawn unless another number is asked for."""
        return max(round(self.model.total), 1)

    @cached_property
    def coupling(self) -> WithinGroupDependence:
        """How places inside groups hang together: found in the model's tables, so that a file need not hold it."""
        return within_group_dependence(self.groupings, self.model)

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> ModelSample:
        """Draw rows and mend those that break a rule. ``rounding`` keeps counts as near to the model as can be."""
        codes = self.model.draw(rows, generator, rounding)
        places = self.coupling.places(codes, generator, rounding)
        drawn = values_in_groups(self.groupings, codes, generator, rounding, places)
        values, mapped = apply_maps(self.bound, move_within_groups(self.bound, self.groupings, codes, drawn, generator))
        mended = repair(self.bound, values, generator)
        notes = repair_notes(self.schema, values, mended.values, mended)
        repaired = count_repairs(mended.repaired, mapped)
        notes = (*notes_on_maps(self.schema, self.bound), *notes)
        return ModelSample(rows_table(self.schema, mended.values), repaired, mended.replaced, notes)

    @cached_property
    def bound(self) -> Schema:
        """The schema in which every dependence has a map: where none is public, the likeliest by the model.

        It follows from the model's numbers alone, so all rows that are ever drawn from the model agree.
        """
        noise = [float(sigma) for sigma in self.statistics.get("noise_of_tables", ())]
        evidence = ModelPairWeights(self.groupings, self.model, float(np.median(noise)) if noise else 0.0)
        return with_estimated_maps(self.schema, self.names, evidence)

    def sample(self, rows: int | None = None, seed: int | None = None, rounding: bool = True) -> pa.Table:
        """Return rows; the noisy number of them by default. A seed repeats them and is harmless (see the module)."""
        wanted = self._sound(rows)
        refuse_memory(
            wanted * len(self.names) * BYTES_PER_VALUE,
            f"{wanted:,} rows in one table",
            "use stream() or write_parquet(), which hold one batch at a time",
        )
        generator = np.random.default_rng(sound_seed(seed))
        return to_frame(self.draw(wanted, generator, rounding).table, "arrow", self.stamp)

    def stream(
        self, rows: int | None = None, batch_rows: int = BATCH_ROWS, seed: int | None = None, rounding: bool = True
    ) -> Iterator[pa.Table]:
        """Yield rows batch by batch, so that any number of them can be drawn in little memory."""
        return (to_frame(drawn.table, "arrow", self.stamp) for drawn in self.draws(rows, batch_rows, seed, rounding))

    def draws(
        self, rows: int | None = None, batch_rows: int = BATCH_ROWS, seed: int | None = None, rounding: bool = True
    ) -> Iterator[ModelSample]:
        """Yield the same batches with the number of repairs in each."""
        wanted, most = self._sound(rows), check_count(batch_rows, "batch_rows")
        return self.draws_by(np.random.default_rng(sound_seed(seed)), wanted, most, rounding)

    def draws_by(
        self, generator: np.random.Generator, rows: int, batch_rows: int = BATCH_ROWS, rounding: bool = True
    ) -> Iterator[ModelSample]:
        """Yield such batches from a stream of chance that the caller holds."""
        return (self._drawn(start, rows, batch_rows, generator, rounding) for start in range(0, rows, batch_rows))

    def _drawn(self, start: int, wanted: int, most: int, generator: np.random.Generator, rounding: bool) -> ModelSample:
        report_progress("drawing rows", start / wanted)
        return self.draw(min(most, wanted - start), generator, rounding)

    def write_parquet(
        self,
        path: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        rounding: bool = True,
        batch_rows: int = BATCH_ROWS,
        overwrite: bool = False,
    ) -> Path:
        """Stream rows to one Parquet file that carries the guarantee, and return its path."""
        from sfumato.mechanisms.graphical.fitted_model.sample_files import PARQUET, write_rows

        return write_rows(self, path, PARQUET, self.draws(rows, batch_rows, seed, rounding), overwrite).path

    def write_parts(
        self,
        folder: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        rounding: bool = True,
        part_rows: int | None = None,
        batch_rows: int = BATCH_ROWS,
        overwrite: bool = False,
        spark: Any = None,
        processes: int = 1,
    ) -> Path:
        """Write rows to a folder of Parquet files, one for each ``part_rows`` of them, and return its path.

        The parts are drawn here, by so many ``processes``, or by the workers of a Spark session (``spark``): then the
        folder must be one that all of them see under this path. With a seed the files are the same in all three
        cases. The folder appears when all of it is written: ``_manifest.json`` lists the parts with their hashes.
        """
        from sfumato.mechanisms.graphical.fitted_model.sample_folder import choose_runner, write_folder

        cut = self.parts(rows, seed, rounding, part_rows, batch_rows)
        return write_folder(self, folder, cut, choose_runner(spark, processes), overwrite).path

    def parts(
        self,
        rows: int | None = None,
        seed: int | None = None,
        rounding: bool = True,
        part_rows: int | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> SampleParts:
        """Return how :meth:`write_parts` cuts the rows, and from which chance each part is drawn."""
        from sfumato.mechanisms.graphical.fitted_model.sample_files import PART_ROWS, SampleParts

        return SampleParts.of(
            self._sound(rows), PART_ROWS if part_rows is None else part_rows, seed, rounding, batch_rows
        )

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the model to one file, guarantee included, and return its path."""
        from sfumato.mechanisms.graphical.fitted_model.model_file import write_model

        return write_model(self, path, overwrite)

    @classmethod
    def load(cls, path: str | Path) -> FittedModel:
        """Read a model from its file or from a bundle; ModelError where anything is wrong with it."""
        from sfumato.mechanisms.graphical.fitted_model.model_file import read_model

        return read_model(path)

    def _sound(self, rows: int | None) -> int:
        return self.rows if rows is None else check_count(rows, "rows")


def check_count(number: Any, name: str) -> int:
    """Return a whole number of at least 1, or refuse it by its name."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise PlanError(
            f"{name} must be a whole number of at least 1, found {number!r}", next_step=f"give {name}=20000"
        )
    return int(number)


def sound_seed(seed: int | None) -> int | None:
    """Return a seed that a generator can be made from, or refuse it."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"seed must be a whole number of at least 0, found {seed!r}", next_step="leave it out")
    return seed
