"""Sensor curves: the mean load of households over a day, from smart meters that sometimes say nothing.

python examples/sensors.py             # 3,000 made-up meters; writes sensors-out
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import Office, asked

import sfumato
from sfumato.mechanisms.mean_curve import best_rho

HOURS = [f"h{hour:02d}" for hour in range(24)]
LARGEST = 8.0
"""kW: what the fuse of a flat lets through, by the public connection rules."""
TYPICAL = 0.8
"""kW: root mean square of a day, by the published standard load profile; larger days are scaled down to it."""


def meters(rows: int, seed: int = 5) -> pd.DataFrame:
    """Return made-up days: a low night, a small morning, a large evening; one reading in fifty is lost."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24)
    shape = 0.18 + 0.25 * np.exp(-((hour - 7.5) ** 2) / 4) + 0.5 * np.exp(-((hour - 19.5) ** 2) / 9)
    size = rng.lognormal(-0.1, 0.35, (rows, 1))
    load = size * shape * rng.lognormal(0, 0.3, (rows, 24))
    load[rng.random(load.shape) < 0.02] = np.nan
    return pd.DataFrame(np.minimum(load, LARGEST).round(3), columns=HOURS)


def main(arguments: list[str] | None = None) -> None:
    """Release the mean curve, and say how far it is from the true one."""
    to = asked(__doc__, "sensors", 3_000, arguments)
    columns = tuple(
        sfumato.Column(name, "number", bounds=(0.0, LARGEST), missing=True, unit="kW", decimals=3) for name in HOURS
    )
    schema = sfumato.Schema(name="meters", columns=columns)
    schema = schema.confirm({"*": "connection rules 2024"}, by="grid operator")
    frame = meters(to.rows)
    office = Office.opened(frame, schema, to, epsilon=2)
    settings = {"kernel": "matern-3/2", "length_scale": 0.2}
    rho = best_rho(to.rows, clip=TYPICAL, epsilon=1, delta=1e-6, steps=24, adjacency=schema.adjacency, **settings).rho
    method = sfumato.MeanCurve(
        epsilon=1, delta=1e-6, rho=float(f"{rho:.2g}"), clip=TYPICAL, interpolation="linear", **settings
    )
    made = office.release("mean-load", method)
    curve, true = made.data, frame.mean().to_numpy()
    print(f"  {'hour':>6}{'released kW':>14}{'noise (1 sd)':>14}")
    for hour in range(0, 24, 4):
        print(f"  {hour:>6}{curve['mean'][hour]:>14.3f}{curve['noise_sd'][hour]:>14.3f}")
    off = np.abs(curve["mean"].to_numpy() - true).max()
    print(f"  for the custodian alone: the released curve is at most {off:.3f} kW from the true mean")


if __name__ == "__main__":
    main()
