"""The weighted lognormal posterior in closed form, against NUTS on the same model, and 1,000,000 records end to end.

    .venv/bin/python benchmarks/pseudo_posterior.py [--records 2000] [--many 1000000]

NUTS by NumPyro comes with ``sfumato[bayes]``; nutpie needs ``pip install nutpie pymc``. What is not installed is left
out, and the output says so. All samplers get the same weights and the same flat prior (1/s2), two chains of 1000 steps
of warm-up and 2000 draws, and one process each. Effective draws are the fewest over the three parameters, after rank
normalisation; draws in closed form are independent. "Seconds" are those of a second run, with nothing left to compile;
the library compiles NumPyro's chains once, whereas ``numpyro.infer.MCMC.run`` compiles its loop in every run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import machine, measure, print_table, run_child, save

SEED = 1000
CHAINS, WARMUP, DRAWS = 2, 1000, 2000
CLOSED_DRAWS, REPEATS = 1000, 200
"""Draws that the library takes by default."""
NAMES = ("intercept", "slope", "variance")
RIVALS = {"NumPyro NUTS": ("numpyro", ("numpyro",)), "nutpie": ("nutpie", ("nutpie", "pymc"))}
STANDARDS = ("weighted", "averaged", "truncated", "capped")
LIMITS = {"ratio": 1000.0, "seconds": 30.0}


def weighted_model(records: int) -> tuple[Any, np.ndarray]:
    """Return the lognormal family of the paper's simulated table, and its weights."""
    from sfumato.papers.range_restriction.families import make_family
    from sfumato.papers.range_restriction.published.weights import Weighting
    from sfumato.papers.range_restriction.simulation import simulated_sample

    sample = simulated_sample(SEED, records)
    family = make_family("lognormal", sample.x, sample.z)
    return family, Weighting("weighted").fit(family, np.random.default_rng([SEED, 1])).weights


