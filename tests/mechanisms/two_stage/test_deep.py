"""Deep first stages: the settings of Table 6, what the networks learn, the rule for stopping, and the extra."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import MissingExtra, PlanError
from sfumato.papers.two_stage.published import deep_generators
from sfumato.papers.two_stage.published.deep_generators import (
    Diffusion,
    DiffusionSettings,
    Gan,
    GanSettings,
    critic_scores,
    train_generator,
)
from sfumato.papers.two_stage.published.first_stage import synthesise_inputs
from sfumato.papers.two_stage.published.network_training import EarlyStopping, energy_distance, train

needs_jax = pytest.mark.skipif(
    find_spec("jax") is None or find_spec("optax") is None, reason="needs JAX and Optax: pip install 'sfumato[deep]'"
)
TINY: dict[str, dict[str, Any]] = {
    "gan": {"hidden": 8, "noise": 3, "critic_updates": 2, "epochs": 2, "check_every": 1},
    "diffusion": {"hidden": 8, "steps": 5, "beta_end": 0.5, "epochs": 2, "check_every": 1},
}
SHORT: dict[str, dict[str, Any]] = {
    "gan": {"hidden": 32, "noise": 4, "rate": 5e-4, "epochs": 50, "check_every": 1},
    "diffusion": {"hidden": 64, "rate": 2e-3, "epochs": 60, "steps": 100, "beta_end": 0.2},
}
ALPHA = 1e-6


def toy(seed: int = 0, rows: int = 400) -> np.ndarray:
    """Two normal columns in their own units, with correlation .8."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, rows))
    return np.column_stack([10 + 3 * first, 100 * (0.8 * first + 0.6 * second)])


def misfit(inputs: np.ndarray, made: np.ndarray) -> tuple[float, float]:
    """The largest KS distance of a column, and the largest factor between standard deviations."""
    ks = max(stats.ks_2samp(a, b).statistic for a, b in zip(inputs.T, made.T, strict=True))
    ratio = made.std(axis=0) / inputs.std(axis=0)
    return float(ks), float(np.exp(np.abs(np.log(ratio)).max()))


def test_the_defaults_are_those_of_table_6():
    gan, diffusion = GanSettings(), DiffusionSettings()
    assert (gan.noise, gan.hidden, gan.penalty, gan.critic_updates) == (500, 512, 10, 20)
    assert (gan.batch, gan.rate, gan.epochs) == (64, 1e-4, 600)
    assert (diffusion.hidden, diffusion.batch, diffusion.rate, diffusion.epochs) == (256, 32, 2e-4, 300)
    assert (diffusion.steps, diffusion.betas()[0], diffusion.betas()[-1]) == (1000, 1e-4, 0.02)


@needs_jax
@pytest.mark.parametrize("name", TINY)
def test_rows_asked_for_come_and_a_seed_repeats_them(name, monkeypatch):
    x = toy(rows=70)
    one, two, other = (synthesise_inputs(name, x, 33, np.random.default_rng(seed), **TINY[name]) for seed in (3, 3, 4))
    assert one.shape == (33, 2) and one.dtype == np.float64 and np.isfinite(one).all()
    assert (one == two).all() and (one != other).any()
    monkeypatch.setattr(deep_generators, "MOST_AT_ONCE", 14)
    parts = synthesise_inputs(name, x, 33, np.random.default_rng(3), **TINY[name])
    assert parts.shape == (33, 2) and len(np.unique(parts, axis=0)) == 33


@needs_jax
@pytest.mark.parametrize("name", SHORT)
def test_short_training_gives_about_the_right_columns_and_none_does_not(name):
    x, options = toy(), SHORT[name]
    stage = train_generator(name, x, np.random.default_rng(1), **options)
    ks, factor = misfit(x, stage.draw(1000, np.random.default_rng(2)))
    assert ks < 0.2 and factor < 1.5
    untrained = train_generator(name, x, np.random.default_rng(1), **options | {"epochs": 0})
    ks, _ = misfit(x, untrained.draw(1000, np.random.default_rng(2)))
    assert ks > 0.25
    assert min(stage.report["distances"]) < 0.5 * untrained.report["distances"][0]


@needs_jax
def test_a_critic_finds_the_wasserstein_distance_thanks_to_its_penalty():
    """All made rows are 0 and the real ones lie about 2: the distance is 2, and without a penalty there is no bound."""
    import jax
    import jax.numpy as jnp

    real = jnp.asarray(2 + 0.1 * np.random.default_rng(5).normal(size=(64, 1)), jnp.float32)
    gaps: list[float] = []
    for penalty in (10.0, 0.0):
        gan = Gan(1, GanSettings(hidden=32, layers=1, noise=2, rate=2e-3, penalty=penalty))
        generator, *rest = gan.start(jax.random.PRNGKey(0))
        state, update = (jax.tree.map(jnp.zeros_like, generator), *rest), jax.jit(gan._critic_update)
        for step in range(300):
            state = update(state, jax.random.PRNGKey(step), real)
        gaps.append(float(critic_scores(state[1], real).mean() - critic_scores(state[1], jnp.zeros((1, 1))).mean()))
    assert 1.8 < gaps[0] < 2.3 and gaps[1] > 5


