"""NIST's test on its own excerpts of the American Community Survey, beside the numbers that NIST published.

    .venv/bin/python benchmarks/nist.py [--tables national] [--sets demographic] [--epsilons 1] [--seeds 21 22 23 24 25]

Measures, written anew after the descriptions of SDNist (github.com/usnistgov/SDNist) and checked against it once:

* k-marginal: 1000 (1 - mean total variation distance of all pairs of columns), ages and incomes in 20 classes of about
  equal true mass;
* pMSE: mean squared distance, from the share of synthetic rows, of the probabilities by which a decision tree of
  depth 6 tells synthetic rows from true ones;
* broken: rows that contradict a rule of the data dictionary;
* slopes: mean absolute error of the slope of PINCP_DECILE on EDU among adults, over groups of sex and race.

The set "demographic" has the ten columns of NIST's reports; the other four were put together here. Values are read as
texts, ages and incomes as whole numbers, "N" is a level. Runs with rules are given those of the data dictionary.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measuring import print_table, show_progress

import sfumato
from sfumato.schema import Column, Rule, Schema

DELTA = 1e-5
CLASSES, DEPTH, MODEL_SEED = 20, 6, 0
FILES = {"national": "acs_national2019.csv.gz", "ma": "acs_ma2019.csv"}
SETS = {
    "demographic": "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET DEYE",
    "family": "AGEP SEX MSP RAC1P HISP HOUSING_TYPE OWN_RENT NOC NPF",
    "work": "AGEP SEX MSP RAC1P OWN_RENT EDU INDP_CAT PINCP_DECILE",
    "small": "SEX MSP RAC1P HISP OWN_RENT EDU DVET DREM DPHY DEYE DEAR",
    "wide": "AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU PINCP PINCP_DECILE DVET DREM DPHY DEYE "
    "DEAR",
}
BOUNDS = {"AGEP": (0, 99), "PINCP": (-20_000, 2_000_000)}
"""Public bounds of the columns that are read as whole numbers; PINCP is missing for children."""
RULES = (
    *(f"AGEP < 15 implies {name} == 'N'" for name in ("MSP", "PINCP_DECILE", "INDP_CAT", "DVET")),
    *(f"AGEP >= 15 implies {name} != 'N'" for name in ("MSP", "PINCP_DECILE")),
    *(f"AGEP < 5 implies {name} == 'N'" for name in ("DPHY", "DREM")),
    *(f"AGEP >= 5 implies {name} != 'N'" for name in ("DPHY", "DREM")),
    "AGEP < 3 implies EDU == 'N'",
    "AGEP >= 3 implies EDU != 'N'",
    "HOUSING_TYPE != '1' implies OWN_RENT == '0'",
    "HOUSING_TYPE == '1' implies OWN_RENT != '0'",
    "HOUSING_TYPE != '1' implies NOC == 'N'",
    "HOUSING_TYPE != '1' implies NPF == 'N'",
    "HOUSING_TYPE == '1' implies NOC != 'N'",
)
PUBLISHED = {
    ("national", "demographic", 1.0): {
        "NIST: SmartNoise AIM": {"k-marginal": 976, "pMSE": 0.002, "broken": 1345},
        "NIST: SmartNoise MST": {"k-marginal": 958, "pMSE": 0.005},
        "NIST: a 30 % sample of the true rows": {"k-marginal": 984},
    }
}
SHOWN = ("k-marginal", "pMSE", "broken", "slopes", "cpu")


def read(table: str) -> pd.DataFrame:
    """Return an excerpt as texts, with ages and incomes as whole numbers."""
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    frame = pd.read_csv(folder / FILES[table], dtype=str, keep_default_na=False)
    frame["AGEP"] = frame["AGEP"].astype(int)
    frame["PINCP"] = pd.to_numeric(frame["PINCP"], errors="coerce").round().astype("Int64")
    return frame


def schema_of(frame: pd.DataFrame, names: list[str], with_rules: bool) -> Schema:
    """Return the public facts: levels as the data dictionary lists them (here: that occur), bounds, and rules."""
    columns = [
        Column(name, "integer", bounds=BOUNDS[name], missing=name == "PINCP")
        if name in BOUNDS
        else Column(name, "category", values=tuple(sorted(frame[name].unique())))
        for name in names
    ]
    rules = [Rule(text) for text in RULES] if with_rules else []
    return Schema("acs", tuple(columns), rules=tuple(rule for rule in rules if set(rule.columns) <= set(names)))


def classes(real: pd.Series, made: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return two columns as codes: levels as they are, numbers in classes of about equal true mass."""
    if real.name not in BOUNDS:
        codes, _ = pd.factorize(pd.concat([real, made]).astype(str))
        return codes[: len(real)], codes[len(real) :]
    ranks = real.rank(pct=True)
    edges = np.unique([real[ranks >= step / CLASSES].min() for step in range(1, CLASSES)]).astype(float)
    first, second = (
        np.where(each.isna(), len(edges) + 1, np.searchsorted(edges, each.fillna(0).astype(float), side="right"))
        for each in (real, made)
    )
    return first, second


