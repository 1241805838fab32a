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


def run(path: str, names: list[str], cells: list[list[str]], epsilon: float, cores: int) -> dict[str, float]:
    """Count one table with noise, and return the seconds that took."""
    import pipeline_dp
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", "4g")
    for key, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.host": "127.0.0.1"}.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    start = time.perf_counter()
    rows = spark.read.parquet(*path.split(",")).select(*names).rdd.map(tuple).zipWithUniqueId()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
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
    found = engine.aggregate(rows, parameters, readers, public_partitions=[tuple(cell) for cell in cells])
    accountant.compute_budgets()
    answers = found.collect()
    wall = time.perf_counter() - start
    return {"wall": wall, "cells": len(answers), "counted": sum(answer.count for _, answer in answers)}


if __name__ == "__main__":
    asked = json.loads(sys.stdin.read())
    print(json.dumps(run(asked["path"], asked["names"], asked["cells"], asked["epsilon"], asked["cores"])))
