"""The tables of the cluster geometry page: their numbers come from the code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sfumato.metrics.clusters import ari_from_confusion
from sfumato.papers.kmeans_geometry.figures import PRINTED_CONFUSION
from sfumato.papers.kmeans_geometry.reproduction import errata
from sfumato.papers.kmeans_geometry.sensitivity import ceiling, failures
from sfumato.papers.kmeans_geometry.simulation import EPSILON, PAPER_RUNS, SharedResults, private_transfer
from sfumato.papers.result import Erratum

pytestmark = pytest.mark.xdist_group("errata of the geometry page")  # computed once, for all tests that look at it

PAGE = (Path(__file__).parents[2] / "docs" / "cluster-geometry.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d*\.?\d+")
CLOSE = 0.021
"""Simulated means may differ so much from machine to machine: k-means and sums are only alike."""


@pytest.fixture(scope="module")
def work() -> SharedResults:
    return SharedResults()


def row_of(first: str) -> list[str]:
    """Return the cells of the only row that begins so, without its name."""
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {first} |")]
    assert len(found) == 1, f"{len(found)} rows begin with {first!r}"
    return [cell.strip(" *") for cell in re.split(r"(?<!\\)\|", found[0])[2:-1]]


def numbers_of(first: str) -> list[float]:
    return [float(cell) for cell in row_of(first)]


def shown(item: Erratum) -> list[str]:
    return [cell.replace("|", r"\|") for cell in (item.paper, item.holds, item.verdict, item.instead, item.caveat)]


def require_close(text: str, computed: str) -> None:
    assert NUMBER.sub("#", text) == NUMBER.sub("#", computed)
    found, expected = ([float(n) for n in NUMBER.findall(each)] for each in (text, computed))
    assert found == pytest.approx(expected, rel=CLOSE, abs=CLOSE)


def test_the_page_shows_the_errata_of_the_reproduction(work: SharedResults):
    found = errata(work)
    for item in found:
        for text, computed in zip(row_of(item.name), shown(item), strict=True):
            require_close(text, computed)
    listed = [line for line in PAGE.partition("| | the paper |")[2].splitlines()[2:] if line.startswith("| ")]
    assert len(listed) == len(found) + 3


def test_what_reproduces(work: SharedResults):
    paper, measured, *_ = row_of("table 1")
    assert f"{ari_from_confusion(PRINTED_CONFUSION):.4f}" in paper and "the same" in measured
    aligned = work.at_paper.aligned
    require_close(
        row_of("table 3")[1],
        f"reproduced: {aligned[:PAPER_RUNS].mean():.3f} +- "
        f"{aligned[:PAPER_RUNS].std(ddof=1):.3f} in 30 runs, {aligned.mean():.3f} in 200",
    )
    require_close(row_of("table 2")[1], f"the order only: {work.coordinate.mean():.2f}")


def test_the_table_by_epsilon(work: SharedResults):
    epsilons = (0.1, 0.5, 1.0, 1.6, 2.5, 5.0, 10.0)
    for name, index in (("published, no guarantee", "transfer"), ("published, *aligned* ARI", "aligned")):
        computed = [getattr(work.by_epsilon[e], index).mean() for e in epsilons]
        assert numbers_of(name) == pytest.approx(computed, abs=CLOSE)
    private = dict(zip(epsilons, numbers_of("**private, epsilon-DP**"), strict=True))
    for epsilon in (0.5, 1.0):
        assert private[epsilon] == pytest.approx(private_transfer(work.rows, work.labels, epsilon, 30).mean(), abs=0.01)


def test_reflection_and_labels(work: SharedResults):
    chances = np.array([failures(work.example, e) for e in (0.1, 0.5, 1.0, EPSILON, 2.5, 5.0)])
    assert numbers_of("each centroid") == pytest.approx(chances[:, 0], abs=6e-4)
    assert numbers_of("a run with at least one") == pytest.approx(chances[:, 1], abs=6e-4)
    attacked = (0.1, 0.5, 1.0, 1.6, 2.5)
    recovered = [work.by_epsilon[e].recovered.mean() for e in attacked]
    assert numbers_of("labels recovered, 40 runs (200 at 1.6)") == pytest.approx(recovered, abs=CLOSE)
    for name, replace in (("ceiling, replacing a row", True), ("ceiling, adding or removing a row", False)):
        assert row_of(name) == [f"{ceiling(e, replace=replace):.3f}".lstrip("0") for e in attacked]


def test_the_bare_box_is_the_yardstick(work: SharedResults):
    from sfumato.metrics.clusters import transfer_ari
    from sfumato.papers.kmeans_geometry.simulation import CLUSTERS, PUBLIC_BOX

    low, high = np.array(PUBLIC_BOX).T
    found = [
        transfer_ari(
            work.rows,
            np.random.default_rng(seed).uniform(low, high, work.rows.shape),
            CLUSTERS,
            seed=seed,
            labels=work.labels,
        )
        for seed in range(30)
    ]
    (stated,) = re.findall(r"evenly over this public box reach (\.\d+)", PAGE)
    assert float(stated) == pytest.approx(np.mean(found), abs=CLOSE)
