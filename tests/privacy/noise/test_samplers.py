"""Which sampler draws and why, what it is handed, and how noise streams."""

from __future__ import annotations

import sys
import time
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from sfumato.errors import MissingExtra, PlanError
from sfumato.privacy import noise
from sfumato.privacy.noise import inversion, opendp
from sfumato.privacy.noise.inversion import self_test
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA, chi_square_p, discrete_gaussian_pmf, discrete_laplace_pmf

F = Fraction
ZEROS = np.zeros(5, dtype=np.int64)
BOTH = pytest.mark.parametrize("add", [noise.add_laplace_scale, noise.add_gaussian])
CHUNKED = pytest.mark.parametrize("chunked", [noise.laplace_chunks, noise.gaussian_chunks])


@pytest.fixture
def fresh_choice():
    """Choose the sampler anew in the test, and once more after it."""
    noise.current_sampler.cache_clear()
    yield
    noise.current_sampler.cache_clear()


@pytest.fixture
def without(monkeypatch, fresh_choice):
    """Make a package absent: what has been imported from table inversion is forgotten until the test ends."""

    def absent(package: str) -> None:
        for name in [name for name in sys.modules if name.startswith(f"{inversion.__name__}.")]:
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(inversion, name.rpartition(".")[2], raising=False)
        monkeypatch.delitem(sys.modules, "sfumato.compiled", raising=False)
        for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
            monkeypatch.setitem(sys.modules, name, None)

    return absent


# Which sampler, and why.


def test_table_inversion_is_used_where_it_passes_its_self_test(fresh_choice):
    sampler = noise.current_sampler()
    assert sampler.name == "table inversion" and "self-test" in sampler.why
    assert sampler is noise.current_sampler()


@pytest.mark.parametrize("package", ["numba", "cryptography"])
def test_opendp_draws_where_a_package_is_absent(package, without):
    without(package)
    sampler = noise.current_sampler()
    assert sampler.name == "OpenDP" and "not installed" in sampler.why and package in sampler.why
    assert noise.add_laplace([100] * 5, 1000.0).tolist() == [100] * 5
    with pytest.raises(PlanError, match="seeded run needs table inversion"):
        noise.add_laplace(ZEROS, 1.0, randomness=Randomness.of(1))


def test_table_inversion_comes_back_after_a_package_was_absent():
    """The fixture above leaves nothing behind."""
    assert noise.current_sampler().name == "table inversion"
    assert noise.add_laplace(ZEROS, 1.0, randomness=Randomness.of(1)).shape == (5,)


def test_opendp_draws_where_the_self_test_fails(monkeypatch, fresh_choice):
    monkeypatch.setattr(self_test, "ENCRYPTED", "00" * 16)
    sampler = noise.current_sampler()
    assert sampler.name == "OpenDP" and sampler.why.endswith("the cipher does not give the published answer")
    assert noise.add_gaussian(ZEROS, 1e-3).tolist() == [0] * 5
    with pytest.raises(PlanError, match="seeded run needs table inversion"):
        noise.add_gaussian(ZEROS, 1.0, Randomness.of(1))


@BOTH
def test_scales_above_two_to_the_fifty_are_opendps(add, monkeypatch):
    handed: list[F] = []
    for law in ("laplace", "gaussian"):
        spy = lambda counts, scale, randomness: handed.append(scale) or counts  # noqa: E731
        monkeypatch.setattr(opendp, f"opendp_{law}", spy)
    add(ZEROS, 2**50)
    assert handed == []
    add(ZEROS, F(2**50) + F(1, 3))
    assert handed == [F(2**50) + F(1, 3)]


@BOTH
def test_a_seeded_run_of_a_scale_above_two_to_the_fifty_is_refused_by_name(add):
    assert add(ZEROS, 2.0**51).any()
    with pytest.raises(PlanError, match="seeded run needs table inversion"):
        add(ZEROS, 2.0**51, Randomness.of(1))


# What the sampler is handed.


