"""Make the picture of attacks.md: ``.venv/bin/python docs/picture_attacks.py``.

The pair of the REAEDP paper on 30 bins of the example households' ages: what four attackers achieve against epsilon.
"""

from __future__ import annotations

import sys

import numpy as np
from drawn import alone

from sfumato.example import households
from sfumato.papers.reaedp.published import published_pair
from sfumato.report.charts.marks import Axis, LineMark, Lines
from sfumato.risk.attacks import FreshReferenceLinkage, LikelihoodRatio, ShadowModelAttack, dp_ceiling, optimal_accuracy

NAME = "attacks-epsilon.svg"
WORDS = "Share of right guesses against epsilon: ceiling, best attack, and three measured attacks"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
GRID = np.geomspace(EPSILONS[0], EPSILONS[-1], 61)
TRIALS = 10_000
CEILING = "ceiling for one record"
BEST = "best possible attack, exact"
MEASURED = (
    ("likelihood ratio", LikelihoodRatio()),
    ("linkage, one fresh reference", FreshReferenceLinkage()),
    ("logistic regression on entropy and total", ShadowModelAttack("entropy-total")),
)


def main() -> int:
    """Write the picture."""
    alone(NAME, WORDS, chart(), 340)
    print(f"wrote {NAME}")
    return 0


def counts() -> np.ndarray:
    """Return ages of the example households in 30 public bins."""
    ages = households().column("age").to_numpy()
    return np.histogram(ages, np.linspace(16, 100, 31))[0].astype(np.int64)


def chart() -> Lines:
    """Return exact curves as lines, measured attacks as points with their 95 % intervals."""
    x = Axis("epsilon", logarithmic=True, places=EPSILONS)
    return Lines(
        [*exact(), *measured()], x, Axis("share of right guesses", 0.45, 1.0, places=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    )


def exact() -> list[LineMark]:
    """Return the two exact curves."""
    from sfumato.privacy.noise_distributions import Laplace

    best = [optimal_accuracy(Laplace(float(e)), (1, 1)) for e in GRID]
    ceiling = [dp_ceiling(float(e)) for e in GRID]
    return [
        LineMark(CEILING, GRID.tolist(), ceiling, yardstick=True),
        LineMark(BEST, GRID.tolist(), best, yardstick=True),
    ]


def measured() -> list[LineMark]:
    """Return what each attack achieved, with its interval."""
    base = counts()
    pairs = [published_pair(base, epsilon, int(base.argmax()), int(base.argmin())) for epsilon in EPSILONS]
    drawn: list[LineMark] = []
    for place, (name, attack) in enumerate(MEASURED):
        found = [
            attack.run(pair, trials=TRIALS, seed=round(100 * epsilon))
            for pair, epsilon in zip(pairs, EPSILONS, strict=True)
        ]
        rates = [each.rate for each in found]
        low, high = ([getattr(each.interval, end) for each in found] for end in ("low", "high"))
        # The measured likelihood ratio lies on its exact curve, so a line of its own would only hide that.
        drawn.append(LineMark(name, EPSILONS, rates, low, high, joined=place > 0))
    return drawn


if __name__ == "__main__":
    sys.exit(main())
