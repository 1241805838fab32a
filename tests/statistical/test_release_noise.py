"""End to end: what leaves a release carries exactly the noise that its event records.

alpha = 1e-6; n = 30,000 cells with known true counts, released through the public interface.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import sfumato
from statistical.laws import ALPHA, chi_square_p, discrete_gaussian_pmf, discrete_laplace_pmf

CELLS, RELEASES = 10_000, 3
LEVELS = tuple(range(CELLS))
SCHEMA = sfumato.Schema(name="t", columns=(sfumato.schema.column.Column("x", "category", values=LEVELS),))
REPLACE = dataclasses.replace(SCHEMA, adjacency="replace", rows=1)
PERSON = dataclasses.replace(
    SCHEMA,
    columns=(*SCHEMA.columns, sfumato.schema.column.Column("who", "category", role="identifier")),
    person="who",
    rows_per_person=3,
)
pytestmark = pytest.mark.statistical


def residuals(schema: sfumato.Schema, method: sfumato.Histogram) -> np.ndarray:
    """Released minus true counts, over several releases of a table with one row."""
    table = sfumato.read(pd.DataFrame({"x": [5], "who": ["a"]}), schema)
    true = np.zeros(CELLS, dtype=np.int64)
    true[5] = 1
    return np.concatenate([sfumato.release(table, method).data["count"].to_numpy() - true for _ in range(RELEASES)])


@pytest.mark.parametrize(("schema", "sensitivity"), [(SCHEMA, 1), (REPLACE, 2), (PERSON, 3)])
def test_laplace_releases_have_the_scale_of_their_adjacency(schema, sensitivity: int):
    draws = residuals(schema, sfumato.Histogram("x", epsilon=0.8))
    assert chi_square_p(draws, discrete_laplace_pmf, sensitivity / 0.8) > ALPHA
    for wrong in {1, 2, 3} - {sensitivity}:
        assert chi_square_p(draws, discrete_laplace_pmf, wrong / 0.8) < ALPHA, "a wrong sensitivity must be caught"


def test_gaussian_releases_have_the_recorded_sigma():
    method = sfumato.Histogram("x", epsilon=1, delta=1e-6, noise="gaussian")
    sigma = sfumato.plan(SCHEMA, method).events[0].parts[0].scale
    draws = residuals(SCHEMA, method)
    assert chi_square_p(draws, discrete_gaussian_pmf, sigma) > ALPHA
    assert chi_square_p(draws, discrete_gaussian_pmf, sigma / 1.1) < ALPHA, "a tenth less noise must be caught"
