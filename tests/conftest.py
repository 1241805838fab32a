"""Fixtures that many tests share: small tables with every kind of column, and where real data lie."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from sfumato import Schema
from sfumato.example import codebook, households

HERE = Path(__file__).parent


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
