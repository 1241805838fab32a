"""A small table of made-up people, and projects to try the views on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.workbench.project import Project
from sfumato.workbench.views import ledger, table


def people(columns: int = 6, rows: int = 600, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made: dict[str, object] = {
        "patient id": np.arange(rows),
        "age": rng.integers(18, 91, rows),
        "sex": rng.choice(["f", "m"], rows),
        "region": rng.choice(["north", "south", "east"], rows),
    }
    for i in range(columns - len(made)):
        made[f"q{i + 1}"] = rng.choice(["yes", "no", "unsure"], rows) if i % 2 else rng.integers(1, 6, rows)
    return pd.DataFrame(made)


@pytest.fixture
def csv(tmp_path):
    place = tmp_path / "people.csv"
    people().to_csv(place, index=False)
    return place


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    yield made
    made.close()


@pytest.fixture
def opened(project, csv):
    project.keep_draft(table.draft(str(csv), {}), str(csv), {})
    return project


@pytest.fixture
def confirmed(opened):
    opened.change(rest_source="code book 2024", whose="rows", by="Ann")
    table.confirm(opened)
    return opened


@pytest.fixture
def budgeted(confirmed):
    ledger.open_account(confirmed, "people")
    return confirmed
