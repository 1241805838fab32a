"""The reproduction of the homogeneity-attack paper against the golden values of the checked maths."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.drawn import charts_of
from sfumato.cli.main import run
from sfumato.errors import PlanError, TableError
from sfumato.papers import paper
from sfumato.papers.homogeneity_attack import page_of, parts, reproduce, summary
from sfumato.papers.homogeneity_attack.data import ADULT_AT_UCI, BANKRUPTCY, UCI_COLUMNS, adult_rows, read_paper_tables
from sfumato.papers.homogeneity_attack.figures import choices, sigmas
from sfumato.papers.homogeneity_attack.marginal_tvd import marginal_tvds, tvd_boxes
from sfumato.papers.homogeneity_attack.published import moment_terms, published
from sfumato.papers.homogeneity_attack.relations import table_1_relations
from sfumato.papers.homogeneity_attack.shared_results import SharedResults, zero_truncated_rate
from sfumato.papers.result import Reproduction
from sfumato.report import to_html
from sfumato.risk.homogeneity import Gaussian, Laplace, Poisson, expected, gaussian_sigma, overall, shrinkage

pytestmark = pytest.mark.xdist_group(
    "reproduction of homogeneity_attack"
)  # computed once, for all tests that look at it

ROOT = Path(__file__).parents[2]
EPSILONS = (0.01, 0.1, 1.0, 5.0, 10.0)
LAPLACE = {
    ("adult", "printed"): (0.2600, 0.3127, 0.5653, 0.9371, 0.9948),
    ("adult", "conservative"): (0.3022, 0.3246, 0.4820, 0.7588, 0.8033),
    ("adult", "record"): (0.2567, 0.2903, 0.4677, 0.7569, 0.8031),
    ("adult", "record by record"): (0.2696, 0.2679, 0.2961, 0.3879, 0.4027),
    ("bankruptcy", "conservative"): (0.2560, 0.3050, 0.5973, 0.9477, 0.9957),
    ("bankruptcy-subset", "printed"): (0.1032, 0.1289, 0.3226, 0.6830, 0.7445),
    ("bankruptcy-subset", "conservative"): (0.1680, 0.1911, 0.3346, 0.6329, 0.6873),
    ("bankruptcy-subset", "record"): (0.1279, 0.1516, 0.3124, 0.6307, 0.6871),
}
GUESSES = {  # geometric noise, Adult
    "hard": (0.388, 0.456, 0.718, 0.936),
    "soft": (0.387, 0.451, 0.696, 0.921),
    "hard by record": (0.458, 0.648, 0.797, 0.846),
    "soft by record": (0.453, 0.609, 0.744, 0.798),
}
DISTANCES = {
    ("whole domain", "laplace", None, 0.1): (0.099, 0.205, 0.346),
    ("whole domain", "laplace", None, 1.0): (0.061, 0.133, 0.226),
    ("whole domain", "laplace", None, 10.0): (0.004, 0.007, 0.009),
    ("occupied cells", "laplace", None, 0.1): (0.106, 0.186, 0.283),
    ("occupied cells", "laplace", None, 1.0): (0.031, 0.057, 0.090),
    ("occupied cells", "laplace", None, 10.0): (0.001, 0.002, 0.002),
    ("whole domain", "gaussian-probabilistic", 1e-5, 1.0): (0.088, 0.186, 0.314),
    ("whole domain", "gaussian-probabilistic", 1e-5, 10.0): (0.036, 0.079, 0.133),
}
CHOICES = {
    ("adult", "laplace", "conservative"): 0.220171,
    ("adult", "geometric", "conservative"): 0.210473,
    ("adult", "laplace", "record"): 0.344542,
    ("bankruptcy", "laplace", "conservative"): 0.196203,
    ("bankruptcy-subset", "laplace", "conservative"): 1.116776,
    ("bankruptcy-subset", "geometric", "conservative"): 0.907148,
}

PARTS = 4.892
"""Two independent means differ by more than this many standard errors with probability below 1e-6."""


@pytest.fixture(scope="module")
def results(shared_data: Path) -> Reproduction:
    return reproduce(shared_data)


@pytest.fixture(scope="module")
def work(shared_data: Path) -> SharedResults:
    return SharedResults(shared_data)


def test_the_cells_are_those_of_the_real_tables(work: SharedResults):
    adult, whole, subset = map(work.tables.cell_facts, ("adult", "bankruptcy", "bankruptcy-subset"))
    assert (adult["cells"], adult["homogeneous_cells"], adult["homogeneous_records"]) == (5009, 4044, 11112)
    assert (adult["records"], adult["largest"], adult["singletons"]) == (27504, 308, 2644)
    assert [sum(each) for each in zip(*work.tables.size_histogram("adult").values(), strict=True)] == [5009, 5974]
    assert (whole["cells"], whole["homogeneous_cells"]) == (103, 103)
    assert (subset["cells"], subset["homogeneous_cells"], subset["classes"]) == (78, 54, 3)


@pytest.mark.parametrize(("experiment", "measure"), LAPLACE)
def test_laplace_curves_are_golden(work: SharedResults, experiment, measure):
    curve = work.curve(experiment, "laplace", measure)
    assert [round(curve.at(epsilon), 4) for epsilon in EPSILONS] == list(LAPLACE[experiment, measure])


def test_the_printed_curve_is_exact_where_all_cells_are_homogeneous(work: SharedResults):
    for mechanism, delta in (("laplace", None), ("gaussian-probabilistic", 1e-5), ("gaussian-classic", 1e-3)):
        printed = work.curve("bankruptcy", mechanism, "printed", delta)
        exact = work.curve("bankruptcy", mechanism, "conservative", delta)
        assert printed.risk == pytest.approx(exact.risk, rel=1e-12)


def test_the_classic_rule_stops_at_one(work: SharedResults):
    curve = work.curve("adult", "gaussian-classic", "conservative", 1e-5)
    assert max(curve.epsilon) < 1
    assert max(work.curve("adult", "gaussian-analytic", "conservative", 1e-5).epsilon) == 100


@pytest.mark.parametrize("measure", GUESSES)
def test_guessing_attackers_are_golden(work: SharedResults, measure):
    curve = work.curve("adult", "geometric", measure)
    # The first hard value is 0.38748; the note rounds it twice.
    assert [curve.at(e) for e in (0.01, 0.1, 1.0, 5.0)] == pytest.approx(GUESSES[measure], abs=5.5e-4)


def test_poisson_variants(work: SharedResults):
    top = work.curve("bankruptcy", "laplace", "Poisson printed").at(100.0)
    assert top == pytest.approx(1 - math.exp(-2.43), abs=1e-9)
    assert work.curve("bankruptcy", "laplace", "Poisson zero-truncated").at(100.0) == pytest.approx(1, abs=1e-9)
    assert zero_truncated_rate(27504 / 5974) == pytest.approx(4.55557, abs=1e-5)
    assert zero_truncated_rate(250 / 103) == pytest.approx(2.14226, abs=1e-5)


@pytest.mark.parametrize("key", DISTANCES, ids=str)
def test_distances_agree_within_monte_carlo_error(work: SharedResults, key):
    """alpha = 1e-6 a value: both sides are means of 40 draws, the note's printed to three digits."""
    found = sorted(
        (u for u in work.distances if (u.domain, u.mechanism, u.delta, u.epsilon) == key), key=lambda u: u.order
    )
    for box, golden in zip(found, DISTANCES[key], strict=True):
        assert abs(box.mean - golden) <= PARTS * math.sqrt(2) * box.standard_error + 5e-4, (box, golden)


