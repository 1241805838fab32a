"""What table inversion promises beside its law: no wrapping, no repeated stream. Time is in test_noise_timing."""

from __future__ import annotations

import multiprocessing
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.privacy.noise.inversion import random_bits, self_test
from sfumato.privacy.noise.inversion.draw import SEGMENT, add_gaussian_by_inversion, add_laplace_by_inversion
from sfumato.privacy.randomness import Randomness

LARGEST = np.iinfo(np.int64).max
SMALLEST = np.iinfo(np.int64).min
BOTH = pytest.mark.parametrize("add", [add_laplace_by_inversion, add_gaussian_by_inversion])


@BOTH
@pytest.mark.parametrize("scale", [10.0, 1e6])
@pytest.mark.parametrize("randomness", [None, Randomness.of(3)])
def test_noise_at_the_ends_of_the_range_clamps(add, scale, randomness):
    """All 200 draws point inwards with probability 2^-200, so a wrapping sum would be seen."""
    reach = int(100 * scale)
    high = add(np.full(200, LARGEST), scale, randomness)
    low = add(np.full(200, SMALLEST), scale, randomness)
    assert (high > LARGEST - reach).all() and (high == LARGEST).any()
    assert (low < SMALLEST + reach).all() and (low == SMALLEST).any()


def test_the_clamped_sum_is_the_clamped_exact_sum():
    ends = [SMALLEST, SMALLEST + 1, -2, -1, 0, 1, 2, LARGEST - 1, LARGEST]
    counts, noise = (np.array(side).ravel() for side in np.meshgrid(ends, ends))
    total = np.empty_like(counts)
    random_bits.add_clamped(counts, noise, total)
    exact = [min(max(int(a) + int(b), SMALLEST), LARGEST) for a, b in zip(counts, noise, strict=True)]
    assert total.tolist() == exact


@BOTH
@pytest.mark.parametrize("scale", [0.5, 40.0, 1e6])
def test_shapes_types_and_seeds_are_kept(add, scale):
    counts = np.arange(6, dtype=np.uint8).reshape(2, 3).T
    first, again = (add(counts, scale, Randomness.of(9)) for _ in range(2))
    assert first.shape == (3, 2) and first.dtype == np.int64
    assert np.array_equal(first, again)
    assert np.array_equal(counts, np.arange(6).reshape(2, 3).T)
    assert add(np.zeros((0, 3), dtype=int), scale).shape == (0, 3)


def test_counts_are_neither_changed_nor_shared():
    counts = np.zeros(1000, dtype=np.int64)
    counts.setflags(write=False)
    noisy = add_laplace_by_inversion(counts, 5.0)
    assert not counts.any() and not np.shares_memory(noisy, counts)


def test_a_fraction_and_its_float_are_the_same_scale():
    counts = np.zeros(1000, dtype=np.int64)
    draws = [add_laplace_by_inversion(counts, scale, Randomness.of(2)) for scale in (0.5, Fraction(1, 2))]
    assert np.array_equal(*draws)


@BOTH
@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), 2.0**51, "1", True])
def test_a_scale_must_be_a_positive_number(add, scale):
    with pytest.raises(PlanError, match="must be a number above 0"):
        add([1], scale)


@BOTH
@pytest.mark.parametrize("counts", [[1.5], [True], ["a"], np.array([2**63], dtype=np.uint64)])
def test_only_whole_counts_are_noised(add, counts):
    with pytest.raises(PlanError, match="whole counts"):
        add(counts, 1.0)


@pytest.mark.parametrize("bits", [0, 64])
def test_a_word_has_no_more_bits(bits):
    with pytest.raises(PlanError, match="1 to 63 bits"):
        add_laplace_by_inversion([1], 1.0, bits=bits)


def sample(_: int = 0) -> bytes:
    return add_laplace_by_inversion(np.zeros(64, dtype=np.int64), 40.0).tobytes()


def test_threads_and_repeated_calls_never_meet_a_stream_twice():
    with ThreadPoolExecutor(4) as pool:
        streams = list(pool.map(sample, range(20_000)))
    assert len(set(streams)) == len(streams)


def test_forks_never_meet_a_stream_twice():
    sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some libraries object to any fork of a process with threads
        with multiprocessing.get_context("fork").Pool(3) as pool:
            streams = [sample(), *pool.map(sample, range(300), chunksize=1)]
    assert len(set(streams)) == len(streams)


def test_segments_filled_side_by_side_have_streams_of_their_own():
    """Two segments, of which every run of 64 draws is unlike every other."""
    draws = add_laplace_by_inversion(np.zeros(2 * SEGMENT + 7, dtype=np.int64), 40.0)
    runs = draws[: 2 * SEGMENT].reshape(-1, 64)
    assert len(np.unique(runs, axis=0)) == len(runs)
    assert draws[-7:].any()


def test_each_call_asks_the_operating_system_for_a_key(monkeypatch):
    keys: list[bytes] = []
    true_urandom = random_bits.os.urandom
    monkeypatch.setattr(random_bits.os, "urandom", lambda size: keys.append(true_urandom(size)) or keys[-1])
    for _ in range(5):
        add_laplace_by_inversion([0], 1.0)
    assert [len(key) for key in keys] == [32] * 5 and len(set(keys)) == 5


def repeats(calls: int) -> int:
    """How many of the first words of that many calls were seen before."""
    words = np.array([random_bits.SystemBits().words(1)[0] for _ in range(calls)])
    return calls - len(np.unique(words))


def test_a_million_calls_never_meet_a_stream_twice():
    """Fair words of 64 bits would meet by chance with probability below 1e12 / 2^65 = 3e-8."""
    assert repeats(1_000_000) == 0


def test_mutant_keys_of_two_bytes_are_caught(monkeypatch):
    """20,000 keys out of 65,536: some 2,700 are met again."""
    true_urandom = random_bits.os.urandom
    monkeypatch.setattr(random_bits.os, "urandom", lambda size: bytes(size - 2) + true_urandom(2))
    assert repeats(20_000) > 1000


def test_repeated_calls_of_the_whole_sampler_differ():
    """n = 20,000 calls of 2 draws at scale 2^45: chance makes two pairs equal with probability below 4e8 / 2^93."""
    nought = np.zeros(2, dtype=np.int64)
    pairs = np.array([add_laplace_by_inversion(nought, 2.0**45) for _ in range(20_000)])
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_words_are_the_key_stream_without_a_repeat():
    source = random_bits.SystemBits()
    words = np.concatenate([source.words(1000) for _ in range(10)])
    assert len(np.unique(words)) == len(words)


def test_the_self_test_passes_and_names_what_is_broken(monkeypatch):
    assert self_test.self_test_problems() == []
    true_invert = random_bits.invert
    one_less = lambda *arguments: true_invert(*arguments) - 1  # noqa: E731
    monkeypatch.setattr(random_bits, "invert", one_less)
    monkeypatch.setattr(random_bits, "add_clamped", lambda counts, noise, total: np.add(counts, noise, out=total))
    monkeypatch.setattr(self_test, "ENCRYPTED", "00" * 16)
    assert len(self_test.self_test_problems()) == 3
