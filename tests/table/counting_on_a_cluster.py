"""The driver of test_cluster, a process of its own: ``python counting_on_a_cluster.py MASTER DATA SCHEMA FOLDER SETS``.

Prints the counts as JSON. Every task leaves a mark in FOLDER when it has counted, and waits at its first attempt before
it hands its counts over, so that a worker can be killed in the middle.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

WAIT = 3.0


def slow_tasks(folder: str) -> None:
    from sfumato.table.engines.spark_worker import CountJob

    for name in ("task", "file_task"):
        setattr(CountJob, name, _waiting(getattr(CountJob, name), folder))


def _waiting(make, folder):
    def task(job, *rest):
        count = make(job, *rest)

        def first_waits(batches):
            from pyspark import TaskContext

            found, context = list(count(batches)), TaskContext.get()
            again = context.attemptNumber() > 0
            Path(folder, f"{'again' if again else 'counted'}-{context.partitionId()}").touch()
            if not again:
                time.sleep(WAIT)
            yield from found

        return first_waits

    return task


def session(master: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    for key, value in {
        "driver.host": "127.0.0.1",
        "driver.memory": "512m",
        "executor.memory": "512m",
        "ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(f"spark.{key}", value)
    return builder.getOrCreate()


def main() -> None:
    import sfumato
    from sfumato.errors import SlowCountingWarning

    warnings.simplefilter("ignore")
    warnings.simplefilter("error", SlowCountingWarning)
    master, data, schema, folder, sets = sys.argv[1:]
    wanted = [tuple(names) for names in json.loads(sets)]
    spark = session(master)
    table = sfumato.read(spark.read.parquet(data), schema)
    slow_tasks(folder)
    counts = table.marginals(wanted)
    print(json.dumps([counts[names].ravel().tolist() for names in wanted]))
    spark.stop()


if __name__ == "__main__":
    main()