def test_the_distance_test_would_notice_half_the_noise(shared_data: Path):
    ratings = read_paper_tables(shared_data).ratings
    doubled = [u for u in tvd_boxes(ratings) if (u.mechanism, u.epsilon, u.domain) == ("laplace", 1.0, "whole domain")]
    golden = DISTANCES["whole domain", "laplace", None, 0.1]
    assert all(abs(u.mean - g) > PARTS * math.sqrt(2) * u.standard_error for u, g in zip(doubled, golden, strict=True))


def test_distances_by_hand():
    true, released = np.array([[2, 0], [1, 1]]), np.array([[1, 0], [1, 0]])
    assert marginal_tvds(true, released, 1).tolist() == [0.0, 0.25]
    assert marginal_tvds(true, np.zeros_like(true), 2).tolist() == [0.25]


@pytest.mark.parametrize(("experiment", "mechanism", "measure"), CHOICES)
def test_epsilon_for_a_target_is_golden(work: SharedResults, experiment, mechanism, measure):
    choice = choices(work.tables)[experiment, mechanism, measure]
    assert [low for low, _ in choice.intervals] == [0.0]
    assert choice.intervals[0][1] == pytest.approx(CHOICES[experiment, mechanism, measure], abs=1e-5)


def test_sigmas_are_golden():
    assert sigmas()[0.9, 1e-6] == pytest.approx((5.887558, 5.535516, 4.658846), abs=1e-6)


def test_every_erratum_is_there_and_computed(results: Reproduction):
    assert {e.name for e in results.errata} == {f"E{i}" for i in range(1, 13)}
    words = " ".join(f"{e.paper} {e.holds}" for e in results.errata)
    golden = (
        "0.234393",
        "0.427407",
        "0.26041",
        "0.35586",
        "0.1472",
        "0.280208",
        "0.274845",
        "4.55557",
        "2.14226",
        "0.9117",
        "5,974",
        "5,009",
        "0.2982",
        "0.7501",
        "0.6923",
        "0.1651",
        "14.50 / 0",
        "0.6477",
    )
    assert [value for value in golden if value not in words] == []


