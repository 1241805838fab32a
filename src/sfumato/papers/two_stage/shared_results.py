"""Results that several parts share, computed when they are first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato.papers.data import data_folder, require_files
from sfumato.papers.two_stage.data import FILES, TABLES, FloatArray
from sfumato.papers.two_stage.networks import NetworksFound, measured_networks, stored_networks
from sfumato.papers.two_stage.prices import Prices, measured_prices
from sfumato.papers.two_stage.real_tables import RealTableResult, measured_table
from sfumato.papers.two_stage.trial import ALPHAS, MODELS, SEED, STAGES, Trial, simulated_trial

RUNS = 3
FEW_ALPHAS = (0.0, 0.2, 0.5, 0.8, 1.0)
COMPARED = ("SH", "Random")
ETA = 0.001


@dataclass(frozen=True)
class SharedResults:
    """The trials and what is measured on them."""

    runs: int = RUNS
    folder: Path | None = None
    deep: bool = False
    """Whether GAN and diffusion are trained anew, in as many trials."""

    @cached_property
    def networks(self) -> NetworksFound:
        """What GAN and diffusion reach: as kept in the package, or trained now."""
        return measured_networks(self.runs) if self.deep else stored_networks()

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Trials on the simulated data."""
        return tuple(simulated_trial(SEED + 100 * run) for run in range(self.runs))

    @cached_property
    def original_error(self) -> float:
        """Mean error of #KRR trained on the original rows themselves."""
        return float(np.mean([trial.error("krr", trial.original) for trial in self.trials]))

    @cached_property
    def alone(self) -> dict[str, FloatArray]:
        """Mean error of #KRR trained on D* alone, by first stage, over alpha."""
        return {stage: np.array([self._alone(stage, alpha) for alpha in ALPHAS]) for stage in STAGES}

    def _alone(self, stage: str, alpha: float) -> float:
        return float(np.mean([trial.error("krr", trial.released(stage, alpha)) for trial in self.trials]))

    @cached_property
    def gains(self) -> dict[tuple[str, str], FloatArray]:
        """Mean Delta-MSE by first stage and public model, over few alphas."""
        return {
            (stage, model): np.array([self._gain(stage, model, alpha) for alpha in FEW_ALPHAS])
            for stage in COMPARED
            for model in MODELS
        }

    def _gain(self, stage: str, model: str, alpha: float) -> float:
        return float(np.mean([trial.gain(model, trial.released(stage, alpha)) for trial in self.trials]))

    def lids(self, stage: str) -> FloatArray:
        """Return the mean LID over few alphas."""
        lids = [[trial.lid(stage, alpha, ETA) for trial in self.trials] for alpha in FEW_ALPHAS]
        return np.asarray(np.mean(lids, axis=1), np.float64)

    @cached_property
    def prices(self) -> Prices:
        """The price-sale data."""
        return measured_prices(SEED, 3 * self.runs)

    @cached_property
    def real(self) -> dict[str, RealTableResult]:
        """The five real tables, at most two trials each."""
        place = data_folder(self.folder)
        require_files(place, FILES)
        return {each.name: measured_table(each, place, min(2, self.runs - 1), SEED) for each in TABLES}
