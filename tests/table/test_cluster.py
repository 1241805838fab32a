"""A real cluster on this machine: a standalone master and two workers, one of which is killed while it counts."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: install openjdk-17-jre-headless"),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pip install 'sfumato[spark]'"),
    pytest.mark.skipif(os.name != "posix", reason="processes are ended by their group"),
]
COUNTING, RELEASING = (Path(__file__).with_name(f"{what}_on_a_cluster.py") for what in ("counting", "releasing"))
SETS = [("region", "sex"), ("age", "insured"), ("income",)]
PATIENCE = 600
"""Seconds until a process that should have done something is given up; a busy machine is slow."""


class Cluster:
    """Processes of our own, each the leader of a group, so that what they start ends with them."""

    def __init__(self, folder: Path) -> None:
        from pyspark.find_spark_home import _find_spark_home

        self.home, self.folder, self.started = Path(_find_spark_home()), folder, list[subprocess.Popen]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.master = f"spark://127.0.0.1:{free.getsockname()[1]}"
        package = str(Path(sfumato.__file__).parents[1])
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
        }
        port = self.master.rsplit(":", 1)[1]
        self._start("master.Master", "--port", port, says="elected leader")
        self.workers = [self._worker() for _ in range(2)]
        self._wait_for_workers()

    def _worker(self) -> subprocess.Popen:
        return self._start("worker.Worker", "--cores", "1", "--memory", "1g", self.master)

    def _wait_for_workers(self) -> None:
        for place in range(1, len(self.started)):
            wait_for(lambda place=place: "Successfully registered" in self._log(place))

    def kill_a_worker(self) -> None:
        end(self.workers.pop(0))

    def two_workers(self) -> None:
        """Start what was killed anew."""
        self.workers += [self._worker() for _ in range(2 - len(self.workers))]
        self._wait_for_workers()

    def _start(self, what: str, *arguments: str, says: str = "") -> subprocess.Popen:
        place = len(self.started)
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1"]
        with (self.folder / f"log-{place}").open("w") as log:
            process = subprocess.Popen(
                [*command, "--webui-port", "0", *arguments],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        wait_for(lambda: says in self._log(place))
        return process

    def _log(self, place: int) -> str:
        return (self.folder / f"log-{place}").read_text(errors="replace")

    def drive(self, driver: Path, data: Path, schema: Path, marks: Path, *more: str | Path) -> subprocess.Popen:
        marks.mkdir()
        command = [sys.executable, driver, self.master, data, schema, marks, *more]
        with (self.folder / f"{marks.name}.log").open("w") as log:
            return subprocess.Popen(
                command, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )

    def stop(self) -> None:
        for process in self.started:
            end(process)


def end(process: subprocess.Popen) -> None:
    """End a process that we started, with what it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(done) -> None:
    limit = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < limit, "nothing happened"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def data(frame, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for part in range(4):
        frame[part::4].to_parquet(folder / f"{part}.parquet", index=False)
    return folder


def kill_in_the_middle(cluster: Cluster, driver: subprocess.Popen, marks: Path) -> str:
    """Kill a worker when tasks have done their work and not yet told of it; return what the driver prints."""
    try:
        wait_for(lambda: len(list(marks.iterdir())) >= 2 or driver.poll() is not None)
        cluster.kill_a_worker()
        answer, _ = driver.communicate(timeout=PATIENCE)
    finally:
        end(driver)
        driver.__exit__(None, None, None)  # closes its pipe
    assert driver.returncode == 0, (cluster.folder / f"{marks.name}.log").read_text()[-2000:]
    assert list(marks.glob("again-*")), "no task was run again"
    return answer


def test_a_worker_that_is_killed_while_it_counts_changes_nothing(cluster, data, frame, schema, tmp_path):
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    marks = tmp_path / "counting"
    driver = cluster.drive(COUNTING, data, tmp_path / "schema.toml", marks, json.dumps(SETS))
    answer = kill_in_the_middle(cluster, driver, marks)
    expected = sfumato.read(frame, schema).marginals(SETS)
    assert json.loads(answer.splitlines()[-1]) == [expected[names].ravel().tolist() for names in SETS]


@pytest.mark.postgres
def test_a_release_with_a_ledger_beside_the_cluster_whose_rows_a_killed_worker_drew(
    cluster, data, schema, tmp_path, postgres_url
):
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    ledger = sfumato.Ledger(postgres_url)
    ledger.open_table(schema.name, epsilon=3, delta="1e-6")
    cluster.two_workers()
    marks, model, rows = tmp_path / "releasing", tmp_path / "model.sfumato", tmp_path / "rows"
    driver = cluster.drive(RELEASING, data, tmp_path / "schema.toml", marks, postgres_url, model, rows)
    kill_in_the_middle(cluster, driver, marks)
    assert len(ledger.history(schema.name)) == 1 and ledger.account(schema.name).left_epsilon == "1"
    ours = sfumato.FittedModel.load(model).write_parts(tmp_path / "ours", 2000, seed=1, part_rows=500)
    names = sorted(path.name for path in ours.iterdir())
    assert names == sorted(path.name for path in rows.iterdir()) and len(names) == 6
    assert all((rows / name).read_bytes() == (ours / name).read_bytes() for name in names)
