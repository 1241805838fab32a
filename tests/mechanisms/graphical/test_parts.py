"""Rows in a folder of parts: the same whoever draws them, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import process_pool
from sfumato.errors import ModelError, PlanError
from sfumato.mechanisms.graphical.fitted_model import sample_files as parts_module
from sfumato.mechanisms.graphical.fitted_model.sample_files import MOST_PARTS, SampleParts
from sfumato.mechanisms.graphical.fitted_model.sample_folder import MANIFEST, SUCCESS, read_manifest

COLUMNS = ["sex", "insured", "persons", "children"]
NAMES = ["_SUCCESS", "_manifest.json", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]


@pytest.fixture(scope="module")
def model(frame, schema):
    made = sfumato.release(sfumato.read(frame, schema), sfumato.MST(epsilon=3.0, columns=COLUMNS), ledger=False)
    return made.model


def bytes_of(folder) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_parts_are_whole_and_listed_with_their_hashes(model, tmp_path):
    folder = model.write_parts(tmp_path / "rows", 1000, part_rows=400)
    assert [path.name for path in sorted(folder.iterdir())] == NAMES
    manifest = read_manifest(folder)
    assert [part.rows for part in manifest.parts] == [334, 333, 333] and manifest.rows == 1000
    assert {part.name: part.sha256 for part in manifest.parts} == {
        name: found for name, found in bytes_of(folder).items() if name.startswith("part")
    }
    assert manifest.guarantee == model.guarantee and manifest.statement == model.guarantee.statement()
    table = ds.dataset(folder).to_table()
    assert table.num_rows == 1000 and set(table.column_names) == set(COLUMNS)
    assert (table["children"].to_numpy() < table["persons"].to_numpy()).all()
    first = pq.read_schema(folder / "part-00000.parquet").metadata
    assert model.guarantee.statement().startswith(first[b"sfumato.guarantee"].decode())


def test_a_seed_repeats_the_folder_whoever_draws_it(model, tmp_path):
    one = model.write_parts(tmp_path / "one", 700, seed=9, part_rows=300)
    two = model.write_parts(tmp_path / "two", 700, seed=9, part_rows=300, processes=2)
    assert bytes_of(one) == bytes_of(two)
    other = model.write_parts(tmp_path / "other", 700, seed=10, part_rows=300)
    fresh = [model.write_parts(tmp_path / name, 700, part_rows=300) for name in ("a", "b")]
    assert len({bytes_of(folder)["part-00000.parquet"] for folder in (one, other, *fresh)}) == 4


def test_parts_are_independent_of_each_other():
    parts = SampleParts.of(10, 3, seed=4, rounding=True, batch_rows=5)
    drawn = [parts.generator(place).random(4000) for place in range(parts.number)]
    assert [parts.size(place) for place in range(parts.number)] == [3, 3, 2, 2]
    # of 6 correlations of 4,000 numbers none is beyond 6 standard deviations (alpha below 1e-7)
    assert np.abs(np.corrcoef(drawn)[np.triu_indices(4, 1)]).max() < 6 / np.sqrt(4000)
    secure = [SampleParts.of(10, 3, None, True, 5).root for _ in range(2)]
    assert secure[0] != secure[1] and max(secure) > 2**64


def test_a_task_that_is_run_again_makes_the_same_file(model, tmp_path):
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import write_folder

    def twice(folder, parts):
        for place in range(parts.number):
            parts.write(folder, place)
        return [parts.write(folder, place) for place in reversed(range(parts.number))]

    again = write_folder(model, tmp_path / "again", model.parts(500, 3, part_rows=200), twice)
    assert again.rows == 500
    assert bytes_of(again.path) == bytes_of(model.write_parts(tmp_path / "once", 500, seed=3, part_rows=200))


def test_a_full_disk_leaves_nothing(model, tmp_path, monkeypatch):
    written = []

    def no_room(path):
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(parts_module, "flush_to_disk", no_room)
    with pytest.raises(ModelError, match="No space left on device") as caught:
        model.write_parts(tmp_path / "rows", 1000, part_rows=400)
    assert "nothing was left behind" in str(caught.value)
    assert list(tmp_path.iterdir()) == [] and len(written) == 2


def test_a_process_whose_disk_is_full_is_named(model, tmp_path, monkeypatch):
    resource = pytest.importorskip("resource", reason="limits of processes are known on Unix alone")
    kind = int(resource.RLIMIT_FSIZE)

    def limited(shared):
        import resource

        from sfumato import process_pool

        resource.setrlimit(kind, (900, 900))
        process_pool.start_worker(shared)  # of the other process, where it is what it was

    monkeypatch.setattr(process_pool, "start_worker", limited)
    with pytest.raises(ModelError, match=r"cannot write .*File too large"):
        model.write_parts(tmp_path / "rows", 1000, part_rows=400, processes=2)
    monkeypatch.setattr(process_pool, "start_worker", lambda shared: os._exit(9))
    with pytest.raises(ModelError, match="a process that drew rows has died"):
        model.write_parts(tmp_path / "rows", 1000, part_rows=400, processes=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["lost", "short", "doubled", "another"])
def test_a_folder_that_lacks_rows_gets_no_name(model, tmp_path, fault):
    from sfumato.mechanisms.graphical.fitted_model.sample_folder import write_folder

    def faulty(folder, parts):
        records = [parts.write(folder, place) for place in range(parts.number)]
        if fault == "lost":
            (folder / records[0].name).unlink()
        if fault == "another":
            (folder / records[0].name).write_bytes(b"PAR1")
        if fault == "short":
            records[1] = records[1].model_copy(update={"rows": 1})
        return [*records, records[0]] if fault == "doubled" else records

    with pytest.raises(ModelError, match="rows are missing"):
        write_folder(model, tmp_path / "rows", model.parts(300, part_rows=100), faulty)
    assert list(tmp_path.iterdir()) == []


def test_only_a_folder_of_rows_is_overwritten(model, tmp_path):
    folder = model.write_parts(tmp_path / "rows", 40, seed=1)
    with pytest.raises(ModelError, match="is not overwritten unless asked"):
        model.write_parts(folder, 50)
    assert read_manifest(model.write_parts(folder, 50, overwrite=True)).rows == 50
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(ModelError, match="is not a folder of rows"):
        model.write_parts(tmp_path / "mine", 50, overwrite=True)
    with pytest.raises(ModelError, match="there is no folder"):
        model.write_parts(tmp_path / "no" / "rows", 50)
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="is no folder"):
        model.write_parts(tmp_path / "file", 50, overwrite=True)


def test_a_changed_manifest_is_noticed(model, tmp_path):
    folder = model.write_parts(tmp_path / "rows", 40, seed=1)
    body = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**body, "rows": 41}))
    with pytest.raises(ModelError, match="was changed"):
        read_manifest(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(ModelError, match="no complete folder"):
        read_manifest(folder)
    assert (folder / SUCCESS).exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": 0}, "rows must be"),
        ({"part_rows": 0}, "part_rows must be"),
        ({"processes": 0}, "processes must be"),
        ({"seed": -1}, "seed must be"),
        ({"rows": MOST_PARTS + 1, "part_rows": 1}, "100,001 files, at most 100,000"),
        ({"spark": "local[2]"}, "spark must be a Spark session, found str"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_written(model, tmp_path, wrong, said):
    with pytest.raises((PlanError, ModelError), match=said):
        model.write_parts(tmp_path / "rows", **{"rows": 10, **wrong})
    assert list(tmp_path.iterdir()) == []


def test_a_seeded_fit_is_stamped_in_every_part(frame, schema, tmp_path):
    made = sfumato.release(sfumato.read(frame, schema), sfumato.MST(epsilon=3.0, columns=COLUMNS), ledger=False, seed=2)
    folder = made.model.write_parts(tmp_path / "rows", 20)
    assert pq.read_schema(folder / "part-00000.parquet").metadata[b"sfumato.stamp"] == b"not for release (seed 2)"
    assert read_manifest(folder).stamp == "not for release (seed 2)"
    assert (folder / "_rows.NOT-FOR-RELEASE.txt").exists()


def test_a_model_without_a_guarantee_is_not_drawn_from(model, tmp_path):
    import dataclasses

    with pytest.raises(ModelError, match="no guarantee"):
        dataclasses.replace(model, guarantee=None).write_parts(tmp_path / "rows", 10)
    assert list(tmp_path.iterdir()) == []