def exact_moments(posterior: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations: Student t coefficients, an inverse gamma variance."""
    a, b = posterior.shape, posterior.rate
    inverse = np.linalg.inv(posterior.factor.T @ posterior.factor)
    deviations = np.sqrt(np.append(np.diag(inverse) * b / (a - 1), b**2 / (a - 1) ** 2 / (a - 2)))
    return np.append(posterior.mean, b / (a - 1)), deviations


def closed_form(records: int, draws: int = CLOSED_DRAWS) -> dict[str, Any]:
    """Time the posterior and its draws together, the median of many runs."""
    family, weights = weighted_model(records)
    numbers, seconds = family.numbers(draws, np.random.default_rng(SEED)), []
    for _ in range(REPEATS):
        start = time.perf_counter()
        family.posterior(weights).draw(numbers)
        seconds.append(time.perf_counter() - start)
    many = family.posterior(weights).draw(family.numbers(200_000, np.random.default_rng(SEED))).theta
    typical = float(np.median(seconds))
    return {
        "seconds": typical,
        "first": float(seconds[0]),
        "draws": draws,
        "effective": float(draws),
        "r_hat": 1.0,
        **agreement(family, weights, many, len(many)),
    }


def agreement(family: Any, weights: np.ndarray, draws: np.ndarray, effective: float) -> dict[str, Any]:
    """Return how far the means lie off, in standard errors, and the ratios of the standard deviations."""
    means, deviations = exact_moments(family.posterior(weights))
    off = (draws.mean(axis=0) - means) / deviations * math.sqrt(effective)
    return {"z": off.tolist(), "ratios": (draws.std(axis=0) / deviations).tolist()}


def judged(family: Any, weights: np.ndarray, run: Callable[[int], np.ndarray], compile_s: float) -> dict[str, Any]:
    """Run a sampler twice and judge the second run; ``run(seed)`` returns chains by draws by parameters."""
    from sfumato.papers.range_restriction.families.nuts import convergence_of

    _, cold = measure(lambda: run(1))
    chains, warm = measure(lambda: run(2))
    found = convergence_of(chains, 0.0)
    return {
        "seconds": warm["wall"],
        "first": cold["wall"] + compile_s,
        "draws": CHAINS * DRAWS,
        "effective": found.bulk,
        "r_hat": found.r_hat,
        **agreement(family, weights, chains.reshape(-1, 3), found.bulk),
    }


def numpyro_nuts(records: int) -> dict[str, Any]:
    """NumPyro's NUTS with a dense mass matrix, through the library: its chains are compiled once for all runs."""
    import numpyro
    from jax import numpy as jnp
    from numpyro.distributions import ImproperUniform, Normal, constraints

    from sfumato.papers.range_restriction.families.nuts import NutsSampler, Sampling
    from sfumato.papers.range_restriction.families.sampled_models import SampledModel

    family, weights = weighted_model(records)

    def prior() -> dict[str, Any]:
        b = numpyro.sample("b", ImproperUniform(constraints.real_vector, (), (2,)))
        return {"b": b, "log_s": numpyro.sample("log_s", ImproperUniform(constraints.real, (), ()))}

    def log_likelihood(theta: Any, values: Any, design: Any) -> Any:
        return Normal(design @ theta["b"], jnp.exp(theta["log_s"])).log_prob(values)

    model = SampledModel(
        "lognormal", "continuous", prior, log_likelihood, lambda theta, design, generator: design[:, 0]
    )
    engine = NutsSampler(model, Sampling(seed=1, chains=CHAINS, warmup=WARMUP, draws=DRAWS))

    def run(seed: int) -> np.ndarray:
        # The seed is an argument of the compiled function, not a part of it.
        object.__setattr__(engine, "sampling", replace(engine.sampling, seed=seed))
        chains, _ = engine.sample(family.response, family.design, weights)
        return np.concatenate([chains[..., :2], np.exp(2 * chains[..., 2:])], axis=2)

    return judged(family, weights, run, 0.0)


def nutpie_nuts(records: int) -> dict[str, Any]:
    """Nutpie on the same model written in PyMC."""
    import nutpie
    import pymc as pm

    family, weights = weighted_model(records)
    with pm.Model() as model:
        b, log_s = pm.Flat("b", shape=2), pm.Flat("log_s")
        each = pm.logp(pm.Normal.dist(pm.math.dot(family.design, b), pm.math.exp(log_s)), family.response)
        pm.Potential("weighted", (weights * each).sum())
    compiled, cost = measure(lambda: nutpie.compile_pymc_model(model))

    def run(seed: int) -> np.ndarray:
        found = nutpie.sample(
            compiled, draws=DRAWS, tune=WARMUP, chains=CHAINS, cores=CHAINS, seed=seed, progress_bar=False
        ).posterior
        b, log_s = np.asarray(found["b"]), np.asarray(found["log_s"])
        return np.concatenate([b, np.exp(2 * log_s)[..., None]], axis=2)

    return judged(family, weights, run, cost["wall"])


def in_library(standard: str, records: int) -> dict[str, float]:
    """Weights, posterior and one synthetic column on arrays; compiled on a few records before."""
    from sfumato.papers.range_restriction.families import make_family
    from sfumato.papers.range_restriction.published.ranges import Radius
    from sfumato.papers.range_restriction.published.weights import Weighting
    from sfumato.papers.range_restriction.simulation import simulated_sample

    ranges = Radius(0.6, 1.2) if standard in ("averaged", "truncated") else None
    target = 8.0 if standard == "capped" else None

    def whole(count: int) -> Any:
        sample, generator = simulated_sample(SEED, count), np.random.default_rng([SEED, 1])
        family = make_family("lognormal", sample.x, sample.z)
        fitted = Weighting(standard, ranges=ranges, target_claim=target).fit(family, generator)
        fitted.synthesise(0, None, generator)
        return fitted

    whole(1000)
    fitted, cost = measure(lambda: whole(records))
    return {**cost, "epsilon": fitted.epsilon}


def released(standard: str, records: int) -> dict[str, float]:
    """The same by ``sfumato.release``: reading, checking, weights, posterior, synthesis, laying out."""
    import pyarrow as pa

    import sfumato
    from sfumato.papers.range_restriction.simulation import simulated_sample

    schema = sfumato.Schema.parse(SCHEMA)
    settings: dict[str, Any] = {"ranges": (0.6, 1.2)} if standard in ("averaged", "truncated") else {}
    settings |= {"target_claim": 8.0} if standard == "capped" else {}

    def whole(count: int) -> Any:
        sample = simulated_sample(SEED, count)
        table = sfumato.read(pa.table({"x": np.clip(sample.x, 1e-3, 1e6), "z": np.clip(sample.z, -10, 10)}), schema)
        method = sfumato.PseudoPosterior.as_published("x", ["z"], "lognormal", standard, **settings)
        return sfumato.release(table, method, seed=SEED, ledger=False)

    whole(100_000)
    made, cost = measure(lambda: whole(records))
    return {**cost, "epsilon": float(made.confidential["claimed_epsilon"])}


SCHEMA = """
[table]
name = "simulated"
[columns.x]
kind = "number"
bounds = [0.001, 1000000]
[columns.z]
kind = "number"
bounds = [-10, 10]
"""
TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "closed": closed_form,
    "as-many": lambda n: closed_form(n, CHAINS * DRAWS),
    "numpyro": numpyro_nuts,
    "nutpie": nutpie_nuts,
    **{f"library-{name}": lambda n, name=name: in_library(name, n) for name in STANDARDS},
    **{f"release-{name}": lambda n, name=name: released(name, n) for name in STANDARDS},
}