GRID = [
    (n, p, law)
    for n in (1, 2, 3, 5, 12)
    for p in ([0.5, 0.5], [0.05, 0.95], [0.2, 0.3, 0.5], [0.1, 0.1, 0.1, 0.7])
    for law in (Laplace(0.05), Laplace(1.0), Laplace(4.0), Gaussian(0.3), Gaussian(1.0), Gaussian(8.0))
]


def test_erratum_1_has_no_counterexample_on_a_grid():
    """For given p or alpha every printed bound but (27) lies below the exact risk; (27) lies on either side of it."""
    signs = set()
    for n, p, law in GRID:
        alpha, sizes, gaussian = [10 * share for share in p], Poisson(float(n)), isinstance(law, Gaussian)
        exact = expected(n, p, law), float(np.mean(shrinkage(n, alpha, law))), overall(alpha, law, sizes, False)
        facts = {"n": n, "p": p}, {"n": n, "alpha": alpha}, {"alpha": alpha, "sizes": sizes}
        first = (22 if gaussian else 12) + (3 if len(p) == 2 else 0)
        for equation, given, risk in zip(range(first, first + 3), facts, exact, strict=True):
            printed = published(equation, law, **given)
            assert equation == 27 or printed <= risk + 1e-12, (equation, n, p, law)
            if equation == 27:
                signs.add(bool(printed > risk))
    assert signs == {True, False}


def test_erratum_4_shows_27_above_the_exact_risk():
    alpha, sizes, noise = [0.7, 1.3], Poisson(2.43), Gaussian(0.3)
    assert published(27, noise, alpha=alpha, sizes=sizes) == pytest.approx(0.6278, abs=5e-5)
    assert overall(alpha, noise, sizes, truncated=False) == pytest.approx(0.5810, abs=5e-5)


def test_erratum_9_has_no_counterexample_among_random_tables(shared_data: Path):
    """K = 2: the denominator is 0 for every table. K >= 2: negative on the paper's own table, and of either sign."""
    generator = np.random.default_rng(9)
    for _ in range(50):
        numerators, denominators = moment_terms(generator.integers(0, 9, (7, 2)) + np.array([1, 0]), pooled=True)
        assert denominators == pytest.approx([0, 0], abs=1e-9) and (numerators >= -1e-9).all()
    numerators, denominators = moment_terms(read_paper_tables(shared_data).cells["bankruptcy-subset"].counts)
    assert sorted(denominators.round(1)) == [-56.1, -50.7, -43.1]
    assert sorted((numerators / denominators).round(2)) == [-2.58, -1.51, -1.15]


def test_the_order_of_the_gaussian_rules_is_right_with_the_printed_formulas():
    """Where (20) is proved it gives more noise than (21), so that pDP risks more; the exact rule turns that round."""
    for delta in (1e-8, 1e-6, 1e-5, 1e-3):
        for epsilon in (0.01, 0.1, 0.5, 0.9, 0.999):
            facts = {"epsilon": epsilon, "delta": delta}
            assert published(20, **facts) > published(21, **facts) > gaussian_sigma(epsilon, delta)


