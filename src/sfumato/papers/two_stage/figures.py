"""Figures 4 to 8, first and second stages on simulated data; 12 and 13, test rows from a shifted distribution."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from sfumato.papers.result import Part
from sfumato.papers.two_stage.data import ELASTICITIES, FloatArray, Sample, target_function
from sfumato.papers.two_stage.networks import NETWORKS
from sfumato.papers.two_stage.prediction_task import delta_mse, mean_squared_error
from sfumato.papers.two_stage.prices import price_trial
from sfumato.papers.two_stage.published.first_stage import synthesise_inputs
from sfumato.papers.two_stage.shared_results import COMPARED, ETA, FEW_ALPHAS, SharedResults
from sfumato.papers.two_stage.trial import (
    ALPHAS,
    HALF,
    MODELS,
    MOMENTS,
    SEED,
    STAGES,
    TEST_ROWS,
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
        "spans": {stage: _percent_range(work.gains[stage, "krr"]) for stage in COMPARED},
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
    ratios = {name: networks[name].seconds / networks["SH"].seconds for name in NETWORKS}
    numbers = {
        "networks": network_note(work),
        "moments": "; ".join(f"{name} " + ", ".join(f"{v:.3f}" for v in e.moments) for name, e in networks.items()),
        "printed_step": kept["SH, as printed"],
        "slower": [f"1/{ratio:,.0f} of {name}" for name, ratio in ratios.items()],
        "stages": [(name, *kept[name], 1000 * seconds[name]) for name in kept],
        "milliseconds": 1000 * networks["SH"].seconds,
        "ranges": "; ".join(f"{name}: {_from(admissible(work, name))}" for name in ("SH", *NETWORKS)),
    }
    return part(
        "figure 7",
        numbers,
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


MEANS = tuple(round(0.1 * step, 1) for step in range(1, 11))
SPREAD = 0.14
NOISES = tuple(round(0.2 * step, 1) for step in range(1, 11))
"""Standard deviations of the noise on the test prices."""
UNIFORM = "our test rows keep x1 and x2 uniform, the paper says nothing of them"
FAR_AWAY = "far outside the prices that anybody has seen, local models have nothing to gain"


def figure_12(work: SharedResults) -> Part:
    """Return total variation of the third input and the gain, as the test rows move."""
    far = np.mean([[_shifted_test_rows(trial, mean)[1] for mean in MEANS] for trial in work.trials], axis=0)
    errors = np.mean([_errors(trial) for trial in work.trials], axis=0)
    gains = {m: [delta_mse(*pair) for pair in errors[i]] for i, m in enumerate(MODELS)}
    losses = [MODELS[m] for m in MODELS if min(gains[m]) < 0]
    rising = [MODELS[m] for m in MODELS if np.corrcoef(far, gains[m])[0, 1] > 0]
    order = np.argsort(far)
    drawn = {MODELS[m]: [gains[m][place] for place in order] for m in MODELS}
    prices = price_gains(work)
    helps = min(map(min, prices.values())) > 0
    numbers = {
        "gains": {MODELS[m]: _percent_range(gain) for m, gain in gains.items()},
        "losses": f"NOT for {', '.join(losses)}" if losses else "agrees",
        "correlations": {MODELS[m]: np.corrcoef(far, gain)[0, 1] for m, gain in gains.items()},
        "rising": f"NOT for {', '.join(rising)}; {UNIFORM}" if rising else "agrees",
        "price_gains": {MODELS[m]: _percent_range(gain) for m, gain in prices.items()},
        "prices": "the release helps at every noise" if helps else FAR_AWAY,
    }
    return part(
        "figure 12",
        numbers,
        drawn=[
            ([float(f"{far[place]:.3f}") for place in order], drawn),
            (MEANS, {"D'": errors[0][:, 0], "D' + D*": errors[0][:, 1]}),
            (NOISES, {MODELS[m]: gain for m, gain in prices.items()}),
        ],
    )


def _percent_range(gains: Sequence[float] | FloatArray) -> str:
    return f"{100 * min(gains):.0f} to {100 * max(gains):.0f} %"


def price_gains(work: SharedResults) -> dict[str, list[float]]:
    """Return Delta-MSE of each model on price data whose test prices are spoilt by more and more noise."""
    trials = [price_trial(SEED + 100 * run, ELASTICITIES[0]) for run in range(max(1, work.runs // 2))]
    errors = np.mean([_price_errors(trial) for trial in trials], axis=0)
    return {model: [delta_mse(*pair) for pair in errors[i]] for i, model in enumerate(MODELS)}


def _price_errors(trial: Trial) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and noise."""
    generator, prices = np.random.default_rng([trial.seed, 13]), trial.holdout[0]
    tests = [prices + generator.normal(0.0, noise, prices.shape) for noise in NOISES]
    samples = [(x, ELASTICITIES[0] * x[:, 0]) for x in tests]
    return _trained_once(trial, trial.combined(trial.released("SH", HALF)), samples)


def _shifted_test_rows(trial: Trial, mean: float) -> tuple[FloatArray, float]:
    """Return test inputs with another third column, and how far that column is from the original one."""
    generator = np.random.default_rng([trial.seed, round(10 * mean)])
    rows = generator.random((TEST_ROWS, 3))
    rows[:, 2] = generator.normal(mean, SPREAD, TEST_ROWS)
    return rows, tvd_1_w20(trial.original[0][:, 2:], rows[:, 2:])


def _errors(trial: Trial) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and mean."""
    samples = [(x, target_function(x)) for x in (_shifted_test_rows(trial, mean)[0] for mean in MEANS)]
    return _trained_once(trial, trial.combined(trial.released("SH", HALF)), samples)


def _trained_once(trial: Trial, combined: Sample, tests: Sequence[Sample]) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and test; every model is trained once."""
    found: list[list[tuple[float, ...]]] = []
    for model in MODELS:
        learnt = [trial.learnt(model, train) for train in (trial.public, combined)]
        found.append([tuple(mean_squared_error(each.predict(x)[:, 0], y) for each in learnt) for x, y in tests])
    return np.array(found)


def figure_13(work: SharedResults) -> Part:
    """Return Delta-MSE over alpha for SH and Random: prices, and the simulated data of figure 5."""
    trials = [price_trial(SEED + 100 * run, ELASTICITIES[0], stages=COMPARED) for run in range(max(1, work.runs // 2))]
    prices = {
        (stage, m): np.array([np.mean([t.gain(m, t.released(stage, a)) for t in trials]) for a in FEW_ALPHAS])
        for stage in COMPARED
        for m in MODELS
    }
    both = {"prices": prices, "nonlinear": work.gains}
    flat = {name: 100 * max(float(np.ptp(each["SH", m])) for m in MODELS) for name, each in both.items()}
    numbers = {
        "stages": [{"stage": stage} for stage in COMPARED],
        "flat": flat,
        "verdict": "agrees for KRR; trees on 500 rows move a little" if flat["nonlinear"] > 10 else "agrees",
        "blind": {name: [100 * each["Random", m][0] for m in MODELS] for name, each in both.items()},
    }
    return part(
        "figure 13",
        numbers,
        drawn=[(FEW_ALPHAS, {MODELS[m]: prices[stage, m].tolist() for m in MODELS}) for stage in COMPARED],
    )
