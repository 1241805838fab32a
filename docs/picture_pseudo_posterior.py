"""Make the pictures of pseudo-posterior.md: ``.venv/bin/python docs/picture_pseudo_posterior.py`` (some minutes).

Both use the simulation of the range-restriction paper, section 4: z normal (2, 1), log x normal (z + 1, 1), n = 2,000.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from drawn import alone

from sfumato.mechanisms.pseudo_posterior.clipped_posterior import ClippedPosterior, ParameterBox, RegressionDraw
from sfumato.mechanisms.pseudo_posterior.sufficient_statistics import NoisyStatistics
from sfumato.metrics.distances import ecdf_max
from sfumato.papers.charts import drawing
from sfumato.papers.range_restriction.simulation import (
    FIRST_SEED,
    SIX,
    UNWEIGHTED,
    WEIGHTED,
    Repeats,
    Sample,
    SharedResults,
    simulated_sample,
)
from sfumato.papers.range_restriction.violins import violin_chart
from sfumato.privacy.randomness import Randomness
from sfumato.report.charts.category_marks import Violins
from sfumato.report.charts.marks import Axis, LineMark, Lines, RuleMark

STANDARDS, AGAINST = "pseudo-epsilon.svg", "pseudo-ecdf.svg"
BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TABLES, DRAWS = 10, 5
BOX = ParameterBox(((0.0, 6.0), (-1.0, 3.0)), (0.5, 2.0), centres=(2.0,), bounds=((-3.0, 7.0),))
"""Public: facts of the simulation, not read off a table."""
TARGET, PREDICTOR = (math.exp(-3), math.exp(9)), (-2.0, 6.0)


def main() -> int:
    """Write both pictures."""
    samples = SharedResults().samples
    alone(STANDARDS, "Violins of the claimed epsilon by standard over 30 samples", by_standard(samples))
    words = "ECDF error against epsilon for clipped and statistics, beside the weighted and the unweighted synthesizer"
    alone(AGAINST, words, against_w(samples))
    print(f"wrote {STANDARDS}, {AGAINST}")
    return 0


def by_standard(samples: Repeats) -> Violins:
    """Return violins of the claimed epsilon over 30 samples, one for each standard that has weights."""
    names = [name for name in SIX if name != UNWEIGHTED]
    return drawing(violin_chart("", "claimed epsilon", samples.get("epsilon", names)))


def against_w(samples: Repeats) -> Lines:
    """Return the ECDF maximum of both private standards against their budget, beside the weighted one."""
    drawn = [
        LineMark(name, BUDGETS, [_error(name, budget) for budget in BUDGETS]) for name in ("clipped", "statistics")
    ]
    rules = (
        RuleMark("weighted: claims 8, guarantees nothing", samples.mean("ECDF max", WEIGHTED)),
        RuleMark("unweighted", samples.mean("ECDF max", UNWEIGHTED)),
    )
    x = Axis("epsilon, guaranteed", logarithmic=True, places=BUDGETS)
    return Lines(drawn, x, Axis("ECDF maximum difference", low=0.0), rules)


def _error(method: str, budget: float) -> float:
    found = [_table_error(method, budget, seed) for seed in range(FIRST_SEED, FIRST_SEED + TABLES)]
    return float(np.mean(found))


def _table_error(method: str, budget: float, seed: int) -> float:
    sample, generator = simulated_sample(seed), np.random.default_rng([seed, 9])
    made = [drawn.synthesise(sample.z, generator) for drawn in _draws(method, sample, budget, seed)]
    return float(np.mean([ecdf_max(sample.x, each) for each in made]))


def _draws(method: str, sample: Sample, budget: float, seed: int) -> list[RegressionDraw]:
    randomness = Randomness.of(seed)
    if method == "clipped":
        posterior = ClippedPosterior(box=BOX, epsilon=budget)
        law = posterior.law(sample.x, sample.z)
        return [posterior.release(law, randomness.uniform) for _ in range(DRAWS)]
    statistics = NoisyStatistics(target=TARGET, predictors=(PREDICTOR,), epsilon=budget)
    total = statistics.total([(sample.x, sample.z)])
    return [statistics.measure(total, randomness).draw(randomness.generator) for _ in range(DRAWS)]


if __name__ == "__main__":
    sys.exit(main())
