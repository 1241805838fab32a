"""Arrays and one JSON text in a zip file, read back with suspicion: nothing in the file is ever executed.

Members are stored without compression, so that a small file cannot ask for much memory. Arrays are plain npy; their
type, shape and hash are those that the JSON text states, or they are refused. Times are left out: the same content
gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

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
