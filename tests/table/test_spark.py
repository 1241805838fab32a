"""The same counts where the rows stay on another engine: PySpark in local mode, started here."""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.errors import TableError
from sfumato.table import counting
from sfumato.table.engines.spark_worker import CountJob
from table.kept_cases import counted, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: install openjdk-17-jre-headless"),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pip install 'sfumato[spark]'"),
    # PySpark 4 and Ibis warn about pandas 3 and about sockets on their own account.
    pytest.mark.filterwarnings("ignore"),
]
SETS = [("age", "sex"), ("income",), ("status", "hours", "insured"), ("moved_in", "education"), ("sex", "age")]


def test_spark_counts_as_duckdb_does(spark_frame, frame, schema):
    remote = sfumato.read(spark_frame, schema)
    assert not remote.source.engine.streams
    assert remote.check() == ()
    theirs, ours = remote.marginals(SETS), sfumato.read(frame, schema).marginals(SETS)
    for names in SETS:
        assert np.array_equal(theirs[names], ours[names]), names


def test_spark_groups_all_tables_in_one_query(spark_frame, frame, schema, monkeypatch):
    monkeypatch.setattr(counting, "GROUPED_CELLS", 300)  # several covering tables
    monkeypatch.setattr(counting, "_count_one_by_one", lambda *_: pytest.fail("tables were counted one by one"))
    names = list(dict.fromkeys(name for members in SETS for name in members))
    theirs = counting._count_by_group_by(sfumato.read(spark_frame, schema).source.engine, schema, names, SETS)
    ours = sfumato.read(frame, schema).marginals(SETS)
    assert len(theirs) > 1
    assert all(np.array_equal(counting._find(theirs, members), ours[members]) for members in SETS)


def five_columns(schema) -> sfumato.Schema:
    """Five columns are enough: every method asks for its own tables, and each costs a query."""
    columns = tuple(schema[name] for name in ("region", "age", "sex", "income", "persons"))
    return dataclasses.replace(schema, columns=columns, rules=())


def test_every_method_releases_from_spark_what_it_releases_from_a_file(spark_frame, frame, schema):
    """To the last digit with the same seed: integer counts and sums do not depend on the order of rows."""
    few = five_columns(schema)
    for name, info in sfumato.methods().items():
        table = sfumato.read(spark_frame, few)
        theirs = sfumato.release(table, info.cls.example(few), seed=1, ledger=False)
        ours = sfumato.release(sfumato.read(frame, few), info.cls.example(few), seed=1, ledger=False)
        assert theirs.tables.keys() == ours.tables.keys() and theirs.plan.reading.engine == "Spark"
        for key, made in ours.tables.items():
            assert theirs.tables[key].equals(made), name
        assert theirs.events == ours.events


def test_a_disk_that_is_full_on_a_worker_is_named_and_what_was_spent_is_recorded(
    spark_frame, frame, schema, monkeypatch, tmp_path
):
    task, few = CountJob.task, five_columns(schema)

    def failing(self):
        count = task(self)

        def full(batches):
            import errno
            import os

            for batch in batches:
                if batch.num_rows:  # a rehearsal on no rows goes well
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield from count(iter(()))

        return full

    monkeypatch.setattr(CountJob, "task", failing)
    ledger = sfumato.Ledger(tmp_path / "ledger.db")
    ledger.open_table(few.name, epsilon=5)
    table = sfumato.read(spark_frame.filter("age >= 0"), few)
    method = sfumato.Contingency(["sex", "region"], epsilon=1.0)
    with pytest.raises(TableError, match="no space left on device") as caught:
        sfumato.release(table, method, ledger=ledger)
    assert "spark.local.dir" in str(caught.value) and "epsilon 1 is spent" in caught.value.__notes__[0]
    (entry,) = ledger.history()
    assert ledger.outcomes()[entry.sequence].kind == "lost"
    monkeypatch.undo()
    expected = sfumato.read(frame, few).marginals([("sex", "region")])["sex", "region"]
    assert np.array_equal(table.marginals([("sex", "region")])["sex", "region"], expected)


def test_spark_violations_are_named(spark, schema, frame):
    bad = frame.head(50).copy()
    bad.loc[0, "age"] = 300
    bad.loc[1, "region"] = "moon"
    path_free = spark.createDataFrame(bad[["age", "region"]])
    small = sfumato.Schema.parse(
        '[table]\nname="t"\n[columns.age]\nkind="integer"\nbounds=[16,100]\n'
        '[columns.region]\nkind="category"\nvalues=["north","east","south","west","islands"]\n'
    )
    table = sfumato.read(path_free, small)
    with pytest.raises(TableError) as caught:
        table.require_valid()
    assert "age: 1 value outside the bounds 16 to 100 (such as '300')" in str(caught.value)
    assert "region: 1 value outside" in str(caught.value)
    with pytest.raises(TableError, match="values outside the schema"):
        table.marginals([("age",)])


def test_text_columns_on_spark_are_read_by_the_schema(spark, schema, frame):
    text = frame[["age", "income", "moved_in", "insured"]].astype("str").replace("nan", None)
    columns = [c for c in schema if c.name in text.columns]
    small = sfumato.Schema(name="t", columns=tuple(columns))
    table = sfumato.read(spark.createDataFrame(text), small)
    assert table.check() == ()
    ours = sfumato.read(frame, schema).marginals([("age",), ("income",), ("moved_in",), ("insured",)])
    for names, counts in table.marginals(list(ours)).items():
        assert np.array_equal(counts, ours[names]), names


def test_kept_rows_are_the_same_on_spark(spark, tmp_path):
    pq.write_table(rows(), tmp_path / "kept.parquet")
    assert counted(spark.read.parquet(str(tmp_path / "kept.parquet"))) == counted(rows())


def test_rows_without_a_person_are_refused_on_spark(spark):
    schema = sfumato.Schema.parse(
        '[table]\nname="t"\nperson="id"\n[columns.id]\nkind="category"\nrole="identifier"\n'
        '[columns.a]\nkind="category"\nvalues=["x","y"]\n'
    )
    for ids in ([1.0, float("nan"), float("nan"), None], ["p", "nan", "", None]):
        rows = list(zip(ids, "xxyy", strict=True))
        (violation,) = sfumato.read(spark.createDataFrame(rows, ["id", "a"]), schema).check()
        assert violation.count == 3
        assert "without a person" in violation.problem