def test_the_docs_show_these_errata(results: Reproduction):
    page = (ROOT / "docs" / "choosing-epsilon-by-risk.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("| E")]
    assert shown == [f"| {e.name} | {e.paper} | {e.holds} | {e.verdict} | {e.why} |" for e in results.errata], (
        "run docs/make_pictures.py"
    )


def test_results_go_through_json(results: Reproduction):
    assert Reproduction.model_validate_json(results.model_dump_json()) == results


def test_the_page_loads_nothing(results: Reproduction):
    page = to_html(page_of(Reproduction.model_validate_json(results.model_dump_json())))
    assert "http:" not in page
    assert "https:" not in page
    assert not re.search(r"<(?:script|img|image|link|iframe)[^>]*\s(?:src|href)=\"(?!data:)", page)
    assert "default-src 'none'" in page
    for section in ("Figure 3: cells", "Figure 4: risk against epsilon", "Figure 5: utility", "Errata"):
        assert f">{section}</h2>" in page
    assert ">Beyond the paper: choosing epsilon</h2>" in page
    charts = charts_of(page)
    assert len(charts) == 3 + 12 + 2 + 6
    assert charts[3].startswith("Risk against epsilon, Adult, epsilon-DP: Laplace. printed from 0.26 at 0.01")
    assert sum("Poisson sizes" in chart for chart in charts) == 3


def test_the_summary_names_what_was_checked(results: Reproduction):
    rows = {row[1]: row for row in summary(results).rows}
    assert rows["Adult: non-empty cells"] == ("Figure 3", "Adult: non-empty cells", "5,974", "5,009")


def test_an_unknown_paper_lists_the_known_ones():
    with pytest.raises(PlanError, match="homogeneity-attack"):
        paper("nothing")


def test_absent_data_say_what_to_do(tmp_path: Path):
    with pytest.raises(TableError, match="SFUMATO_DATA") as caught:
        read_paper_tables(tmp_path)
    assert len(caught.value.problems) == 2


def test_the_derived_adult_is_made_from_the_public_file(shared_data: Path, tmp_path: Path):
    derived = pd.read_csv(shared_data / "adult_dr_ha.csv.gz", dtype=str)
    made = adult_rows(shared_data)
    assert list(made.columns) == list(derived.columns) and (made.to_numpy() == derived.to_numpy()).all()
    public = pd.read_csv(shared_data / "adult.csv.gz", dtype=str, keep_default_na=False)
    lines = [", ".join(row) for row in public[public["split"] == "train"][list(UCI_COLUMNS)].to_numpy()]
    (tmp_path / ADULT_AT_UCI).write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    assert (adult_rows(tmp_path).to_numpy() == derived.to_numpy()).all()
    (tmp_path / BANKRUPTCY).write_bytes((shared_data / BANKRUPTCY).read_bytes())
    assert len(read_paper_tables(tmp_path).cells["adult"].counts) == 5009


def test_table_1_shows_where_the_printed_relations_fail(work: SharedResults, results: Reproduction):
    relations = table_1_relations(work.tables)
    rows = {each["equation"]: each for each in relations}
    assert set(rows) == {*range(12, 20), *range(22, 30)}
    assert rows[12]["printed"] == pytest.approx(0.3226, abs=5e-5)
    assert rows[12]["exact"] == pytest.approx(0.3346, abs=5e-5)
    assert rows[18]["printed"] == pytest.approx(rows[18]["exact"], rel=1e-12)
    below = [e for e, row in rows.items() if e not in (18, 28) and row["printed"] < row["exact"]]
    assert len(below) == 14  # what is printed as an upper bound is a lower one
    assert [each.why for each in results.part("table 1").comparisons].count("printed below") == 14
    first = results.part("table 1").comparisons[0]
    assert first.what == "(12) Theorem 1: expected risk, Laplace noise, Bankruptcy subset"
    assert (first.printed, first.ours) == ("0.3226", "0.3346")


@pytest.mark.parametrize("part", ["figure 3", "figure 5", "table 1"])
def test_one_part_is_the_same_as_in_the_whole(part, results: Reproduction, shared_data: Path):
    alone = reproduce(shared_data, only=part)
    page = to_html(page_of(Reproduction.model_validate_json(alone.model_dump_json())))
    assert [each.name for each in alone.parts] == [part] and page.count('<h2 id="section-') == 1
    assert alone.errata == () and alone.part(part) == results.part(part)
    assert summary(alone).rows and set(summary(alone).rows) <= set(summary(results).rows)


def test_every_part_has_its_section(results: Reproduction):
    assert parts() == ("figure 3", "figure 4", "figure 5", "figure D", "table 1")
    whole = {section.title for section in page_of(results).sections}
    assert {"Figure 3: cells", "Table 1: risks and mechanisms", "Figure D: guessing attackers", "Errata"} <= whole
    for wrong in ({"only": "figure 2"}, {"repeats": 1}):
        with pytest.raises(PlanError):
            reproduce(**wrong)


def _cli(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["sfumato", "reproduce", *arguments])
    return run()


def test_the_verb_writes_page_and_values(shared_data: Path, results, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("SFUMATO_DATA", str(shared_data))
    monkeypatch.setattr("sfumato.papers.homogeneity_attack.reproduce", lambda folder=None: results)
    out = tmp_path / "out"
    assert _cli(monkeypatch, "homogeneity-attack", "--out", str(out), "--json") == 0
    assert json.loads(capsys.readouterr().out)["page"] == str(out / "page.html")
    assert Reproduction.model_validate_json((out / "results.json").read_text(encoding="utf-8")) == results
    assert _cli(monkeypatch, "homogeneity-attack", "--out", str(out)) == 2
    assert "--force" in capsys.readouterr().err
    assert _cli(monkeypatch, "homogeneity-attack", "--out", str(out), "--force") == 0


def test_the_verb_fails_with_a_name(tmp_path: Path, monkeypatch, capsys):
    assert _cli(monkeypatch, "nothing") == 2
    assert "homogeneity-attack" in capsys.readouterr().err
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert _cli(monkeypatch, "homogeneity-attack", "--out", str(tmp_path / "out")) == 2
    assert "adult.csv.gz" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
