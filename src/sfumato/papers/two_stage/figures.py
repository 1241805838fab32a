"""Figures 4 to 8: first and second stages on simulated data."""

from __future__ import annotations

import time

import numpy as np

from sfumato.papers.result import Part, value_table
from sfumato.papers.two_stage.data import FloatArray
from sfumato.papers.two_stage.networks import NETWORKS
from sfumato.papers.two_stage.published.first_stage import synthesise_inputs
from sfumato.papers.two_stage.shared_results import COMPARED, ETA, FEW_ALPHAS, SharedResults
from sfumato.papers.two_stage.trial import (
    ALPHAS,
    HALF,
    MODELS,
    MOMENTS,
    SEED,
    STAGES,
    Trial,
    moment_errors,
    part,
    single_stage,
    tvd_1_w20,
)

TIGHT = 1.25
"""A range of alpha is admissible where the error is at most so many times that on D."""
EARLIER = "U(0, 1) covers most of these inputs, so that KRR with D' gains earlier than printed"
NO_NOISE = "agrees: outputs of two stages have no noise, those of one stage keep it"
SMALLER = (
    "NOT reproduced: SH has less, since it keeps every column's distribution by design; all three allow every alpha"
)


def network_note(work: SharedResults) -> str:
    """Say when and where GAN and diffusion were trained."""
    found = work.networks
    return (
        f"GAN and diffusion (DM) with the settings of table 6: {found.trials} trials of {found.date}, {found.machine}."
    )


def from_alpha(errors: FloatArray, original: float) -> float | None:
    """Return the alpha from which on the error of #KRR on D* stays close to that on D, if any."""
    last_bad = np.flatnonzero(~(errors <= TIGHT * original))
    start = int(last_bad[-1]) + 1 if len(last_bad) else 0
    return ALPHAS[start] if start < len(ALPHAS) else None


def admissible(work: SharedResults, stage: str) -> float | None:
    """Return where the admissible range of alpha begins for a first stage."""
    if stage in NETWORKS:
        return from_alpha(np.array(work.networks.stages[stage].alone), work.networks.original_error)
    return from_alpha(work.alone[stage], work.original_error)


def errors_alone(work: SharedResults) -> dict[str, FloatArray]:
    """Return the error of #KRR on D* alone over alpha, of every first stage."""
    return {**work.alone, **{name: np.array(work.networks.stages[name].alone) for name in NETWORKS}}


def distances(work: SharedResults) -> dict[str, float]:
    """Return the mean total variation of the pure synthetic inputs, by first stage."""
    own = {stage: float(np.mean([tvd_1_w20(t.original[0], t.matched[stage]) for t in work.trials])) for stage in STAGES}
    return {**own, **{name: work.networks.stages[name].distance for name in NETWORKS}}


def figure_4(work: SharedResults) -> Part:
    """Return the error of #KRR on D* over alpha, total variation, and the admissible range of alpha."""
    tv, alone = distances(work), errors_alone(work)
    ranges = {stage: admissible(work, stage) for stage in alone}
    drops = {stage: errors[0] / errors[-1] for stage, errors in alone.items()}
    learnt = ("SH", *NETWORKS)
    begins = {stage: 1.0 if alpha is None else alpha for stage, alpha in ranges.items()}
    ordered = max(begins[s] for s in learnt) <= min(begins[s] for s in alone if s not in learnt)
    least = min(tv, key=lambda stage: tv[stage])
    numbers = {
        "original": work.original_error,
        "original_of_networks": work.networks.original_error,
        "networks": network_note(work),
        "drops": drops,
        "ranges": "; ".join(f"{s}: TV {tv[s]:.2f}, {_from(ranges[s])}" for s in alone),
        "ordered": "agrees" if ordered else "NOT reproduced",
        "tight": TIGHT,
        "learnt": {stage: tv[stage] for stage in learnt},
        "least": "agrees" if least in NETWORKS else SMALLER,
        "late": {stage: errors[-2] for stage, errors in alone.items()},
    }
    return part(
        "figure 4",
        numbers,
        drawn=[
            (ALPHAS, {stage: np.minimum(work.alone[stage], 0.1) for stage in STAGES}),
            (ALPHAS, {stage: work.networks.stages[stage].alone for stage in learnt}),
            (tuple(tv), {"TV": list(tv.values())}),
        ],
    )


def _from(alpha: float | None) -> str:
    return "no alpha below 1" if alpha is None or alpha >= 1 else f"alpha from {alpha:g}"


def figure_5(work: SharedResults) -> Part:
    """Return Delta-MSE and LID over alpha, SH against Random."""
    lids = {stage: work.lids(stage) for stage in COMPARED}
    spread = {stage: float(np.ptp(work.gains[stage, "krr"])) for stage in COMPARED}
    least = {stage: min(float(work.gains[stage, model].min()) for model in MODELS) for stage in COMPARED}
    early = work.gains["Random", "krr"][0] > 0.2
    numbers = {
        "tolerance": ETA,
        "stages": [{"stage": stage} for stage in COMPARED],
        "spans": {stage: _span(work.gains[stage, "krr"]) for stage in COMPARED},
        "moves": {stage: 100 * width for stage, width in spread.items()},
        "random": EARLIER if early else "agrees",
        "least": least,
        "gains": "agrees" if least["SH"] > max(0.0, least["Random"]) else "NOT reproduced",
        "lids": {stage: lids[stage][2] for stage in COMPARED},
    }
    return part(
        "figure 5",
        numbers,
        drawn=[
            *((FEW_ALPHAS, {MODELS[m]: work.gains[stage, m] for m in MODELS}) for stage in COMPARED),
            (FEW_ALPHAS, lids),
        ],
    )


