"""Deep first stages by name: WGAN-GP and diffusion (JAX, extra [deep]).

The same code runs on a processor and on an accelerator, in single precision; a seed gives the same rows again on the
same machine. Columns are put on mean 0 and standard deviation 1 first. The settings, which may be given by name, are
those of the paper's Table 6.

Heuristic: no differential privacy. Networks can repeat rows that they were trained on, and the rule for stopping reads
confidential rows too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import PlanError
from sfumato.papers.two_stage.published.diffusion import Diffusion, DiffusionSettings
from sfumato.papers.two_stage.published.gan import Gan, GanSettings
from sfumato.papers.two_stage.published.network_training import (
    MOST_CHECKED,
    FloatArray,
    Network,
    Progress,
    Trained,
    compiled,
    require_deep,
    train,
)

MOST_AT_ONCE = 50_000
"""More rows than this are drawn in parts, so that memory stays small."""


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
