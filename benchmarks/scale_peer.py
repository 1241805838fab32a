"""The same group-by counts by PipelineDP on local Spark, for benchmarks/scale.py; runs in an environment of its own.

    python -m venv PEER && PEER/bin/pip install pipeline-dp "pyspark==3.5.*"
    .venv/bin/python benchmarks/scale.py --peer PEER/bin/python

One table of counts with public partitions (all cells, as a release of ours has them): Laplace noise, every row a person
of its own, so that the noise has the scale of ours at the same epsilon.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def run(asked: dict[str, Any]) -> dict[str, float]:
    """Count one table with noise, after that of a small file, and return the seconds that took."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{asked['cores']}]").config("spark.driver.memory", "4g")
    for key, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.host": "127.0.0.1"}.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    count(spark, asked["warm"], asked)
    start = time.perf_counter()
    answers = count(spark, asked["paths"], asked)
    wall = time.perf_counter() - start
    return {"wall": wall, "cells": len(answers), "counted": sum(answers)}


def count(spark: Any, paths: list[str], asked: dict[str, Any]) -> list[float]:
    """Return the noisy counts of all cells."""
    import pipeline_dp

    rows = spark.read.parquet(*paths).select(*asked["names"]).rdd.map(tuple).zipWithUniqueId()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=asked["epsilon"], total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.SparkRDDBackend(spark.sparkContext))
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=1,
    )
    readers = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[1],
        partition_extractor=lambda row: row[0],
        value_extractor=lambda row: 1,
    )
    cells = [tuple(cell) for cell in asked["cells"]]
    found = engine.aggregate(rows, parameters, readers, public_partitions=cells)
    accountant.compute_budgets()
    return [answer.count for _, answer in found.collect()]


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.stdin.read()))))