@pytest.fixture
def handed(monkeypatch) -> list[F]:
    """Scales that reach the sampler."""
    scales: list[F] = []
    keep = lambda counts, scale, randomness: scales.append(scale) or counts  # noqa: E731
    spying = replace(noise.current_sampler(), laplace=keep, gaussian=keep)
    monkeypatch.setattr(noise, "current_sampler", lambda: spying)
    return scales


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "scale"),
    [(3, 1, F(1, 3)), (3.0, 2, F(2, 3)), (0.1, 1, F(10)), ("0.7", 1, F(10, 7)), (F(1, 3), 5, F(15))],
)
def test_sensitivity_over_epsilon_stays_a_fraction(epsilon, sensitivity, scale, handed):
    noise.add_laplace(ZEROS, epsilon, sensitivity)
    assert handed == [scale]


@BOTH
@pytest.mark.parametrize(
    ("scale", "exact"), [(0.1, F(0.1)), (np.float64(0.1), F(0.1)), ("0.1", F(1, 10)), (F(1, 3), F(1, 3)), (7, F(7))]
)
def test_a_float_means_its_binary_value(add, scale, exact, handed):
    """What the ledger has recorded is the float, and the float is what is drawn."""
    add(ZEROS, scale)
    assert handed == [exact] and (exact != F(1, 10) or scale == "0.1")


@pytest.mark.parametrize("epsilon", [3, 0.7, 1e-3])
def test_the_recorded_scale_is_drawn_and_never_below_the_fraction(epsilon, handed):
    recorded = noise.laplace_scale(epsilon, 2)
    noise.add_laplace_scale(ZEROS, recorded)
    assert handed == [F(recorded)] and 2 / F(str(epsilon)) <= F(recorded) < 2 / F(str(epsilon)) * (1 + F(1, 2**52))


@CHUNKED
def test_chunks_hand_on_the_binary_value_too(chunked, handed):
    list(chunked([ZEROS, ZEROS], 0.1))
    assert handed == [F(0.1)] * 2


@BOTH
@pytest.mark.parametrize(("scale", "reach"), [(1e-300, 0), (1e-3, 0), (2.0**50, 2**56)])
def test_extreme_scales_work_and_quickly(add, scale, reach):
    """Noise beyond 64 scales has a probability below 1e-27; at 1e-3 noise other than 0 has one below 1e-400."""
    add(ZEROS, 1.0)
    start = time.process_time()
    noisy = add(np.zeros(10_000, dtype=np.int64), scale)
    assert time.process_time() - start < 2
    assert np.abs(noisy).max() <= reach and noisy.any() == (reach > 0)


def test_extreme_epsilons_work():
    assert not noise.add_laplace(ZEROS, 1e300).any()
    assert set(noise.add_laplace(ZEROS, 1e-300).tolist()) <= {2**63 - 1, -(2**63)}


# Vectors larger than memory.


@CHUNKED
def test_chunks_are_drawn_one_at_a_time(chunked):
    asked: list[int] = []
    endless = (asked.append(i) or ZEROS for i in iter(lambda: len(asked), None))
    noisy = chunked(endless, 2.0)
    assert asked == []
    assert next(noisy).shape == (5,) and asked == [0]
    assert next(noisy).shape == (5,) and asked == [0, 1]


@CHUNKED
def test_memory_is_that_of_a_chunk_and_not_of_the_vector(chunked):
    chunk = np.zeros(1 << 17, dtype=np.int64)
    next(chunked([chunk], 3.0))
    tracemalloc.start()
    total = sum(part.size for part in chunked((chunk for _ in range(64)), 3.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 64 * chunk.size and peak < 6 * chunk.nbytes


@CHUNKED
@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), "x"])
def test_a_bad_scale_is_refused_at_the_call(chunked, scale):
    asked: list[int] = []
    with pytest.raises(PlanError, match=r"scale|sigma"):
        chunked((asked.append(i) or ZEROS for i in range(2)), scale)
    assert asked == []


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("chunked", "law"), [(noise.laplace_chunks, discrete_laplace_pmf), (noise.gaussian_chunks, discrete_gaussian_pmf)]
)
def test_chunks_have_the_law_and_streams_of_their_own(chunked, law):
    """n = 400,000 in chunks of uneven sizes; a stream that begins anew in each chunk is caught by the law."""
    sizes = [1, 7, 65_536, 100_000, 234_456]
    parts = list(chunked((np.full(size, 50) for size in sizes), 3.0))
    assert [part.size for part in parts] == sizes
    assert chi_square_p(np.concatenate(parts) - 50, law, 3.0) > ALPHA
    repeated = np.tile(parts[2][:400] - 50, 1000)
    assert chi_square_p(repeated, law, 3.0) < ALPHA
    assert not np.array_equal(parts[3][:1000], parts[4][:1000])


