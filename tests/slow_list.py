"""Which tests are slow, by measurement, and which are thorough, by judgement.

``tests/slow.txt`` lists the slow ones, which ``make quick`` leaves out; ``tests/thorough.txt`` lists exhaustive sweeps,
long audits and long pages, which ``make test`` leaves out and ``make thorough`` runs.

``make slow-list`` measures anew: CPU seconds of the process and of everything that it started, so that a busy machine
does not count. What seems slow is measured a second time, in another order, and the smaller number counts: whoever
comes first does not pay for what all of them import and compile.

A line names a test, one of its parameters (``name[parameter]``), or a whole file or folder; tests that share something
costly are slow together (``SHARED``). Lines that name nothing are
reported by ``tests/packaging/test_slow_list.py``; the remedy is ``make slow-list``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

import psutil
import pytest

HERE = Path(__file__).parent
LIST = HERE / "slow.txt"
THOROUGH = HERE / "thorough.txt"
LOG_VARIABLE = "SFUMATO_CPU_LOG"
LIMIT = 0.5
"""CPU seconds from which a test is slow."""
WORTH_A_SECOND_LOOK = 10.0
"""Whatever took longer than this is slow, imports or not."""
TITLE = (
    f"# Tests of more than {LIMIT} CPU seconds, measured by 'make slow-list'. One parameter alone: name[parameter].\n"
)


SHARED = frozenset(
    {
        "tests/docs",
        "tests/mechanisms/pseudo_posterior/test_sampled.py",
        "tests/mechanisms/two_stage/test_deep.py",
        "tests/papers",
        "tests/statistical",
    }
)
"""Where tests share something costly: whoever comes first pays for it, so they are slow together."""
SHARED_BY_PARAMETER = {"tests/conformance": "plausible-deniability"}
"""The same for tests of one parameter: the cost of many records takes seconds, and is computed once."""


def listed(path: Path | None = None) -> frozenset[str]:
    """Return the node ids in a list; the list of slow tests by default."""
    path = path or LIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def plain(node: str) -> str:
    """Return a node id without its parameters."""
    return node.split("[", 1)[0]


def is_listed(node: str, names: frozenset[str]) -> bool:
    """Whether a test is on a list: itself, by its name without parameters, by its file or by a folder.

    >>> is_listed("tests/a/test_b.py::test_c[1]", frozenset({"tests/a/test_b.py::test_c"}))
    True
    """
    return bool(names & {node, plain(node), *_places(node)})


def is_slow(node: str, names: frozenset[str]) -> bool:
    """Whether a test is on the list of slow ones, or shares something costly."""
    above = _places(node)
    if any(place in above and word in node for place, word in SHARED_BY_PARAMETER.items()):
        return True
    return is_listed(node, names) or bool(SHARED & above)


def _places(node: str) -> set[str]:
    """Return the file of a test and every folder above it."""
    parts = plain(node).split("::")[0].split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Append what a test took to the log, fixtures included; used as a plugin, with ``-p slow_list``."""
    before = _cpu_seconds()
    result = yield
    if LOG_VARIABLE in os.environ:
        with open(os.environ[LOG_VARIABLE], "a", encoding="utf-8") as log:
            log.write(f"{_cpu_seconds() - before:.3f}\t{_name(item)}\n")
    return result


def _name(item: pytest.Item) -> str:
    """Return the node id without the group that the distribution over workers writes behind it."""
    return item.nodeid.rsplit("@", 1)[0] if item.get_closest_marker("xdist_group") else item.nodeid


def _cpu_seconds() -> float:
    """Return what this process and its children used, those that still run included: a server, a virtual machine."""
    whole = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            whole += sum(process.cpu_times()[:4])
        except psutil.Error:  # it ended meanwhile, and its parent counts it
            continue
    return whole


def read_logs(paths: Iterable[Path]) -> dict[str, float]:
    """Return the smallest number of every test."""
    found: dict[str, float] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            seconds, _, node = line.partition("\t")
            found[node] = min(float(seconds), found.get(node, float("inf")))
    return found


def slow_names(seconds: Mapping[str, float]) -> list[str]:
    """Return what to list: a test by its name where all its parameters are slow, otherwise the slow ones alone.

    >>> slow_names({"t.py::a[x]": 2, "t.py::a[y]": 0.1, "t.py::b[x]": 2, "t.py::b[y]": 1})
    ['t.py::a[x]', 't.py::b']
    """
    cases: defaultdict[str, list[str]] = defaultdict(list)
    for node in seconds:
        cases[plain(node)].append(node)
    found: list[str] = []
    for name, nodes in cases.items():
        slow = [node for node in nodes if seconds[node] > LIMIT]
        found += [name] if len(slow) == len(nodes) else slow
    return sorted(found)


def measure(log: Path, tests: Iterable[str]) -> None:
    """Run tests on all cores, and leave what each took in the log."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "slow_list", "-p", "no:cacheprovider", "--ignore=src"]
    spread = ["--numprocesses", os.environ.get("WORKERS", "auto"), "--dist", "loadgroup"]
    environment = {**os.environ, LOG_VARIABLE: str(log), "PYTHONPATH": os.pathsep.join([str(HERE), *_python_path()])}
    subprocess.run([*command, *spread, *tests], cwd=HERE.parent, env=environment, check=False)


def _python_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def write(seconds: Mapping[str, float]) -> None:
    """Write the list anew for every file that was measured; what is said of other files stays."""
    files = {plain(node).split("::")[0] for node in seconds}
    kept = {line for line in listed() if not _is_measured(plain(line).split("::")[0], files)}
    lines = sorted({*kept, *slow_names(seconds)})
    LIST.write_text(TITLE + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def _is_measured(place: str, files: Iterable[str]) -> bool:
    return any(file == place or file.startswith(f"{place}/") for file in files)


def main(tests: list[str]) -> None:
    """Measure, look a second time at what may only have come first, and write the list."""
    logs = [HERE.parent / ".slow-first.log", HERE.parent / ".slow-second.log"]
    for log in logs:
        log.unlink(missing_ok=True)
    measure(logs[0], tests)
    unsure = [node for node, taken in read_logs(logs[:1]).items() if LIMIT < taken < WORTH_A_SECOND_LOOK]
    if unsure:
        measure(logs[1], unsure[::-1])
    write(read_logs(log for log in logs if log.exists()))


if __name__ == "__main__":
    main(sys.argv[1:] or ["tests"])
