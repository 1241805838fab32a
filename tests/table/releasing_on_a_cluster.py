"""A driver of test_cluster: ``python releasing_on_a_cluster.py MASTER DATA SCHEMA MARKS LEDGER MODEL ROWS``.

Releases by MST with a ledger, saves the model, and lets the cluster write rows. Every task leaves a mark in MARKS when
it has written its part, and waits at its first attempt, so that a worker can be killed in the middle.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

WAIT, ROWS, PART_ROWS = 3.0, 2000, 500


def slow_tasks(folder: str) -> None:
    from sfumato.mechanisms.graphical.fitted_model import spark_sampling

    real = spark_sampling._task

    def waiting(*told):
        draw = real(*told)

        def first_waits(batches):
            from pyspark import TaskContext

            found, context = list(draw(batches)), TaskContext.get()
            again = context.attemptNumber() > 0
            Path(folder, f"{'again' if again else 'drawn'}-{context.partitionId()}").touch()
            if not again:
                time.sleep(WAIT)
            yield from found

        return first_waits

    spark_sampling._task = waiting


def main() -> None:
    from counting_on_a_cluster import session

    import sfumato

    warnings.simplefilter("ignore")
    master, data, schema, marks, ledger, model, rows = sys.argv[1:]
    spark = session(master)
    table = sfumato.read(spark.read.parquet(data), schema)
    made = sfumato.release(table, sfumato.MST(epsilon=2.0, columns=["sex", "insured", "persons"]), ledger=ledger)
    made.model.save(model)
    slow_tasks(marks)
    made.model.write_parts(rows, ROWS, seed=1, part_rows=PART_ROWS, spark=spark)
    spark.stop()


if __name__ == "__main__":
    main()
