"""Denoising diffusion model for rows of numbers (Ho et al. 2020).

Rows are spoilt in ``steps`` steps by noise whose variance goes evenly from ``beta_start`` to ``beta_end``; a network
learns to tell the noise in a spoilt row from the row and the time. To draw, noise is mended step by step; the row
guessed on the way is kept in the range of its column, so that an error cannot grow. Table 6 gives: 256 hidden
neurons, batches of 32, rate 2e-4, 300 epochs, 1000 steps, beta from 1e-4 to 0.02. It does not give the number of hidden
layers (2 here), nor how the network is told the time (64 sines and cosines here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.two_stage.published.network_training import (
    Layers,
    Training,
    forward,
    gradient_step,
    perceptron,
    time_features,
)

TIME_FEATURES = 64


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
