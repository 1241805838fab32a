"""Two-stage synthesis: every step against the naive one, and the whole at a hundred thousand and a million rows.

    .venv/bin/python benchmarks/two_stage.py [--krr-rows 10000] [--lambdas 10] [--rows 100000 1000000] [--only krr]

Data are the paper's simulated ones (three inputs, sx = sy = .1). Every part runs in a process of its own.

* kde: 40 bandwidths by binned leave-one-out against five-fold cross-validation with all pairs of rows;
* matching: in rounds against the naive greedy rule;
* krr: exact (one Cholesky; lambda by cross-validation on landmarks) and on landmarks alone, against scikit-learn's
  KernelRidge with the same kernel, folds and lambdas. ``--theirs 3`` times only the three lambdas around our choice and
  scales the time of the search to the whole grid; the table says so;
* whole: Latin hypercube, matching, blending, and kernel ridge regression of the response.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from measuring import machine, peak_mb, print_table, run_child, save

SEED = 7
FOLDS = 5


def surface(inputs: np.ndarray) -> np.ndarray:
    radius = np.linalg.norm(inputs, axis=1)
    return np.maximum(1 - radius, 0) ** 5 * (1 + 5 * radius) + radius**2 / 5


def simulated(rows: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pair = rng.random((rows, 2))
    inputs = np.column_stack([pair, (pair**2).sum(axis=1) + 0.1 * rng.normal(size=rows)])
    return inputs, (surface(inputs) + noise * rng.normal(size=rows))[:, None]


def holdout_error(predict: Any) -> float:
    inputs, truth = simulated(5000, SEED + 1, noise=0.0)
    return float(np.mean((predict(inputs).reshape(-1) - truth[:, 0]) ** 2))


def ours(rows: int, lambdas: int, method: str) -> dict[str, Any]:
    from sfumato.papers.two_stage.learners.regressors import fit_regressor

    inputs, targets = simulated(rows, SEED)
    grid, start, cpu = np.geomspace(1e-6, 1e-2, lambdas), time.perf_counter(), time.process_time()
    response = fit_regressor(
        "krr", inputs, targets, np.random.default_rng(1), reach=1.0, method=method, lambdas=tuple(grid)
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    report = {"cpu": cpu, "lambda": response.report["lambda"], "landmarks": response.report["landmarks"]}
    return {"seconds": seconds, "mse": holdout_error(response.predict), "peak_mb": peak_mb(), **report}


def theirs(rows: int, lambdas: int, timed: int, near: float) -> dict[str, Any]:
    """Search and refit by scikit-learn with a precomputed kernel; the kernel itself is not timed."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, KFold

    from sfumato.papers.two_stage.learners.radial_kernels import RadialKernel
    from sfumato.papers.two_stage.learners.ridge_solvers import InputRange

    inputs, targets = simulated(rows, SEED)
    box, kernel = InputRange.of(inputs), RadialKernel("wendland", 1.0, 3)
    anchors, mean = box.scaled(inputs), targets.mean()
    gram = kernel.gram(anchors, anchors)
    grid = np.geomspace(1e-6, 1e-2, lambdas)
    tried = sorted(grid[np.argsort(np.abs(np.log(grid / near)))[:timed]])
    search = GridSearchCV(
        KernelRidge(kernel="precomputed"),
        {"alpha": [rows * value for value in tried]},
        scoring="neg_mean_squared_error",
        cv=KFold(FOLDS, shuffle=True, random_state=1),
        refit=False,
    )
    start, cpu = time.perf_counter(), time.process_time()
    search.fit(gram, targets - mean)
    searching, cpu_searching = time.perf_counter() - start, time.process_time() - cpu
    start, cpu = time.perf_counter(), time.process_time()
    best = KernelRidge(kernel="precomputed", alpha=search.best_params_["alpha"]).fit(gram, targets - mean)
    refit, cpu_refit = time.perf_counter() - start, time.process_time() - cpu
    mse = holdout_error(lambda fresh: kernel.times(box.scaled(fresh), anchors, best.dual_coef_) + mean)
    share = lambdas / len(tried)
    times = {"seconds": searching * share + refit, "cpu": cpu_searching * share + cpu_refit}
    return {**times, "mse": mse, "peak_mb": peak_mb(), "lambda": best.alpha / rows, "timed": len(tried)}


def kde(rows: int) -> dict[str, Any]:
    from sfumato.papers.two_stage.published.first_stage import fit_kernel_density, scale_free_bandwidths

    column = simulated(rows, SEED)[0][:, 2]
    tried, start = scale_free_bandwidths(column), time.perf_counter()
    fit_kernel_density(column)
    seconds, start = time.perf_counter() - start, time.perf_counter()
    for fold in np.array_split(np.random.default_rng(1).permutation(rows), FOLDS):
        rest = np.delete(column, fold)
        square = (column[fold][:, None] - rest) ** 2
        for width in tried:
            np.log(np.exp(-square / (2 * width**2)).mean(axis=1) / width + 1e-300).sum()
    return {"seconds": seconds, "naive": time.perf_counter() - start, "bandwidths": len(tried)}