class Exact(Diffusion):
    """The best denoiser for rows that are standard normal, off by ``factor``."""

    factor = 1.0

    def noise_in(self, params: Any, noisy: Any, times: Any) -> Any:
        import jax.numpy as jnp

        return self.factor * jnp.asarray(self.weights())[times][:, 1:2] * noisy


class Halved(Exact):
    """A mutant."""

    factor = 0.5


@needs_jax
@pytest.mark.statistical
def test_mending_with_the_exact_denoiser_draws_from_the_law():
    """KS test with n = 4,000 and alpha 1e-6; a denoiser that tells half of the noise is caught."""
    import jax

    settings = DiffusionSettings(steps=200, beta_end=0.1)
    for kind, passes in ((Exact, True), (Halved, False)):
        made = np.asarray(kind((-50.0,), (50.0,), settings).draw([], jax.random.PRNGKey(7), 4000))[:, 0]
        assert (stats.kstest(made, "norm").pvalue > ALPHA) == passes


def test_a_step_back_has_the_mean_that_the_spoiling_gives():
    kept, _, row, noisy, spread = Diffusion((0.0,), (1.0,), DiffusionSettings()).weights().T
    assert np.allclose(row + noisy * kept, np.concatenate([[1.0], kept[:-1]]), atol=1e-4)
    assert row[0] == pytest.approx(1, rel=1e-4) and noisy[0] == spread[0] == 0 and (spread[1:] > 0).all()


@needs_jax
def test_diffusion_stays_in_the_range_of_the_columns():
    x = toy(rows=70)
    made = synthesise_inputs("diffusion", x, 33, np.random.default_rng(1), **TINY["diffusion"])
    slack = 1e-5 * np.ptp(x, axis=0)
    assert (made >= x.min(axis=0) - slack).all() and (made <= x.max(axis=0) + slack).all()


def test_the_rule_keeps_the_nearest_and_waits_on_the_moving_average():
    watch = EarlyStopping(GanSettings(window=2, patience=3))
    waited = []
    for epoch, distance in enumerate([4.0, 1.0, 3.0, 0.9, 3.5, float("inf")]):
        watch.see(epoch, f"network {epoch}", distance)
        waited.append(watch.waited)
    # The averages are 4, 2.5, 2, 1.95, 2.2 and infinite.
    assert waited == [0, 0, 0, 0, 1, 2]
    assert watch.trained(5, "last").params == "network 3"


class Drifting:
    """A network that is best after 3 epochs and then leaves."""

    settings = GanSettings(epochs=50, check_every=1, window=1, patience=4)

    def start(self, key: Any) -> tuple[Any, ...]:
        import jax.numpy as jnp

        return (jnp.float32(-3.0),)

    def epoch(self, state: tuple[Any, ...], key: Any, rows: Any) -> tuple[Any, ...]:
        return (state[0] + 1.0,)

    def draw(self, params: Any, key: Any, rows: int) -> Any:
        import jax

        return params + jax.random.normal(key, (rows, 1))


@needs_jax
def test_training_stops_early_and_tells_its_progress():
    import jax

    held, told = np.random.default_rng(1).normal(size=(200, 1)), []
    found = train(Drifting(), held, held, jax.random.PRNGKey(0), lambda *facts: told.append(facts))
    assert (found.best_epoch, found.epochs, found.stopped_early, float(found.params)) == (3, 7, True, 0.0)
    assert told == [(epoch, 50) for epoch in range(1, 8)]
    assert train(Drifting(), held, held[:0], jax.random.PRNGKey(0)).best_epoch == 50


def test_energy_distance_knows_runaways():
    x = np.random.default_rng(1).normal(size=(50, 2))
    assert energy_distance(x, x) == 0 and energy_distance(x * np.nan, x) == float("inf")
    # Two points against one in their middle: 2 * 1 - 1 - 0.
    assert energy_distance(np.array([[-1.0], [1.0]]), np.array([[0.0]])) == pytest.approx(1.0)


@needs_jax
def test_bad_settings_are_named_all_at_once():
    with pytest.raises(PlanError) as refused:
        synthesise_inputs(
            "gan", toy(), 10, np.random.default_rng(1), hidden=0, rate=2.0, held_out=0.9, noise=0, penalty=-1
        )
    assert len(refused.value.problems) == 5
    with pytest.raises(PlanError, match="cannot be trained"):
        synthesise_inputs("diffusion", toy(), 10, np.random.default_rng(1), beta_start=0.5)
    with pytest.raises(PlanError, match="unexpected keyword"):
        synthesise_inputs("diffusion", toy(), 10, np.random.default_rng(1), noise=3)


@pytest.mark.parametrize("module", ["jax", "optax"])
def test_a_missing_extra_is_named(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[deep\]'"):
        synthesise_inputs("gan", toy(), 10, np.random.default_rng(1))


def test_nothing_is_imported_before_it_is_needed():
    program = "import sys, sfumato.papers.two_stage.published.first_stage; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
