"""Deep first stages: ``gan`` (WGAN-GP) and ``diffusion`` (DDPM), in JAX, extra ``sfumato[deep]``.

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
from sfumato.methods.two_stage.published.deep.diffusion import Diffusion, DiffusionSettings
from sfumato.methods.two_stage.published.deep.gan import Gan, GanSettings
from sfumato.methods.two_stage.published.deep.training import (
    MOST_CHECKED,
    Array,
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
class DeepStage:
    """A trained network; ``report`` says how training went."""

    name: str
    network: Network
    trained: Trained
    centre: Array
    spread: Array

    def draw(self, rows: int, generator: np.random.Generator) -> Array:
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


def fit_deep(
    name: str, inputs: Array, generator: np.random.Generator, *, progress: Progress | None = None, **settings: Any
) -> DeepStage:
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
    return DeepStage(name, network, trained, centre, spread)


def gan(inputs: Array, rows: int, generator: np.random.Generator, **options: Any) -> Array:
    """Return rows of a WGAN-GP trained on the inputs."""
    return fit_deep("gan", inputs, generator, **options).draw(rows, generator)


def diffusion(inputs: Array, rows: int, generator: np.random.Generator, **options: Any) -> Array:
    """Return rows of a diffusion model trained on the inputs."""
    return fit_deep("diffusion", inputs, generator, **options).draw(rows, generator)


def _diffusion(rows: Array, settings: DiffusionSettings) -> Diffusion:
    return Diffusion(tuple(rows.min(axis=0).tolist()), tuple(rows.max(axis=0).tolist()), settings)


def _key(generator: np.random.Generator) -> Any:
    import jax

    return jax.random.PRNGKey(int(generator.integers(2**32)))
