"""GAN and diffusion first stages, from stored or fresh training runs.

Their training takes minutes on an accelerator and hours without one. What one run on an accelerator found is kept
beside this module, with its date and machine; SH was measured on the same trials.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from typing import Any

import numpy as np

from sfumato.papers.result import FrozenModel
from sfumato.papers.two_stage.data import FloatArray, Sample
from sfumato.papers.two_stage.published.blending import match
from sfumato.papers.two_stage.published.first_stage import synthesise_inputs
from sfumato.papers.two_stage.trial import (
    ALPHAS,
    HALF,
    MODELS,
    SEED,
    Trial,
    moment_errors,
    simulated_trial,
    single_stage,
    tvd_1_w20,
)

NETWORKS = {"GAN": "gan", "DM": "diffusion"}
"""First stages by the paper's names."""
AS_PUBLISHED: dict[str, Any] = {"held_out": 0.0}
"""All rows train and the last network counts: the paper names no rule for stopping."""
KEPT = "networks.json"


class StageResult(FrozenModel):
    """One first stage over all trials; errors are means, by alpha or by public model."""

    alone: tuple[float, ...]
    """Error of #KRR on D* alone, over the alphas."""
    distance: float
    """Total variation of the pure synthetic inputs."""
    moments: tuple[float, float, float]
    """What is lost of means, standard deviations and covariances."""
    one_stage: tuple[float, ...]
    """Errors on D' with rows whose outputs were synthesized with the inputs."""
    two_stages: tuple[float, ...]
    """Errors on D' with D* at alpha 0.5."""
    seconds: float
    """To make the inputs of the first trial, with training and compiling."""


class NetworksFound(FrozenModel):
    """SH, GAN and diffusion on the same trials, and when and where that was."""

    date: str
    machine: str
    trials: int
    original_error: float
    """Error of #KRR on D itself."""
    stages: dict[str, StageResult]


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a first stage makes of one trial: inputs alone, and rows of inputs and output in a single stage."""

    inputs: FloatArray
    rows: Sample
    seconds: float


Draw = Callable[[Trial, str], Drawn]


def stored_networks() -> NetworksFound:
    """Return what the run on an accelerator found."""
    text = (files("sfumato.papers.two_stage") / KEPT).read_text(encoding="utf-8")
    return NetworksFound.model_validate_json(text)


def train_and_draw(trial: Trial, name: str) -> Drawn:
    """Train both networks of that name on a trial and draw as many rows as it has; SH needs no training."""
    rows, generator = trial.original[0], np.random.default_rng([trial.seed, 11])
    stage, options = NETWORKS.get(name, "lhs"), AS_PUBLISHED if name in NETWORKS else {}
    begin = time.perf_counter()
    inputs = synthesise_inputs(stage, rows, len(rows), generator, **options)
    seconds = time.perf_counter() - begin
    if name not in NETWORKS:
        return Drawn(inputs, single_stage(trial, HALF), seconds)
    both = synthesise_inputs(stage, np.column_stack(trial.original), len(rows), generator, **options)
    return Drawn(inputs, (both[:, :-1], both[:, -1]), seconds)


def measured_networks(trials: int, draw: Draw = train_and_draw, machine: str = "") -> NetworksFound:
    """Measure SH and both networks on so many trials."""
    made = [simulated_trial(SEED + 100 * run) for run in range(trials)]
    names = ("SH", *NETWORKS)
    each = {name: [_measured(trial, draw(trial, name)) for trial in made] for name in names}
    return NetworksFound(
        date=date.today().isoformat(),
        machine=machine or _machine(),
        trials=trials,
        original_error=float(np.mean([trial.error("krr", trial.original) for trial in made])),
        stages={name: _mean(found) for name, found in each.items()},
    )


def _machine() -> str:
    """Name the device on which JAX trains."""
    import jax  # pyright: ignore[reportMissingImports]

    return str(jax.devices()[0].device_kind)


def _measured(trial: Trial, made: Drawn) -> StageResult:
    rows = trial.original[0]
    places = match(rows, made.inputs, "rounds", np.random.default_rng([trial.seed, 12]))
    own = replace(trial, matched={"own": made.inputs[places]})
    return StageResult(
        alone=tuple(own.error("krr", own.released("own", alpha)) for alpha in ALPHAS),
        distance=tvd_1_w20(rows, made.inputs),
        moments=moment_errors(rows, made.inputs),
        one_stage=tuple(trial.error(model, trial.combined(made.rows)) for model in MODELS),
        two_stages=tuple(trial.error(model, trial.combined(own.released("own", HALF))) for model in MODELS),
        seconds=made.seconds,
    )


def _mean(found: list[StageResult]) -> StageResult:
    """Return the mean over trials, and the seconds of the first."""
    table: list[Mapping[str, object]] = [each.model_dump() for each in found]
    means = {name: np.mean([np.asarray(row[name], float) for row in table], axis=0).tolist() for name in table[0]}
    return StageResult.model_validate({**means, "seconds": found[0].seconds})
