"""Model file: JSON and arrays in a zip, versioned, sealed and checked when read.

Members are stored without compression, so that a small file cannot ask for much memory. Arrays are plain npy; their
type, shape and hash are those that the JSON text states, or they are refused. Times are left out: the same content
gives the same bytes.

``model.json`` holds the public schema, the guarantee with its events, and type, shape and hash of every array; a seal
over that text shows any change to it. The arrays are the model's own, and for each column where its fine cells start,
the group of each and its share of the group. All of it is public facts and noisy answers: as public as the release.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.atomic_files import atomic_file
from sfumato.bounded_reads import is_file, is_folder
from sfumato.errors import ModelError, SfumatoError
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel, GroupModel
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel
from sfumato.privacy.accounting.accountant import composed_totals  # knows every kind of event
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee, WithGuaranteeAndEvents
from sfumato.privacy.canonical_json import SealedDocument, to_jsonable
from sfumato.sampling.fine_cells import refined_column
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.version import __version__

NO_TIME = (1980, 1, 1, 0, 0, 0)

NUMERIC = "biuf"

NPY_VERSION = (1, 0)


class ArrayRecord(BaseModel):
    """Type, shape and hash of one stored array."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dtype: str
    shape: tuple[int, ...]
    sha256: str


def array_bytes(array: NDArray[Any]) -> bytes:
    """Return an array of numbers as npy."""
    if array.dtype.kind not in NUMERIC:
        raise ValueError(f"an array of type {array.dtype} cannot be stored")
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=NPY_VERSION, allow_pickle=False)
    return out.getvalue()


def record_of(array: NDArray[Any], raw: bytes) -> ArrayRecord:
    """Return what the JSON text must say about an array."""
    return ArrayRecord(dtype=array.dtype.str, shape=array.shape, sha256=hashlib.sha256(raw).hexdigest())


def read_array(name: str, raw: bytes, record: ArrayRecord) -> NDArray[Any]:
    """Return an array that is what its record says; ValueError where it is not."""
    if hashlib.sha256(raw).hexdigest() != record.sha256:
        raise ValueError(f"{name} was changed: its hash is not the one that the file states")
    source = io.BytesIO(raw)
    if np.lib.format.read_magic(source) != NPY_VERSION:
        raise ValueError(f"{name} is npy of another version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(source)
    if dtype.kind not in NUMERIC or (dtype.str, shape) != (record.dtype, record.shape):
        raise ValueError(f"{name} is not an array of the stated type and shape")
    body = raw[source.tell() :]
    if len(body) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} is not as long as its shape demands")
    # the order in memory decides the order of sums, and so the last bits of what is computed from the array
    return np.frombuffer(body, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")


def write_members(path: Path, members: Mapping[str, bytes]) -> None:
    """Write named members to a zip file, uncompressed and without times."""
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED) as archive:
        for name, raw in members.items():
            archive.writestr(zipfile.ZipInfo(name, NO_TIME), raw)


def read_members(path: Path) -> dict[str, bytes]:
    """Return all members of such a file; ValueError where it was not written by :func:`write_members`."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise ValueError("the file names a member twice")
        # overlapping members could ask for more memory than the file is long
        if any(i.compress_type != zipfile.ZIP_STORED or i.flag_bits & 1 for i in infos) or (
            sum(info.file_size for info in infos) > path.stat().st_size
        ):
            raise ValueError("the file holds members that are compressed, encrypted or overlapping")
        return {name: archive.read(name) for name in names}


FORMAT = 1

LAYOUT = SealedDocument(indent=1)

DOCUMENT = "model.json"

MODELS: dict[str, type[GraphicalModel] | type[MixtureModel] | type[AveragedModel]] = {
    "tree": GraphicalModel,
    "mixture": MixtureModel,
    "averaged": AveragedModel,
}

BUNDLED = "model.sfumato"
"""Name of the model's file in a bundle."""

SLACK = 1e-6

AGAIN = "take the file again from where it was saved; a damaged model is never used"

