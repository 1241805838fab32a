"""Deep first stages: a Wasserstein GAN with gradient penalty, and a diffusion model (JAX, extra [deep]).

The same code runs on a processor and on an accelerator, in single precision; a seed gives the same rows again on the
same machine. Columns are put on mean 0 and standard deviation 1 first. The settings, which may be given by name, are
those of the paper's Table 6.

**GAN** (Gulrajani et al. 2017). The critic f minimizes ``E f(G(z)) - E f(x) + c E(|grad f| - 1)^2``, the last at random
points between real and made rows; the generator then minimizes ``-E f(G(z))``. Table 6 gives: noise of 500 numbers, 512
hidden neurons, penalty 10, 20 critic updates, batches of 64, rate 1e-4, 600 epochs. It does not give the number of
hidden layers (2 here), Adam's betas (0 and 0.9, as in the cited work), nor what an epoch is: here one update of the
generator per batch that the rows fill, and before each ``critic_updates`` updates of the critic, each on a fresh batch,
drawn with replacement.

**Diffusion** (Ho et al. 2020). Rows are spoilt in ``steps`` steps by noise whose variance goes evenly from
``beta_start`` to ``beta_end``; a network learns to tell the noise in a spoilt row from the row and the time. To draw,
noise is mended step by step; the row guessed on the way is kept in the range of its column, so that an error cannot
grow. Table 6 gives: 256 hidden neurons, batches of 32, rate 2e-4, 300 epochs, 1000 steps, beta from 1e-4 to 0.02. It
does not give the number of hidden layers (2 here), nor how the network is told the time (64 sines and cosines here).

Heuristic: no differential privacy. Networks can repeat rows that they were trained on, and the rule for stopping reads
confidential rows too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.papers.two_stage.published.network_training import (
    MOST_CHECKED,
    FloatArray,
    Layers,
    Network,
    Progress,
    Trained,
    Training,
    compiled,
    forward,
    gradient_step,
    perceptron,
    require_deep,
    time_features,
    train,
)

MOST_AT_ONCE = 50_000
"""More rows than this are drawn in parts, so that memory stays small."""
BETAS = (0.0, 0.9)
LEAK = 0.2
TIME_FEATURES = 64


@dataclass(frozen=True)
class GanSettings(Training):
    """The GAN column of Table 6."""

    hidden: int = 512
    layers: int = 2
    batch: int = 64
    rate: float = 1e-4
    epochs: int = 600
    check_every: int = 5
    patience: int = 40
    window: int = 5
    noise: int = 500
    penalty: float = 10.0
    critic_updates: int = 20

    def problems(self) -> list[str]:
        """Return all that is wrong with the settings."""
        own = [f"{name} must be at least 1" for name in ("noise", "critic_updates") if getattr(self, name) < 1]
        return super().problems() + own + (["penalty must be at least 0"] if self.penalty < 0 else [])


@dataclass(frozen=True)
class Gan:
    """A generator and its critic for rows of ``columns`` numbers."""

    columns: int
    settings: GanSettings

    def start(self, key: Any) -> tuple[Any, ...]:
        """Return (generator, critic, and the memory of the optimizer of each)."""
        import jax

        how, (left, right) = self.settings, jax.random.split(key)
        inner = [how.hidden] * how.layers
        generator = perceptron(left, [how.noise, *inner, self.columns])
        critic = perceptron(right, [self.columns, *inner, 1])
        return generator, critic, self._adam().init(generator), self._adam().init(critic)

    def epoch(self, state: tuple[Any, ...], key: Any, rows: Any) -> tuple[Any, ...]:
        """Return the state after one update of the generator per batch that the rows fill."""
        import jax

        def update(state: tuple[Any, ...], key: Any) -> tuple[tuple[Any, ...], None]:
            critics, own = jax.random.split(key)
            keys = jax.random.split(critics, self.settings.critic_updates)
            state, _ = jax.lax.scan(lambda s, k: (self._critic_update(s, k, rows), None), state, keys)
            return self._generator_update(state, own, min(self.settings.batch, len(rows))), None

        return jax.lax.scan(update, state, jax.random.split(key, -(-len(rows) // self.settings.batch)))[0]

    def draw(self, params: Layers, key: Any, rows: int) -> Any:
        """Return rows that the generator makes of normal noise."""
        import jax
        import jax.numpy as jnp

        noise = jax.random.normal(key, (rows, self.settings.noise), jnp.float32)
        return forward(params, noise, jax.nn.relu)

    def _critic_update(self, state: tuple[Any, ...], key: Any, rows: Any) -> tuple[Any, ...]:
        import jax

        generator, critic, of_generator, of_critic = state
        pick, noise, between = jax.random.split(key, 3)
        count = min(self.settings.batch, len(rows))
        real = rows[jax.random.randint(pick, (count,), 0, len(rows))]
        made = self.draw(generator, noise, count)
        slope = jax.grad(self._critic_loss)(critic, real, made, jax.random.uniform(between, (count, 1)))
        critic, of_critic = gradient_step(self._adam(), critic, slope, of_critic)
        return generator, critic, of_generator, of_critic

    def _generator_update(self, state: tuple[Any, ...], key: Any, count: int) -> tuple[Any, ...]:
        import jax

        generator, critic, of_generator, of_critic = state
        slope = jax.grad(lambda layers: -critic_scores(critic, self.draw(layers, key, count)).mean())(generator)
        generator, of_generator = gradient_step(self._adam(), generator, slope, of_generator)
        return generator, critic, of_generator, of_critic

    def _critic_loss(self, critic: Layers, real: Any, made: Any, share: Any) -> Any:
        import jax
        import jax.numpy as jnp

        mixed = share * real + (1 - share) * made
        slopes = jax.vmap(jax.grad(lambda row: critic_scores(critic, row[None])[0]))(mixed)
        # The small number keeps the slope of the root finite where a critic is flat.
        lengths = jnp.sqrt(jnp.sum(slopes**2, axis=1) + 1e-12)
        penalty = jnp.mean((lengths - 1.0) ** 2)
        return critic_scores(critic, made).mean() - critic_scores(critic, real).mean() + self.settings.penalty * penalty

    def _adam(self) -> Any:
        import optax

        return optax.adam(self.settings.rate, *BETAS)


def critic_scores(critic: Layers, rows: Any) -> Any:
    """Return the critic's number for each row."""
    import jax

    return forward(critic, rows, lambda values: jax.nn.leaky_relu(values, LEAK))[:, 0]