def matching(rows: int) -> dict[str, Any]:
    from sfumato.papers.two_stage import match, synthesise_inputs

    inputs = simulated(rows, SEED)[0]
    made = synthesise_inputs("lhs", inputs, rows, np.random.default_rng(1))
    start = time.perf_counter()
    places = match(inputs, made, "rounds", np.random.default_rng(1), scaled=False)
    seconds, start = time.perf_counter() - start, time.perf_counter()
    free, naive = np.ones(rows, bool), np.empty(rows, int)
    for row in np.random.default_rng(2).permutation(rows):
        naive[row] = np.argmin(np.where(free, ((made - inputs[row]) ** 2).sum(axis=1), np.inf))
        free[naive[row]] = False
    distances = [float(np.linalg.norm(inputs - made[found], axis=1).mean()) for found in (places, naive)]
    return {"seconds": seconds, "naive": time.perf_counter() - start, "distances": distances}


def whole(rows: int) -> dict[str, Any]:
    from sfumato.papers.two_stage import blend_rows, synthesise_inputs
    from sfumato.papers.two_stage.learners.regressors import fit_regressor

    inputs, targets = simulated(rows, SEED)
    rng, marks = np.random.default_rng(1), [time.perf_counter()]
    made = synthesise_inputs("lhs", inputs, rows, rng)
    marks.append(time.perf_counter())
    released = blend_rows(inputs, made, alpha=0.5, tolerance=0.001, generator=rng).rows
    marks.append(time.perf_counter())
    response = fit_regressor("krr", inputs, targets, rng)
    marks.append(time.perf_counter())
    response.predict(released)
    marks.append(time.perf_counter())
    steps = dict(zip(("inputs", "hybrid", "fit", "predict"), np.diff(marks).tolist(), strict=True))
    found = {"landmarks": response.report["landmarks"], "reach": response.report["reach"]}
    return {
        **steps,
        "seconds": marks[-1] - marks[0],
        "mse": holdout_error(response.predict),
        "peak_mb": peak_mb(),
        **found,
    }


def _child(part: str, *numbers: float | str) -> dict[str, Any]:
    return run_child("two_stage.py", "--child", part, *map(str, numbers))


def _print_krr(rows: int, lambdas: int, timed: int) -> dict[str, Any]:
    found = {name: _child("ours", rows, lambdas, name) for name in ("exact", "nystrom")}
    found["scikit-learn"] = _child("theirs", rows, lambdas, timed, found["exact"]["lambda"])
    base = found["scikit-learn"]
    lines = [
        [
            name,
            f"{row['seconds']:.1f}",
            f"{base['seconds'] / row['seconds']:.1f}x",
            f"{row['cpu']:.1f}",
            f"{row['mse']:.3e}",
            f"{100 * (row['mse'] / base['mse'] - 1):+.1f} %",
            f"{row['lambda']:.1e}",
            f"{row['peak_mb']:.0f}",
        ]
        for name, row in found.items()
    ]
    scaled = "" if base["timed"] == lambdas else f" (scikit-learn: {base['timed']} lambdas timed, scaled to {lambdas})"
    print_table(
        f"kernel ridge regression, {rows:,} rows, {FOLDS} folds x {lambdas} lambdas{scaled}",
        ("method", "s", "faster", "CPU s", "MSE", "against theirs", "lambda", "MB"),
        lines,
    )
    return found


def _print_steps(kde_rows: int, match_rows: int) -> dict[str, Any]:
    found = {"kde": _child("kde", kde_rows), "matching": _child("matching", match_rows)}
    lines = [
        [name, f"{rows:,}", f"{row['seconds']:.3f}", f"{row['naive']:.2f}", f"{row['naive'] / row['seconds']:.0f}x"]
        for (name, row), rows in zip(found.items(), (kde_rows, match_rows), strict=True)
    ]
    print_table("steps against naive ones", ("step", "rows", "s", "naive s", "faster"), lines)
    return found


def _print_whole(sizes: list[int]) -> dict[str, Any]:
    found = {str(rows): _child("whole", rows) for rows in sizes}
    names = ("inputs", "hybrid", "fit", "predict", "seconds", "peak_mb")
    lines = [
        [f"{int(rows):,}", *(f"{row[name]:.1f}" for name in names), f"{row['mse']:.2e}"] for rows, row in found.items()
    ]
    print_table("whole pipeline", ("rows", *names, "MSE"), lines)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--krr-rows", type=int, default=10_000)
    parser.add_argument("--lambdas", type=int, default=10)
    parser.add_argument("--theirs", type=int, default=None)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--only", choices=("steps", "krr", "whole"))
    parser.add_argument("--child", nargs="+")
    given = parser.parse_args()
    if given.child:
        part, *numbers = given.child
        values = [text if text.isalpha() else float(text) if set(text) & set(".e-") else int(text) for text in numbers]
        print(
            json.dumps(
                {"ours": ours, "theirs": theirs, "kde": kde, "matching": matching, "whole": whole}[part](*values)
            )
        )
        return
    results: dict[str, Any] = {"machine": machine()}
    if given.only in (None, "steps"):
        results["steps"] = _print_steps(5000, 10_000)
    if given.only in (None, "krr"):
        results["krr"] = _print_krr(given.krr_rows, given.lambdas, given.theirs or given.lambdas)
    if given.only in (None, "whole"):
        results["whole"] = _print_whole(given.rows)
    print(f"\nwritten to {save('two_stage.json', results).name}")


if __name__ == "__main__":
    main()
