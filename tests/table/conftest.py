"""One Spark session for all tests of the group "spark": starting it takes seconds."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # A task that fails is run once more: local[threads, attempts].
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[1, 2]").appName("sfumato-tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(folder),
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_frame(spark, frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "t.parquet"
    frame.to_parquet(path, index=False)
    return spark.read.parquet(str(path))
