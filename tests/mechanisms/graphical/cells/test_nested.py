"""Nested groups: runs of cells halved by mass, every resolution a union of the finer ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.graphical.domain_compression import nested_groups

NO_NOISE = np.zeros((64, 64))


def test_equal_masses_are_halved_evenly():
    nested = nested_groups(np.ones(64), NO_NOISE, 8, 1.5)
    assert nested.groups.tolist() == np.repeat(np.arange(8), 8).tolist()
    assert nested.coarser[2].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert nested.coarser[4].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_atom_ends_up_alone_and_the_rest_is_cut_on():
    masses = np.ones(64)
    masses[20] = 200.0
    nested = nested_groups(masses, NO_NOISE, 6, 1.5)
    assert np.count_nonzero(nested.groups == nested.groups[20]) == 1
    assert nested.size == 6


def test_halves_below_their_noise_are_not_made():
    """Each cell has noise 10; four cells of 8 rows are 32 over a noise of 20, two are 16 over 14."""
    masses, covariance = np.full(16, 8.0), 100.0 * np.eye(16)
    assert nested_groups(masses, covariance, 16, 1.5).size == 4
    assert nested_groups(masses, np.zeros((16, 16)), 16, 1.5).size == 16, "mutant: without noise all are cut"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 33))
def test_every_resolution_is_a_union_of_the_finer_ones(masses, most):
    nested = nested_groups(np.array(masses), np.zeros((len(masses), len(masses))), most, 1.5).with_missing()
    assert nested.size <= most + 1
    assert np.array_equal(np.unique(nested.groups), np.arange(nested.size))
    assert (np.diff(nested.groups) >= 0).all()
    for level, coarse in nested.coarser.items():
        assert len(coarse) == nested.size and coarse.max() == level
        assert (np.diff(coarse) >= 0).all() and set(np.diff(coarse)) <= {0, 1}
        assert np.count_nonzero(coarse == coarse[-1]) == 1, "missing stays alone"


@pytest.mark.parametrize("cells", [1, 2])
def test_few_cells_are_fine(cells):
    assert nested_groups(np.ones(cells), np.zeros((cells, cells)), 8, 1.5).size == cells