def _span(values: FloatArray) -> str:
    return f"{100 * values.min():.0f} to {100 * values.max():.0f} %"


def figure_6(work: SharedResults) -> Part:
    """Return errors on D' with D*: two stages against SH, GAN and diffusion in one."""
    names = ("D'", "SH, one stage", "SH-KRR, two stages")
    found = {m: np.mean([_compared_stages(t, m) for t in work.trials], axis=0) for m in MODELS}
    wins = [MODELS[m] for m in MODELS if found[m][2] < found[m][1]]
    alone = {name: [float(found[m][i]) for m in MODELS] for i, name in enumerate(names)}
    one_stage = {f"{name}, one stage": work.networks.stages[name].one_stage for name in NETWORKS}
    numbers = {
        "alpha": HALF,
        "networks": network_note(work),
        "count": len(wins),
        "wins": wins,
        "beaten": NO_NOISE if len(wins) == 4 else "NOT for every model",
        "ratios": {MODELS[m]: found[m][2] / found[m][1] for m in MODELS},
        "rivals": [_rival(work, name) for name in NETWORKS],
    }
    return part(
        "figure 6",
        numbers,
        drawn=[(tuple(MODELS.values()), alone | one_stage)],
    )


def _rival(work: SharedResults, name: str) -> dict[str, object]:
    """Compare two stages with a network in one, on the same trials."""
    stages = work.networks.stages
    shares = [two / one for two, one in zip(stages["SH"].two_stages, stages[name].one_stage, strict=True)]
    wins, gan = sum(share < 1 for share in shares), name == "GAN"
    return {
        "name": name,
        "claim": "yes" if gan else "about as good, but slower",
        "wins": wins,
        "shares": dict(zip(MODELS.values(), shares, strict=True)),
        "verdict": "agrees" if gan and wins == 4 else f"{name} in one stage is not as good here",
    }


def _compared_stages(trial: Trial, model: str) -> tuple[float, float, float]:
    samples = (single_stage(trial, HALF), trial.released("SH", HALF))
    one, two = (trial.error(model, trial.combined(sample)) for sample in samples)
    return trial.public_errors[model], one, two


def figure_7(work: SharedResults) -> Part:
    """Return what first stages keep of means, standard deviations and covariances, and how long they take."""
    networks = work.networks.stages
    kept = {name: np.mean([deviations(t, name) for t in work.trials], axis=0) for name in FIRST}
    kept |= {name: np.array(networks[name].moments) for name in NETWORKS}
    seconds = {name: _seconds(work.trials[0], name) for name in FIRST}
    seconds |= {name: networks[name].seconds for name in NETWORKS}
    rows = [(name, *(f"{value:.3f}" for value in kept[name]), f"{1000 * seconds[name]:,.0f}") for name in kept]
    ratios = {name: networks[name].seconds / networks["SH"].seconds for name in NETWORKS}
    numbers = {
        "networks": network_note(work),
        "moments": "; ".join(f"{name} " + ", ".join(f"{v:.3f}" for v in e.moments) for name, e in networks.items()),
        "printed_step": kept["SH, as printed"],
        "slower": [f"1/{ratio:,.0f} of {name}" for name, ratio in ratios.items()],
        "milliseconds": 1000 * networks["SH"].seconds,
        "ranges": "; ".join(f"{name}: {_from(admissible(work, name))}" for name in ("SH", *NETWORKS)),
    }
    return part(
        "figure 7",
        numbers,
        values=(value_table("Mean relative deviation", ("first stage", *MOMENTS, "ms"), rows),),
        drawn=[(tuple(kept), {part: [min(float(e[i]), 2.0) for e in kept.values()] for i, part in enumerate(MOMENTS)})],
    )


FIRST = {**STAGES, "SH, as printed": ("lhs", {"step": "covariance"})}


def deviations(trial: Trial, name: str) -> tuple[float, float, float]:
    """Return mean relative deviations of means, standard deviations and covariances of a first stage."""
    return moment_errors(trial.original[0], _first_stage_rows(trial, name))


def _first_stage_rows(trial: Trial, name: str) -> FloatArray:
    stage, options = FIRST[name]
    return synthesise_inputs(stage, trial.original[0], len(trial.original[0]), np.random.default_rng(SEED), **options)


def _seconds(trial: Trial, name: str) -> float:
    begin = time.perf_counter()
    _first_stage_rows(trial, name)
    return time.perf_counter() - begin


def figure_8(work: SharedResults) -> Part:
    """Return errors on D' with D*, by second stage and public model."""
    found = {
        second: {m: float(np.mean([_second_stage(t, second, m) for t in work.trials])) for m in MODELS}
        for second in MODELS
    }
    public = {m: float(np.mean([t.public_errors[m] for t in work.trials])) for m in MODELS}
    best = {m: min(found, key=lambda second: found[second][m]) for m in MODELS}
    wins = sum(second == "krr" for second in best.values())
    outputs = {f"{MODELS[second][1:]} outputs": list(found[second].values()) for second in MODELS}
    close = "nearly: a close second where it is not the best" if wins else "NOT reproduced"
    numbers = {
        "alpha": HALF,
        "wins": wins,
        "best": {MODELS[m]: MODELS[second][1:] for m, second in best.items()},
        "verdict": "agrees" if wins == 4 else close,
        "gains": {MODELS[m]: 1 - found["krr"][m] / public[m] for m in MODELS},
    }
    return part(
        "figure 8",
        numbers,
        drawn=[(tuple(MODELS.values()), {"D'": list(public.values())} | outputs)],
    )


def _second_stage(trial: Trial, second: str, model: str) -> float:
    released = trial.released("SH", HALF, trial.learnt(second, trial.original))
    return trial.error(model, trial.combined(released))