DAMAGE = (ArithmeticError, AttributeError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What reading a damaged file may raise; RuntimeError stands for encryption and unknown compression too."""

Arrays = Mapping[str, NDArray[Any]]


class ModelDocument(WithGuaranteeAndEvents):
    """The content of model.json."""

    format: Literal[1] = FORMAT
    version: str
    """The version of sfumato that wrote the file."""
    method: str
    engine: str
    names: tuple[str, ...]
    table_schema: str
    """The public schema of the table, as TOML."""
    guarantee: Guarantee
    events: tuple[Event, ...]
    stamp: str | None = None
    statistics: dict[str, Any]
    arrays: dict[str, ArrayRecord]
    seal: str = ""


def write_model(model: FittedModel, path: str | Path, overwrite: bool = False) -> Path:
    """Write a model that carries a guarantee to one file and return its path."""
    target = Path(path).absolute()
    guarantee = model.require_guarantee()
    arrays = _arrays(model)
    members = {f"{name}.npy": array_bytes(array) for name, array in arrays.items()}
    records = {name: record_of(array, members[f"{name}.npy"]) for name, array in arrays.items()}
    text = LAYOUT.text(LAYOUT.sealed(_document(model, guarantee, records).model_dump(mode="json")))
    with atomic_file(target, overwrite) as fresh:
        write_members(fresh, {DOCUMENT: text.encode(), **members})
    return target


def _arrays(model: FittedModel) -> dict[str, NDArray[Any]]:
    arrays = {f"engine/{name}": np.asarray(array) for name, array in model.model.to_arrays().items()}
    for number, grouping in enumerate(model.groupings):
        arrays |= {f"groups/{number}": grouping.groups, f"shares/{number}": grouping.shares}
        if grouping.column.is_ordered:
            arrays[f"starts/{number}"] = grouping.column.starts
    return arrays


def _document(model: FittedModel, guarantee: Guarantee, records: dict[str, ArrayRecord]) -> ModelDocument:

    return ModelDocument(
        version=__version__,
        method=model.method,
        engine=_model_name(model.model),
        names=model.names,
        table_schema=model.schema.to_toml(),
        guarantee=guarantee,
        events=model.events,
        stamp=model.stamp,
        statistics=to_jsonable(dict(model.statistics)),
        arrays=records,
    )


def _model_name(model: GroupModel) -> str:
    for name, cls in MODELS.items():
        if type(model) is cls:
            return name
    raise ModelError(f"a model of type {type(model).__name__} has no format on disk", next_step="sample it right away")


def read_model(path: str | Path) -> FittedModel:
    """Read a model from its file, or from the bundle that holds one; ModelError where anything is wrong with it."""
    place = Path(path)
    place = place / BUNDLED if is_folder(place) else place
    if not is_file(place):
        raise ModelError(
            f"there is no fitted model at {str(path)!r}",
            next_step=f"give a file that save() wrote, or a bundle that holds {BUNDLED}",
        )
    with _raise_model_error(place):
        members = read_members(place)
        document = _read_document(members)
        if {DOCUMENT, *(f"{name}.npy" for name in document.arrays)} != set(members):
            raise ValueError(f"{DOCUMENT} does not list the arrays that the file holds")
        arrays = {name: read_array(name, members[f"{name}.npy"], record) for name, record in document.arrays.items()}
        return _model_from(document, arrays)


@contextmanager
def _raise_model_error(place: Path) -> Generator[None]:
    """Turn whatever a damaged file leads to into one named error."""
    headline = f"{str(place)!r} is not a sound fitted model"
    try:
        yield
    except ModelError:
        raise
    except ValidationError as error:
        problems = [f"{DOCUMENT}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3]]
        raise ModelError(headline, problems, AGAIN) from error
    except SfumatoError as error:
        raise ModelError(headline, [error.headline, *error.problems], AGAIN) from error
    except zipfile.BadZipFile as error:
        raise ModelError(headline, [f"it is not a whole zip file ({error})"], AGAIN) from error
    except DAMAGE as error:
        raise ModelError(headline, [str(error) or type(error).__name__], AGAIN) from error


def _read_document(members: Mapping[str, bytes]) -> ModelDocument:
    if DOCUMENT not in members:
        raise ValueError(f"it holds no {DOCUMENT}")
    body: Any = json.loads(members[DOCUMENT].decode())
    version = body.get("format") if isinstance(body, dict) else None
    if version != FORMAT:
        raise ModelError(
            f"a fitted model of format {version!r} is not understood",
            next_step=f"this release reads format {FORMAT}; use the version that wrote it",
        )
    if not LAYOUT.holds(body):
        raise ValueError(f"{DOCUMENT} was changed after it was written: its seal does not hold")
    for event in body.get("events", ()):
        Event.from_json(event)
    return ModelDocument.model_validate(body)


def _model_from(document: ModelDocument, arrays: Arrays) -> FittedModel:
    schema = Schema.parse(document.table_schema, "the schema of the table")
    problems = list(_fact_problems(document, schema))
    if problems:
        raise ModelError("the facts in a fitted model contradict each other", problems, AGAIN)
    columns = [_fine_column(schema[name], number, arrays) for number, name in enumerate(document.names)]
    groupings = tuple(_grouping(column, number, arrays) for number, column in enumerate(columns))
    model = _group_model(
        document.engine,
        {name.removeprefix("engine/"): array for name, array in arrays.items() if name.startswith("engine/")},
    )
    _refuse_model(model, groupings)
    return FittedModel(
        schema=schema,
        names=document.names,
        groupings=groupings,
        model=model,
        method=document.method,
        guarantee=document.guarantee,
        events=document.events,
        stamp=document.stamp,
        statistics=document.statistics,
    )


def _fact_problems(document: ModelDocument, schema: Schema) -> Generator[str]:
    if not document.names or not set(document.names) <= set(schema.releasable):
        yield f"the columns {', '.join(document.names)} are not all among those that may be released"
    guarantee = document.guarantee
    if {guarantee.table, *(event.table for event in document.events)} != {schema.name}:
        yield "guarantee, events and schema do not speak of the same table"
    if guarantee.formal and composed_totals(guarantee, document.events) != (
        guarantee.exact_epsilon,
        guarantee.exact_delta,
    ):
        yield "the events do not compose to the guarantee"
    if (document.stamp is not None) != (guarantee.randomness == "seeded"):
        yield "the stamp and the guarantee disagree on how the noise was drawn"


def _fine_column(column: Column, number: int, arrays: Arrays) -> Column:
    """Return the column with the fine cells that its groups are made of."""
    if not column.is_ordered:
        return column
    starts = arrays[f"starts/{number}"]
    low, high = column.numeric_bounds
    inside = starts.dtype == np.float64 and starts.ndim == 1 and len(starts) > 0 and starts[0] == low
    # written so that a NaN fails
    if not (inside and bool((np.diff(starts) > 0).all()) and starts[-1] <= high):
        raise ValueError(f"the cells of column {column.name!r} do not rise from {low} to at most {high}")
    return column if np.array_equal(starts, column.starts) else refined_column(column, starts)


def _grouping(column: Column, number: int, arrays: Arrays) -> Grouping:
    groups, shares = arrays[f"groups/{number}"], arrays[f"shares/{number}"]
    if groups.dtype != np.int32 or shares.dtype != np.float64:
        raise ValueError(f"the groups of column {column.name!r} are not of the expected type")
    return Grouping(column=column, groups=groups, shares=shares, size=int(groups.max()) + 1)


def _group_model(name: str, arrays: Arrays) -> GroupModel:
    if any(np.isnan(array).any() or np.isposinf(array).any() for array in arrays.values()):
        raise ValueError("the fitted tables hold values that are not numbers")
    if name not in MODELS:
        raise ValueError(f"the engine {name!r} is unknown; there are {', '.join(MODELS)}")
    return MODELS[name].from_arrays(arrays)


def _refuse_model(model: GroupModel, groupings: Sequence[Grouping]) -> None:
    """Refuse a model of other sizes, or one whose one-way tables do not sum to its number of rows."""
    if tuple(model.sizes) != tuple(grouping.size for grouping in groupings):
        raise ValueError("the fitted tables do not have the sizes of the groups")
    if not (math.isfinite(model.total) and model.total > 0):
        raise ValueError("the number of rows that the model stands for is not a positive number")
    for number, size in enumerate(model.sizes):
        table = model.marginal((number,))
        if (
            table.shape != (size,)
            or not (table >= 0).all()
            or not math.isclose(table.sum(), model.total, rel_tol=SLACK)
        ):
            raise ValueError(f"the fitted table of column {groupings[number].column.name!r} is not one of counts")