@BOTH
@pytest.mark.parametrize("kind", ["<i8", ">i8", "<i4"])
def test_counts_may_lie_in_a_file(add, kind, tmp_path):
    counts = np.arange(100_000).reshape(100, 1000)
    counts.astype(kind).tofile(tmp_path / "counts")
    mapped = np.memmap(tmp_path / "counts", dtype=kind, mode="r", shape=counts.shape)
    assert np.array_equal(add(mapped, 3.0, Randomness.of(4)), add(counts, 3.0, Randomness.of(4)))
    assert (tmp_path / "counts").read_bytes() == counts.astype(kind).tobytes()


def test_a_file_is_streamed_into_another(tmp_path):
    counts = np.memmap(tmp_path / "counts", dtype=np.int64, mode="w+", shape=200_000)
    counts[:] = 10**6
    noisy = np.memmap(tmp_path / "noisy", dtype=np.int64, mode="w+", shape=200_000)
    starts = range(0, 200_000, 60_000)
    parts = noise.laplace_chunks((counts[start : start + 60_000] for start in starts), 5.0)
    for start, part in zip(starts, parts, strict=True):
        noisy[start : start + 60_000] = part
    assert (counts == 10**6).all() and (noisy > 10**6 - 1000).all() and (noisy != counts).mean() > 0.8


def test_a_seeded_run_that_opendp_would_have_to_draw_is_refused_beforehand(monkeypatch):
    noise.require_samplable([1.0, 2.0**50], seeded=True)
    with pytest.raises(PlanError, match="above 2\\^50"):
        noise.require_samplable([2.0**51], seeded=True)
    monkeypatch.setattr(noise, "current_sampler", lambda: noise.opendp_sampler("numba is absent"))
    with pytest.raises(PlanError, match="numba is absent"):
        noise.require_samplable([], seeded=True)
    noise.require_samplable([2.0**51])


@pytest.fixture
def no_opendp(monkeypatch):
    """A machine where OpenDP is not installed: loaded parts of it are gone, too."""
    true_find = opendp.util.find_spec
    monkeypatch.setattr(opendp.util, "find_spec", lambda name: None if name == "opendp" else true_find(name))
    opendp._measurement.cache_clear()


def test_noise_that_needs_an_absent_opendp_is_refused_with_the_command_that_installs_it(monkeypatch, no_opendp):
    noise.require_samplable([1.0, 2.0**50])
    for refused in (partial(noise.require_samplable, [2.0**51]), partial(noise.add_gaussian, ZEROS, 2.0**51)):
        with pytest.raises(MissingExtra, match="needs OpenDP") as caught:
            refused()
        assert "pip install 'sfumato[opendp]'" in caught.value.next_step
    monkeypatch.setattr(noise, "current_sampler", lambda: noise.opendp_sampler("numba is absent"))
    with pytest.raises(MissingExtra, match="numba is absent"):
        noise.require_samplable([])


def _small(folder):
    import pandas as pd

    import sfumato

    schema = sfumato.Schema.parse('[table]\nname = "t"\n[columns.a]\nkind = "boolean"\n')
    book = sfumato.Ledger(folder / "budget.db")
    book.open_table("t", epsilon=1)
    return sfumato.read(pd.DataFrame({"a": [True, False]}), schema), sfumato.Histogram("a", epsilon=1), book


def test_a_release_without_a_sampler_is_refused_before_the_ledger_is_charged(monkeypatch, tmp_path, no_opendp):
    import sfumato

    table, method, book = _small(tmp_path)
    monkeypatch.setattr(noise, "current_sampler", lambda: noise.opendp_sampler("numba is absent"))
    with pytest.raises(MissingExtra, match="numba is absent"):
        sfumato.release(table, method, ledger=book)
    assert book.history("t") == ()


def test_a_seeded_release_is_refused_before_the_ledger_is_charged(monkeypatch, tmp_path):
    import sfumato

    table, method, book = _small(tmp_path)
    monkeypatch.setattr(noise, "current_sampler", lambda: noise.opendp_sampler("numba is absent"))
    with pytest.raises(PlanError, match="seeded run"):
        sfumato.release(table, method, ledger=book, seed=1)
    assert book.history("t") == ()