@dataclass(frozen=True)
class DiffusionSettings(Training):
    """The diffusion column of Table 6."""

    hidden: int = 256
    layers: int = 2
    batch: int = 32
    rate: float = 2e-4
    epochs: int = 300
    check_every: int = 20
    patience: int = 5
    steps: int = 1000
    beta_start: float = 1e-4
    beta_end: float = 0.02

    def problems(self) -> list[str]:
        """Return all that is wrong with the settings."""
        problems = super().problems() + ([] if self.steps >= 2 else ["steps must be at least 2"])
        if not 0 < self.beta_start <= self.beta_end < 1:
            problems.append("beta_start and beta_end must rise between 0 and 1")
        return problems

    def betas(self) -> NDArray[np.float64]:
        """Return the variance of the noise that each step adds."""
        return np.linspace(self.beta_start, self.beta_end, self.steps)


@dataclass(frozen=True)
class Diffusion:
    """A denoiser for rows of numbers that lie between ``low`` and ``high``."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    settings: DiffusionSettings

    def start(self, key: Any) -> tuple[Any, ...]:
        """Return (denoiser, memory of its optimizer)."""
        how, columns = self.settings, len(self.low)
        denoiser = perceptron(key, [columns + TIME_FEATURES, *[how.hidden] * how.layers, columns])
        return denoiser, self._adam().init(denoiser)

    def epoch(self, state: tuple[Any, ...], key: Any, rows: Any) -> tuple[Any, ...]:
        """Return the state after each row was in one batch; the last batch is filled with rows of the first."""
        import jax
        import jax.numpy as jnp

        size = min(self.settings.batch, len(rows))
        count = -(-len(rows) // size)
        shuffle, noise = jax.random.split(key)
        places = jnp.resize(jax.random.permutation(shuffle, len(rows)), (count, size))
        keys = jax.random.split(noise, count)
        return jax.lax.scan(lambda s, x: (self._update(s, x[1], rows[x[0]]), None), state, (places, keys))[0]

    def draw(self, params: Layers, key: Any, rows: int) -> Any:
        """Return rows mended from noise, all steps one after the other."""
        import jax
        import jax.numpy as jnp

        begin, way = jax.random.split(key)
        noisy = jax.random.normal(begin, (rows, len(self.low)), jnp.float32)
        times = jnp.arange(self.settings.steps - 1, -1, -1)
        return _denoised(self, self.weights(), params, noisy, times, way)

    def weights(self) -> NDArray[np.float32]:
        """Return for each time: root of the signal kept, root of the noise, and (row, noisy row, spread) to go back."""
        betas = self.settings.betas()
        kept = np.cumprod(1 - betas)
        before = np.concatenate([[1.0], kept[:-1]])
        row = np.sqrt(before) * betas / (1 - kept)
        noisy = np.sqrt(1 - betas) * (1 - before) / (1 - kept)
        spread = np.sqrt(betas * (1 - before) / (1 - kept))
        return np.column_stack([np.sqrt(kept), np.sqrt(1 - kept), row, noisy, spread]).astype(np.float32)

    def back(self, params: Layers, noisy: Any, time: Any, weight: Any, fresh: Any) -> Any:
        """Return the rows one step less noisy."""
        import jax.numpy as jnp

        guess = self.noise_in(params, noisy, jnp.full(len(noisy), time))
        row = jnp.clip((noisy - weight[1] * guess) / weight[0], jnp.asarray(self.low), jnp.asarray(self.high))
        return (weight[2] * row + weight[3] * noisy + weight[4] * fresh).astype(jnp.float32)

    def noise_in(self, params: Layers, noisy: Any, times: Any) -> Any:
        """Return the noise that the network sees in rows at those times."""
        import jax
        import jax.numpy as jnp

        features = time_features(times, self.settings.steps, TIME_FEATURES)
        return forward(params, jnp.concatenate([noisy, features], axis=1), jax.nn.silu)

    def _update(self, state: tuple[Any, ...], key: Any, batch: Any) -> tuple[Any, ...]:
        import jax

        params, memory = state
        return gradient_step(self._adam(), params, jax.grad(self._loss)(params, key, batch), memory)

    def _loss(self, params: Layers, key: Any, batch: Any) -> Any:
        import jax
        import jax.numpy as jnp

        when, what = jax.random.split(key)
        times = jax.random.randint(when, (len(batch),), 0, self.settings.steps)
        noise = jax.random.normal(what, batch.shape, jnp.float32)
        weight = jnp.asarray(self.weights())[times]
        noisy = weight[:, :1] * batch + weight[:, 1:2] * noise
        return jnp.mean((self.noise_in(params, noisy, times) - noise) ** 2)

    def _adam(self) -> Any:
        import optax

        return optax.adam(self.settings.rate)


def _denoised(model: Diffusion, weights: Any, params: Layers, noisy: Any, times: Any, key: Any) -> Any:
    import jax
    import jax.numpy as jnp

    table = jnp.asarray(weights)

    def step(rows: Any, time: Any) -> tuple[Any, None]:
        fresh = jax.random.normal(jax.random.fold_in(key, time), rows.shape, jnp.float32)
        return model.back(params, rows, time, table[time], fresh), None

    return jax.lax.scan(step, noisy, times)[0]


@dataclass(frozen=True, eq=False)
class DeepGenerator:
    """A trained network; ``report`` says how training went."""

    name: str
    network: Network
    trained: Trained
    centre: FloatArray
    spread: FloatArray

    def draw(self, rows: int, generator: np.random.Generator) -> FloatArray:
        """Return synthetic rows in the units of the inputs."""
        import jax

        size = min(rows, MOST_AT_ONCE)
        with jax.enable_x64(False):
            _, drawn_by = compiled(self.network)
            keys = jax.random.split(_key(generator), -(-rows // size))
            parts = [np.asarray(drawn_by(self.trained.params, key, size), np.float64) for key in keys]
        drawn = np.concatenate(parts)[:rows] * self.spread + self.centre
        if not np.isfinite(drawn).all():
            raise PlanError(f"the {self.name} network ran away in training", next_step="use a smaller rate")
        return drawn

    @property
    def report(self) -> dict[str, Any]:
        """Epochs run, the epoch whose network was kept, and the distances at the checks."""
        found = self.trained
        return {
            "first": self.name,
            "epochs": found.epochs,
            "kept_epoch": found.best_epoch,
            "stopped_early": found.stopped_early,
            "distances": found.distances,
        }


def train_generator(
    name: str, inputs: FloatArray, generator: np.random.Generator, *, progress: Progress | None = None, **settings: Any
) -> DeepGenerator:
    """Return the network of that name, trained on the inputs; ``settings`` change those of Table 6."""
    require_deep(name)
    import jax

    how = GanSettings(**settings) if name == "gan" else DiffusionSettings(**settings)
    centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
    shuffled = ((inputs - centre) / spread)[generator.permutation(len(inputs))]
    kept_back = max(2, round(how.held_out * len(inputs))) if how.held_out else 0
    held, rows = shuffled[:kept_back], shuffled[kept_back:]
    network = Gan(inputs.shape[1], how) if isinstance(how, GanSettings) else _diffusion(shuffled, how)
    with jax.enable_x64(False):
        trained = train(network, rows, held[:MOST_CHECKED], _key(generator), progress)
    return DeepGenerator(name, network, trained, centre, spread)


def gan(inputs: FloatArray, rows: int, generator: np.random.Generator, **options: Any) -> FloatArray:
    """Return rows of a WGAN-GP trained on the inputs."""
    return train_generator("gan", inputs, generator, **options).draw(rows, generator)


def diffusion(inputs: FloatArray, rows: int, generator: np.random.Generator, **options: Any) -> FloatArray:
    """Return rows of a diffusion model trained on the inputs."""
    return train_generator("diffusion", inputs, generator, **options).draw(rows, generator)


def _diffusion(rows: FloatArray, settings: DiffusionSettings) -> Diffusion:
    return Diffusion(tuple(rows.min(axis=0).tolist()), tuple(rows.max(axis=0).tolist()), settings)


def _key(generator: np.random.Generator) -> Any:
    import jax

    return jax.random.PRNGKey(int(generator.integers(2**32)))
