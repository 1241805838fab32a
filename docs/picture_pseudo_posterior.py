"""Make the pictures of pseudo-posterior.md: ``.venv/bin/python docs/picture_pseudo_posterior.py`` (some minutes).

Both use the simulation of the range-restriction paper, section 4: z normal (2, 1), log x normal (z + 1, 1), n = 2,000.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import vl_convert

from sfumato.methods.pseudo_posterior.private.clipped import ClippedPosterior, RegressionDraw
from sfumato.methods.pseudo_posterior.private.public_box import Box
from sfumato.methods.pseudo_posterior.private.statistics import NoisyStatistics
from sfumato.papers.charts import Axes, Line, lines
from sfumato.papers.range_restriction.charts import spec, violin_chart
from sfumato.papers.range_restriction.data import Sample, Sources, simulated
from sfumato.papers.range_restriction.simulation import (
    FIRST_SEED,
    SIX,
    UNWEIGHTED,
    WEIGHTED,
    Repeats,
    Work,
)
from sfumato.privacy.randomness import Randomness
from sfumato.report.charts import PAPER, Spec, static_spec
from sfumato.utility.ecdf import ecdf_max

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH = 620
BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TABLES, DRAWS = 10, 5
BOX = Box(((0.0, 6.0), (-1.0, 3.0)), (0.5, 2.0), centres=(2.0,), bounds=((-3.0, 7.0),))
"""Public: facts of the simulation, not read off a table."""
TARGET, PREDICTOR = (math.exp(-3), math.exp(9)), (-2.0, 6.0)


def main() -> int:
    """Write both pictures."""
    samples = Work(Sources.find()).samples
    pictures = {"pseudo-epsilon.svg": by_standard(samples), "pseudo-ecdf.svg": against_w(samples)}
    for name, drawn in pictures.items():
        IMAGES.joinpath(name).write_text(vl_convert.vegalite_to_svg(static_spec(drawn, WIDTH)), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}")
    return 0


def by_standard(samples: Repeats) -> Spec:
    """Return violins of the claimed epsilon over 30 samples, one for each standard that has weights."""
    names = [name for name in SIX if name != UNWEIGHTED]
    return spec(violin_chart("", "claimed epsilon", samples.get("epsilon", names)), PAPER)


def against_w(samples: Repeats) -> Spec:
    """Return the ECDF maximum of both private standards against their budget, beside the weighted one."""
    drawn = [Line(name, BUDGETS, [_error(name, budget) for budget in BUDGETS]) for name in ("clipped", "statistics")]
    rules = (
        ("weighted: claims 8, guarantees nothing", samples.mean("ECDF max", WEIGHTED)),
        ("unweighted", samples.mean("ECDF max", UNWEIGHTED)),
    )
    return lines(drawn, Axes("epsilon, guaranteed", "ECDF maximum difference", top=None), PAPER, False, rules)


def _error(method: str, budget: float) -> float:
    found = [_table_error(method, budget, seed) for seed in range(FIRST_SEED, FIRST_SEED + TABLES)]
    return float(np.mean(found))


def _table_error(method: str, budget: float, seed: int) -> float:
    sample, generator = simulated(seed), np.random.default_rng([seed, 9])
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
