"""Our loops in Spark's workers: one pass, the counts of DuckDB, GROUP BY with a warning where workers cannot."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import shutil
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SlowCountingWarning, TableError
from sfumato.table import counting
from sfumato.table.engines.spark import SparkEngine, parquet_files_of
from sfumato.table.engines.spark_worker import CountJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: install openjdk-17-jre-headless"),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pip install 'sfumato[spark]'"),
    # PySpark 4 and Ibis warn about pandas 3 and about sockets on their own account.
    pytest.mark.filterwarnings("ignore"),
]
VISITS = sfumato.Schema.parse("""
[table]
name = "visits"
person = "id"
rows_per_person = 2
[columns.id]
kind = "category"
role = "identifier"
[columns.ward]
kind = "category"
values = ["north", "south", "east"]
missing = true
[columns.age]
kind = "integer"
bounds = [0, 90]
outside = "clamp"
[columns.cost]
kind = "number"
bounds = [0.0, 1000.0]
bins = 20
outside = "missing"
missing = true
[columns.day]
kind = "date"
bounds = [2020-01-01, 2020-12-31]
bins = 12
outside = "clamp"
[columns.insured]
kind = "boolean"
missing = true
[[rules]]
check = "age >= 0"
""")
VISIT_SETS = list(itertools.combinations(("ward", "age", "cost", "day", "insured"), 2))


def visits(rows: int = 400) -> pd.DataFrame:
    """Several rows of a person, values beyond the bounds, and missing ones of every kind."""
    rng = np.random.default_rng(11)
    wards = np.array(["north", "south", "east", None], dtype=object)
    return pd.DataFrame(
        {
            "id": rng.integers(0, rows // 5, rows).astype(str),
            "ward": wards[rng.integers(0, 4, rows)],
            "age": rng.integers(0, 130, rows),
            "cost": np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(600, 400, rows), 2)),
            "day": (pd.Timestamp("2019-11-01") + pd.to_timedelta(rng.integers(0, 500, rows), "D")).date,
            "insured": np.array([True, False, None], dtype=object)[rng.integers(0, 3, rows)],
        }
    )


@pytest.fixture(scope="module")
def visits_on_spark(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    for part, rows in visits().groupby(np.arange(400) // 150):
        rows.to_parquet(folder / f"part-{part}.parquet", index=False)
    return spark.read.parquet(str(folder)).repartition(3)


@pytest.fixture
def passes(monkeypatch):
    """The jobs that went to the workers; GROUP BY is forbidden."""
    seen, count = [], SparkEngine.count

    def watched(self, expression, job):
        seen.append(job)
        return count(self, expression, job)

    monkeypatch.setattr(SparkEngine, "count", watched)
    monkeypatch.setattr(counting, "count_nonempty_cells", lambda *_: pytest.fail("a GROUP BY was sent"))
    return seen


def equal(theirs, ours) -> bool:
    assert theirs.keys() == ours.keys()
    return all(np.array_equal(theirs[names], ours[names]) for names in ours)


@pytest.mark.parametrize("persons", [True, False])
def test_persons_clamping_and_missing_values_count_as_on_duckdb(visits_on_spark, passes, persons):
    schema = VISITS if persons else dataclasses.replace(VISITS, person=None, rows_per_person=1)
    theirs = sfumato.read(visits_on_spark, schema)
    ours = sfumato.read(visits(), schema)
    assert theirs.check() == ours.check() == ()
    expected = ours.marginals(VISIT_SETS)
    assert equal(theirs.marginals(VISIT_SETS), expected)
    assert len(passes) == 1
    assert expected["ward", "age"].sum() < 400 if persons else expected["ward", "age"].sum() == 400


def test_many_cells_are_summed_by_spark(visits_on_spark, passes, monkeypatch):
    monkeypatch.setattr("sfumato.table.engines.spark.FEW_CELLS", 0)
    sets = [("ward", "age"), ("cost",)]
    assert equal(sfumato.read(visits_on_spark, VISITS).marginals(sets), sfumato.read(visits(), VISITS).marginals(sets))


def test_a_task_that_is_run_again_counts_once(visits_on_spark, passes, monkeypatch):
    task = CountJob.task

    def stumbling(self):
        count = task(self)

        def first_in_vain(batches):
            from pyspark import TaskContext

            found = list(count(batches))
            if TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("lost after counting")
            yield from found

        return first_in_vain

    monkeypatch.setattr(CountJob, "task", stumbling)
    sets = [("ward", "insured")]
    assert equal(sfumato.read(visits_on_spark, VISITS).marginals(sets), sfumato.read(visits(), VISITS).marginals(sets))


def test_workers_without_the_package_are_told_and_rows_are_grouped(spark, visits_on_spark, monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare))
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    monkeypatch.setattr("sfumato.table.engines.spark._fit", {})
    sets = [("ward", "insured"), ("age",)]
    with pytest.warns(SlowCountingWarning, match=r"a worker's Python lacks \w+: .*PYSPARK_PYTHON"):
        theirs = sfumato.read(visits_on_spark, VISITS).marginals(sets)
    assert equal(theirs, sfumato.read(visits(), VISITS).marginals(sets))


def test_workers_of_another_version_do_not_count(visits_on_spark, monkeypatch):
    table, sets = sfumato.read(visits_on_spark, VISITS), [("ward", "insured")]
    expected = sfumato.read(visits(), VISITS).marginals(sets)
    monkeypatch.setattr(counting, "CountJob", lambda columns, chosen: CountJob(columns, chosen, version="0.0"))
    with pytest.warns(SlowCountingWarning, match="another version: sfumato .* on a worker, 0.0 on the driver"):
        assert equal(table.marginals(sets), expected)
    monkeypatch.setattr("sfumato.table.engines.spark._fit", {})
    monkeypatch.setattr("sfumato.table.engines.spark.__version__", "0.0")
    with pytest.warns(SlowCountingWarning, match="its workers have sfumato .*, not 0.0"):
        assert equal(table.marginals(sets), expected)


def test_settings_of_the_session_are_left_as_they_were(spark, visits_on_spark):
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before, python = spark.conf.get(setting), spark.sparkContext.pythonExec
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowCountingWarning)
        sfumato.read(visits_on_spark, VISITS).rehearse()
    assert (spark.conf.get(setting), spark.sparkContext.pythonExec) == (before, python)


def test_values_outside_the_schema_are_refused_by_column(spark):
    rows = spark.createDataFrame([("north", 5), ("west", 6), ("west", 7)], ["ward", "age"])
    facts = (
        '[table]\nname="t"\n[columns.ward]\nkind="category"\nvalues=["north"]\n'
        '[columns.age]\nkind="integer"\nbounds=[0,6]\n'
    )
    with pytest.raises(TableError) as caught:
        sfumato.read(rows, sfumato.Schema.parse(facts)).marginals([("ward", "age")])
    assert "ward: 2 values outside the schema" in str(caught.value)
    assert "age: 1 values outside the schema" in str(caught.value)


def test_bins_beyond_what_a_query_can_name_are_counted_and_refused_before_a_spend(spark, passes):
    facts = '[table]\nname="t"\n[columns.x]\nkind="integer"\nbounds=[0,20000]\nbins=20001\n'
    table = sfumato.read(spark.range(0, 20001, 2), sfumato.Schema.parse(facts.replace("columns.x", "columns.id")))
    with pytest.raises(TableError, match="names every bin"):
        table.rehearse()
    counts = table.marginals([("id",)])["id",]
    assert counts[::2].tolist() == [1] * 10001 and counts.sum() == 10001


PLAIN = sfumato.Schema.parse("""
[table]
name = "t"
[columns.a]
kind = "category"
values = ["x", "y"]
missing = true
[columns.n]
kind = "integer"
bounds = [0, 9]
bins = 10
[columns.c]
kind = "number"
bounds = [0.0, 1.0]
bins = 4
missing = true
""")
FILE_SETS = [("a", "n"), ("c",), ("n", "c")]


def plain(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "a": np.array(["x", "y", None], dtype=object)[rng.integers(0, 3, rows)],
            "n": rng.integers(0, 10, rows),
            "c": np.where(rng.random(rows) < 0.2, np.nan, rng.random(rows)),
        }
    )


@pytest.fixture
def files(spark, tmp_path):
    """Two files, the first of several row groups, in a folder whose name needs an escape in an address."""
    folder = tmp_path / "two files"
    folder.mkdir()
    plain()[:300].to_parquet(folder / "1.parquet", index=False, row_group_size=70)
    plain()[300:].to_parquet(folder / "2.parquet", index=False)
    return spark.read.parquet(str(folder))


def test_workers_read_plain_parquet_themselves(files, passes, monkeypatch):
    monkeypatch.setattr("sfumato.table.engines.spark.SPLIT_BYTES", 2000)
    table = sfumato.read(files, PLAIN)
    assert len(table.source.engine.files.splits()) > 3
    assert table.check() == ()
    assert equal(table.marginals(FILE_SETS), sfumato.read(plain(), PLAIN).marginals(FILE_SETS))
    assert passes == []


def test_what_is_more_than_files_is_read_by_spark(files, passes):
    one = plain().query("n != 3")
    table = sfumato.read(files.filter("n != 3"), PLAIN)
    assert table.source.engine.files is None
    assert equal(table.marginals(FILE_SETS), sfumato.read(one, PLAIN).marginals(FILE_SETS))
    assert len(passes) == 1
    for other in (files.limit(5), files.union(files), files.withColumnRenamed("n", "m"), files.sample(0.5, seed=1)):
        assert parquet_files_of(other) is None


def test_partition_folders_are_read_by_spark(spark, files, tmp_path):
    files.write.partitionBy("a").parquet(str(tmp_path / "parts"))
    table = sfumato.read(spark.read.parquet(str(tmp_path / "parts")), PLAIN)
    assert table.source.engine.files is None
    assert equal(table.marginals(FILE_SETS), sfumato.read(plain(), PLAIN).marginals(FILE_SETS))


def test_files_of_other_types_are_left_to_spark(files, passes, monkeypatch):
    wrong = pa.schema([("a", pa.string()), ("n", pa.int32()), ("c", pa.float64())])
    monkeypatch.setattr("sfumato.table.engines.spark.SparkParquetFiles.kinds", lambda *_: wrong)
    table = sfumato.read(files, PLAIN)
    assert equal(table.marginals([("a", "n", "c")]), sfumato.read(plain(), PLAIN).marginals([("a", "n", "c")]))
    assert len(passes) == 1


def test_strange_values_in_files_are_named_by_the_check(spark, tmp_path):
    plain().assign(n=np.arange(500) % 12).to_parquet(tmp_path / "t.parquet", index=False)
    (violation,) = sfumato.read(spark.read.parquet(str(tmp_path / "t.parquet")), PLAIN).check()
    assert (violation.column, violation.count) == ("n", 82)