def child(task: str, records: int) -> dict[str, Any]:
    return run_child("pseudo_posterior.py", "--child", task, "--records", str(records))


def compare_samplers(records: int) -> list[dict[str, Any]]:
    """Measure the closed form and every sampler that is installed; say what is not."""
    results = [{"sampler": "closed form", **child(task, records)} for task in ("closed", "as-many")]
    for name, (task, packages) in RIVALS.items():
        absent = [package for package in packages if find_spec(package) is None]
        if absent:
            print(f"{name} is left out: {' and '.join(absent)} not installed")
        else:
            results.append({"sampler": name, **child(task, records)})
    for result in results:
        result["per_second"] = result["effective"] / result["seconds"]
        result["ratio"] = results[0]["per_second"] / result["per_second"]
        result["first_ratio"] = results[0]["per_second"] / (result["effective"] / result["first"])
    return results


def show_samplers(records: int, results: list[dict[str, Any]]) -> None:
    header = (
        "sampler",
        "draws",
        "seconds",
        "with compiling",
        "effective",
        "effective/s",
        "ratio",
        "ratio with compiling",
        "R-hat",
        "z of 3 means",
        "3 sd ratios",
    )
    lines = [
        (
            r["sampler"],
            f"{r['draws']}",
            f"{r['seconds']:.5f}" if r["seconds"] < 0.1 else f"{r['seconds']:.1f}",
            f"{r['first']:.4f}" if r["first"] < 0.1 else f"{r['first']:.1f}",
            f"{r['effective']:.0f}",
            f"{r['per_second']:.3g}",
            f"{r['ratio']:,.0f}",
            f"{r['first_ratio']:,.0f}",
            f"{r['r_hat']:.4f}",
            " ".join(f"{z:.2f}" for z in r["z"]),
            " ".join(f"{z:.3f}" for z in r["ratios"]),
        )
        for r in results
    ]
    title = f"Weighted lognormal regression, n = {records:,}, seed {SEED}: effective draws of {', '.join(NAMES)}"
    print_table(title, header, lines)


def arguments() -> argparse.Namespace:
    """Read the command line; ``--child`` is how this script measures one thing in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--child", choices=TASKS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measure, print, write pseudo_posterior.json, and say whether the limits hold."""
    options = arguments()
    if options.child:
        print(json.dumps(TASKS[options.child](options.records)))
        return
    facts, samplers = machine(), compare_samplers(options.records)
    facts["versions"] |= {name: version(name) for name in ("jax", "numpyro", "nutpie", "pymc") if find_spec(name)}
    show_samplers(options.records, samplers)
    wholes = [
        {"way": way, "standard": name, **child(f"{way}-{name}", options.many)}
        for way in ("library", "release")
        for name in STANDARDS
    ]
    lines = [
        (r["way"], r["standard"], f"{r['wall']:.1f}", f"{r['cpu']:.1f}", f"{r['peak_mb']:.0f}", f"{r['epsilon']:.2f}")
        for r in wholes
    ]
    print_table(
        f"{options.many:,} records end to end: weights, posterior (1000 draws), one synthetic column",
        ("way", "standard", "seconds", "CPU s", "peak MB", "claimed epsilon"),
        lines,
    )
    save("pseudo_posterior.json", {"machine": facts, "samplers": samplers, "end_to_end": wholes})
    slowest = max(r["wall"] for r in wholes)
    warm, cold = (min((r[kind] for r in samplers[2:]), default=math.nan) for kind in ("ratio", "first_ratio"))
    print(
        f"\nslowest end to end {slowest:.1f} s (limit {LIMITS['seconds']:g}); smallest ratio {cold:,.0f} with "
        f"compiling, {warm:,.0f} without (expected above {LIMITS['ratio']:g}); "
        f"load at start {facts['load_at_start']:.1f} on {facts['cores']} cores"
    )


if __name__ == "__main__":
    main()
