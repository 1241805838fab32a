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
DRIVER = Path(__file__).with_name("counting_on_a_cluster.py")
SETS = [("region", "sex"), ("age", "insured"), ("income",)]
PATIENCE = 120
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
        self.workers = [self._start("worker.Worker", "--cores", "1", "--memory", "1g", self.master) for _ in range(2)]
        for place in (1, 2):
            wait_for(lambda place=place: "Successfully registered" in self._log(place))

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

    def count(self, data: Path, schema: Path, marks: Path) -> subprocess.Popen:
        marks.mkdir()
        command = [sys.executable, DRIVER, self.master, data, schema, marks, json.dumps(SETS)]
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


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.stop()


def test_a_worker_that_is_killed_while_it_counts_changes_nothing(cluster, frame, schema, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for part in range(4):
        frame[part::4].to_parquet(data / f"{part}.parquet", index=False)
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    driver = cluster.count(data, tmp_path / "schema.toml", tmp_path / "marks")
    try:
        wait_for(lambda: len(list((tmp_path / "marks").iterdir())) >= 2 or driver.poll() is not None)
        end(cluster.workers[0])
        answer, _ = driver.communicate(timeout=PATIENCE)
    finally:
        end(driver)
    assert driver.returncode == 0, (tmp_path / "marks.log").read_text()[-2000:]
    assert list((tmp_path / "marks").glob("again-*")), "no task was run again"
    expected = sfumato.read(frame, schema).marginals(SETS)
    assert json.loads(answer.splitlines()[-1]) == [expected[names].ravel().tolist() for names in SETS]
