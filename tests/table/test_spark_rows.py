"""Synthetic rows written by Spark's workers: the files of one process, or a named error and no folder."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import sys

import pytest

import sfumato
from sfumato.errors import ModelError
from sfumato.mechanisms.graphical.fitted_model import spark_sampling
from sfumato.mechanisms.graphical.fitted_model.sample_folder import read_manifest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: install openjdk-17-jre-headless"),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pip install 'sfumato[spark]'"),
    # PySpark 4 warns about pandas 3 and about sockets on its own account.
    pytest.mark.filterwarnings("ignore"),
]
COLUMNS = ["sex", "insured", "persons", "children"]


@pytest.fixture(scope="module")
def model(frame, schema):
    made = sfumato.release(sfumato.read(frame, schema), sfumato.MST(epsilon=3.0, columns=COLUMNS), ledger=False)
    return made.model


def bytes_of(folder) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_workers_write_the_files_that_one_process_writes(spark, model, tmp_path):
    theirs = model.write_parts(tmp_path / "theirs", 900, seed=5, part_rows=250, spark=spark)
    ours = model.write_parts(tmp_path / "ours", 900, seed=5, part_rows=250)
    assert bytes_of(theirs) == bytes_of(ours) and len(read_manifest(theirs).parts) == 4
    rows = spark.read.parquet(str(theirs))
    assert rows.count() == 900 and rows.filter("children >= persons").count() == 0


def test_tasks_that_fail_after_writing_double_no_rows(spark, model, tmp_path, monkeypatch):
    task = spark_sampling._task

    def stumbling(folder, parts, version):
        draw = task(folder, parts, version)

        def first_in_vain(batches):
            from pyspark import TaskContext

            found = list(draw(batches))
            if TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("lost after writing")
            yield from found

        return first_in_vain

    monkeypatch.setattr(spark_sampling, "_task", stumbling)
    folder = model.write_parts(tmp_path / "rows", 500, seed=5, part_rows=250, spark=spark)
    monkeypatch.undo()
    assert spark.read.parquet(str(folder)).count() == 500
    assert bytes_of(folder) == bytes_of(model.write_parts(tmp_path / "ours", 500, seed=5, part_rows=250))


def test_a_worker_whose_disk_is_full_is_named_and_nothing_is_left(spark, model, tmp_path, monkeypatch):
    task = spark_sampling._task

    def failing(folder, parts, version):
        draw = task(folder, parts, version)

        def full(batches):
            import errno
            import os

            from sfumato.mechanisms.graphical.fitted_model import sample_files as module

            def no_room(_):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            before, module.flush_to_disk = module.flush_to_disk, no_room
            try:
                yield from draw(batches)
            finally:
                module.flush_to_disk = before

        return full

    monkeypatch.setattr(spark_sampling, "_task", failing)
    with pytest.raises(ModelError, match="a worker cannot write its part: No space left on device"):
        model.write_parts(tmp_path / "rows", 500, spark=spark)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_workers_do_not_see_is_named(spark, model, tmp_path, monkeypatch):
    task = spark_sampling._task
    monkeypatch.setattr(spark_sampling, "_task", lambda folder, *rest: task(folder + "-elsewhere", *rest))
    with pytest.raises(ModelError, match="a worker does not see the folder") as caught:
        model.write_parts(tmp_path / "rows", 500, spark=spark)
    assert "mounted under the same path" in str(caught.value) and list(tmp_path.iterdir()) == []


def test_workers_without_the_package_are_refused_before_anything_is_written(spark, model, monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare))
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    monkeypatch.setattr("sfumato.table.engines.spark._fit", {})
    with pytest.raises(ModelError, match=r"cannot draw rows: a worker's Python lacks \w+") as caught:
        model.write_parts(tmp_path / "rows", 500, spark=spark)
    assert "PYSPARK_PYTHON" in str(caught.value) and [path.name for path in tmp_path.iterdir()] == ["python"]


def test_the_command_line_draws_by_a_session(spark, model, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from sfumato.cli.main import app

    model.save(tmp_path / "model.sfumato")
    asked = []
    monkeypatch.setattr(spark_sampling, "open_session", lambda master: asked.append(master) or spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: asked.append("stopped"))
    call = ["sample", str(tmp_path / "model.sfumato"), "--rows", "300", "--out", str(tmp_path / "rows")]
    answer = CliRunner().invoke(app, [*call, "--spark", "spark://m:7077", "--part-rows", "100"])
    monkeypatch.undo()
    assert answer.exit_code == 0, answer.output
    assert asked == ["spark://m:7077", "stopped"] and read_manifest(tmp_path / "rows").rows == 300
