"""Wasserstein GAN with gradient penalty for rows of numbers (Gulrajani et al. 2017).

The critic f minimizes ``E f(G(z)) - E f(x) + c E(|grad f| - 1)^2``, the last at random points between real and made
rows; the generator then minimizes ``-E f(G(z))``. Table 6 gives: noise of 500 numbers, 512 hidden neurons, penalty 10,
20 critic updates, batches of 64, rate 1e-4, 600 epochs. It does not give the number of hidden layers (2 here), Adam's
betas (0 and 0.9, as in the cited work), nor what an epoch is: here one update of the generator per batch that the rows
fill, and before each ``critic_updates`` updates of the critic, each on a fresh batch, drawn
with replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.papers.two_stage.published.network_training import Layers, Training, forward, gradient_step, perceptron

BETAS = (0.0, 0.9)
LEAK = 0.2


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