def k_marginal(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """Return NIST's score over all pairs of columns."""
    codes, distances = {name: classes(real[name], made[name]) for name in real}, []
    for one, other in combinations(codes.values(), 2):
        size = int(max(other[0].max(), other[1].max())) + 1
        cells = [a * size + b for a, b in zip(one, other, strict=True)]
        most = int(max(each.max() for each in cells)) + 1
        shares = [np.bincount(each, minlength=most) / len(each) for each in cells]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return 1000 * (1 - float(np.mean(distances)))


def pmse(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """Return the mean squared distance of a tree's probabilities from the share of synthetic rows."""
    from sklearn.tree import DecisionTreeClassifier

    both = pd.concat([real, made])
    inputs = np.column_stack([pd.to_numeric(both[n], errors="coerce").fillna(-1).astype(float) for n in both])
    labels = np.repeat([0, 1], [len(real), len(made)])
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=MODEL_SEED).fit(inputs, labels)
    return float(np.mean((tree.predict_proba(inputs)[:, 1] - labels.mean()) ** 2))


def broken(made: pd.DataFrame, schema: Schema) -> int:
    """Return how many rows contradict a rule."""
    values = {name: (made[name].fillna(0).to_numpy(), made[name].isna().to_numpy(bool)) for name in made}
    columns = {column.name: column for column in schema}
    kept = np.ones(len(made), dtype=bool)
    for rule in schema.rules:
        kept &= rule.keeps(values, columns)
    return int((~kept).sum())


def slopes(frame: pd.DataFrame) -> pd.Series | None:
    """Return the slope of income on education for each group of sex and race with at least 100 adults."""
    if not {"EDU", "PINCP_DECILE", "SEX", "RAC1P"} <= set(frame):
        return None
    numbers = frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in ("EDU", "PINCP_DECILE")}).dropna(
        subset=["EDU", "PINCP_DECILE"]
    )
    groups = [(key, group) for key, group in numbers.groupby(["SEX", "RAC1P"]) if len(group) >= 100]
    return pd.Series({key: np.polyfit(group["EDU"], group["PINCP_DECILE"], 1)[0] for key, group in groups}, dtype=float)


def judged(real: pd.DataFrame, made: pd.DataFrame, rules: Schema) -> dict[str, float]:
    """Return every measure of synthetic rows."""
    found = {"k-marginal": k_marginal(real, made), "pMSE": pmse(real, made), "broken": float(broken(made, rules))}
    true, synthetic = slopes(real), slopes(made)
    if true is not None and synthetic is not None:
        found["slopes"] = float((true - synthetic.reindex(true.index).fillna(0.0)).abs().mean())
    return found


def run(table: str, columns: str, epsilon: float, seeds: list[int]) -> None:
    """Release one set of columns at one epsilon by each method, and print the means over the seeds."""
    names = SETS[columns].split()
    real = read(table)[names]
    ruled, plain = (schema_of(real, names, with_rules) for with_rules in (True, False))
    aim, mst = sfumato.AIM(epsilon=epsilon, delta=DELTA), sfumato.MST(epsilon=epsilon, delta=DELTA)
    ways: dict[str, tuple[Any, Schema]] = {"AIM": (aim, plain), "AIM with rules": (aim, ruled), "MST": (mst, plain)}
    lines = []
    for name, (method, schema) in ways.items():
        runs = []
        for seed in seeds:
            show_progress(f"{table}, {columns}, epsilon {epsilon:g}: {name}, seed {seed}")
            start = time.process_time()
            made = sfumato.release(sfumato.read(real, schema), method, seed=seed, ledger=False).data
            runs.append({"cpu": time.process_time() - start, **judged(real, made, ruled)})
        lines.append(_line(name, pd.DataFrame(runs).mean().to_dict()))
    sample = real.sample(frac=0.3, random_state=MODEL_SEED)
    lines.append(_line("30 % of the true rows", judged(real, sample, ruled)))
    lines += [_line(name, row) for name, row in PUBLISHED.get((table, columns, epsilon), {}).items()]
    print_table(f"{table}, {columns} ({len(names)} columns), epsilon {epsilon:g}, seeds {seeds}", ("", *SHOWN), lines)


def _line(name: str, row: dict[str, float]) -> list[str]:
    digits = {"k-marginal": 1, "pMSE": 4, "broken": 0, "slopes": 3, "cpu": 1}
    return [name, *(f"{row[key]:.{digits[key]}f}" if key in row else "" for key in SHOWN)]


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 5.0, 10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[21, 22, 23, 24, 25])
    given = parser.parse_args()
    for table in given.tables:
        for columns in given.sets:
            for epsilon in given.epsilons:
                run(table, columns, epsilon, given.seeds)


if __name__ == "__main__":
    main()
