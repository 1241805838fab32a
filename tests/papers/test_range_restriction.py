"""The reproduction of the range-restriction paper against the golden values of the checked maths."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers.drawn import charts_of
from sfumato.errors import PlanError, TableError
from sfumato.papers import paper
from sfumato.papers.charts import drawing
from sfumato.papers.range_restriction import (
    page_of,
    parts,
    reproduce,
    reproduction,
    summary,
)
from sfumato.papers.range_restriction.fatigue import epsilons, models, percentiles
from sfumato.papers.range_restriction.figures import IMPLIED, ORDER, in_order
from sfumato.papers.range_restriction.reproduction import (
    CAPPED,
    PRINTED_WEIGHT_SEEDS,
    by_draws,
    by_unit,
    claims_of_printed_weights,
    fatigue_text,
    loss_of_added_record,
    loss_of_left_out_record,
    of_logs,
    rare_category,
    truncated_in_tenths,
)
from sfumato.papers.range_restriction.simulation import (
    FATIGUE,
    REPEATS,
    SIX,
    TAILS,
    Repeats,
    SharedResults,
    fit_synthesizers,
    one_sample,
    simulated_sample,
    statistics,
    used_rows,
)
from sfumato.papers.range_restriction.violins import format_digits, list_values, outline, violin_chart
from sfumato.papers.result import Reproduction
from sfumato.report import to_html

pytestmark = pytest.mark.xdist_group(
    "reproduction of range_restriction"
)  # computed once, for all tests that look at it

STANDARD_ERRORS = 3.0
GOLDEN = {  # mean and sd of epsilon over 30 samples of 2,000 records
    "Unweighted": (28.14, 2.76),
    "Weighted": (8.05, 0.65),
    "(0.4, 1.8) trunc": (6.69, 0.63),
    "(0.6, 1.2) trunc": (6.03, 0.60),
    "(0.4, 1.8) avg": (4.02, 0.35),
    "(0.6, 1.2) avg": (1.98, 0.17),
    "Top 1 %": (5.54, 0.66),
    "Top 5 %": (5.81, 0.51),
    "Top 10 %": (5.83, 0.51),
}
UTILITY = {  # ECDF max, msq x 1,000, mean, median and Q90 ratio
    "Unweighted": (0.0244, 0.114, 1.004, 0.996, 1.015),
    "Weighted": (0.0477, 0.752, 0.840, 0.894, 0.851),
    "(0.4, 1.8) avg": (0.0278, 0.170, 0.994, 0.968, 1.002),
    "(0.6, 1.2) avg": (0.0256, 0.129, 1.003, 0.986, 1.010),
    "Top 1 %": (0.0289, 0.193, 0.980, 0.960, 0.987),
    "Top 5 %": (0.0301, 0.221, 0.959, 0.954, 0.968),
    "Top 10 %": (0.0313, 0.249, 0.946, 0.948, 0.957),
}


@pytest.fixture(scope="module")
def work(shared_data: Path) -> SharedResults:
    return SharedResults(shared_data)


@pytest.fixture(scope="module")
def samples() -> Repeats:
    """All 30 samples of the note."""
    return SharedResults(Path("nowhere")).samples


@pytest.fixture(scope="module")
def results(shared_data: Path) -> Reproduction:
    return reproduce(shared_data, repeats=2)


@pytest.mark.statistical
@pytest.mark.parametrize("name", GOLDEN)
def test_epsilon_is_golden(samples: Repeats, name):
    """Within 3 standard errors of the note's mean of 30 samples: the same samples, other draws of the parameters."""
    mean, sd = GOLDEN[name]
    assert abs(samples.mean("epsilon", name) - mean) <= STANDARD_ERRORS * sd / math.sqrt(REPEATS)


@pytest.mark.statistical
def test_equation_15_as_printed_fails_the_same_test(samples: Repeats):
    """The mutant: eq. 15 lies above the plain weighted epsilon in every sample, and narrower ranges cost more."""
    printed, weighted = samples.values["eq 15"], samples.values["epsilon"]["Weighted"]
    for name, golden in (("(0.4, 1.8) trunc", 12.37), ("(0.6, 1.2) trunc", 15.57)):
        mean, sd = GOLDEN[name]
        assert abs(printed[name].mean() - mean) > STANDARD_ERRORS * sd / math.sqrt(REPEATS)
        assert (printed[name] > weighted).all()
        assert printed[name].mean() == pytest.approx(golden, abs=STANDARD_ERRORS * 2.1 / math.sqrt(REPEATS))
    assert (printed["(0.6, 1.2) trunc"] > printed["(0.4, 1.8) trunc"]).all()


@pytest.mark.parametrize("name", UTILITY)
def test_utility_is_golden(samples: Repeats, name):
    largest, squared, *ratios = UTILITY[name]
    assert samples.mean("ECDF max", name) == pytest.approx(largest, rel=0.05)
    assert 1000 * samples.mean("ECDF msq", name) == pytest.approx(squared, rel=0.1)
    assert [samples.ratio(m, name) for m in ("mean", "median", "Q90")] == pytest.approx(ratios, abs=0.008)


def test_the_order_holds_in_the_means_and_nearly_always(samples: Repeats):
    means = [samples.mean("epsilon", name) for name in ORDER]
    assert means == sorted(means, reverse=True)
    assert in_order(samples.get("epsilon", SIX)).sum() in (27, 28, 29)


def test_the_whole_exponent_is_as_large_as_without_weights(samples: Repeats):
    for name, golden in (("(0.4, 1.8) avg", 27.6), ("(0.6, 1.2) avg", 28.0)):
        assert samples.mean("whole exponent", name) == pytest.approx(golden, abs=3 * 2.9 / math.sqrt(REPEATS))
    assert samples.mean("oscillation", "Weighted") == pytest.approx(1.07, abs=0.1)


DOCS_ROWS = {"| weighted |": "Weighted", "| averaged, (0.6, 1.2) |": "(0.6, 1.2) avg", "| unweighted |": "Unweighted"}


@pytest.mark.parametrize("start", DOCS_ROWS)
def test_the_docs_page_shows_these_numbers(samples: Repeats, start):
    page = (Path(__file__).parents[2] / "docs" / "pseudo-posterior.md").read_text(encoding="utf-8")
    row, name = next(line for line in page.splitlines() if line.startswith(start)), DOCS_ROWS[start]
    shown = [float(cell) for cell in re.findall(r"(?<=\| )[\d.]+(?= \|)", row)]
    ratios = [samples.ratio(measure, name) for measure in ("mean", "median", "Q90")]
    measured = [samples.mean("ECDF max", name), 1000 * samples.mean("ECDF msq", name), *ratios]
    assert shown == pytest.approx(measured, abs=6e-4)
    assert float(re.search(r"claims ([\d.]+)", row)[1]) == pytest.approx(samples.mean("epsilon", name), abs=0.06)


def test_the_errata_of_the_docs_page_show_these_numbers(samples: Repeats):
    page = (Path(__file__).parents[2] / "docs" / "pseudo-posterior.md").read_text(encoding="utf-8")
    rows = {line[2]: line for line in page.splitlines() if re.match(r"\| [a-j] \|", line)}
    assert "".join(rows) == "abcdefghij"
    for letter, measure, names in (
        ("a", "eq 15", ("(0.4, 1.8) trunc", "(0.6, 1.2) trunc")),
        ("b", "whole exponent", ("(0.4, 1.8) avg", "(0.6, 1.2) avg")),
    ):
        assert " and ".join(f"{samples.mean(measure, name):.1f}" for name in names) in rows[letter]
    assert f"{samples.mean('oscillation', 'Weighted'):.2f} for weighted" in rows["f"]


def test_truncated_synthesizers_make_the_weighted_data(samples: Repeats):
    for measure in ("ECDF max", "Q90"):
        assert (samples.values[measure]["(0.6, 1.2) trunc"] == samples.values[measure]["Weighted"]).all()


def test_a_sample_is_that_of_the_note():
    """Exact weighted posterior of seed 1000, up to the draws that find the risks."""
    fitted = fit_synthesizers(simulated_sample(1000), {"Weighted": SIX["Weighted"]}, 1000)["Weighted"].posterior
    assert fitted.mean == pytest.approx([1.1495, 0.8718], abs=0.01)
    assert fitted.rate / (fitted.shape - 1) == pytest.approx(0.8666, abs=0.01)
    assert one_sample(1000) == one_sample(1000)


def test_scales_of_section_4_2():
    found = SharedResults(Path("nowhere"), 6).scaled_samples
    assert found.mean("scale", "Weighted") == pytest.approx(0.738, abs=STANDARD_ERRORS * 0.041 / math.sqrt(6))
    assert found.mean("scale", "(0.4, 1.8) trunc") == pytest.approx(0.901, abs=STANDARD_ERRORS * 0.040 / math.sqrt(6))
    assert found.values["epsilon"]["Weighted"] == pytest.approx(found.values["epsilon"]["(0.6, 1.2) trunc"], rel=0.01)


def test_nothing_contracts():
    work = SharedResults(Path("nowhere"), 5)
    small, large = (work.by_size[n].values["epsilon"] for n in (200, 6400))
    assert large["Unweighted"].mean() > small["Unweighted"].mean()
    assert large["Weighted"].std(ddof=1) > small["Weighted"].std(ddof=1) / 5.7


def test_one_outlier_breaks_the_local_guarantee():
    weighted, averaged, capped = (
        loss_of_added_record(each, (10.0, 20.0)) for each in (SIX["Weighted"], SIX["(0.6, 1.2) avg"], CAPPED)
    )
    assert all(each.above_claim for each in (*weighted, *averaged)) and not any(each.above_claim for each in capped)
    assert weighted[0].loss.epsilon == pytest.approx(34.9, rel=0.1) and weighted[0].claim == pytest.approx(24, rel=0.05)
    assert averaged[1].loss.epsilon == pytest.approx(33, rel=0.1) and averaged[1].claim == pytest.approx(3.27, rel=0.05)


def test_on_ordinary_data_the_claim_is_loose_and_averaged_not_better():
    found = loss_of_left_out_record(("Weighted", "(0.6, 1.2) avg"))
    assert found["Weighted"].epsilon < 0.6 and found["(0.6, 1.2) avg"].epsilon == pytest.approx(0.56, abs=0.06)
    assert found["(0.6, 1.2) avg"].epsilon > found["Weighted"].epsilon


def test_epsilon_depends_on_the_unit():
    found = {unit: fitted.epsilon for unit, fitted in by_unit().items()}
    golden = {0.001: 4.34, 0.1: 7.08, 1.0: 8.56, 10.0: 10.97, 1000.0: 17.04, 1e6: 28.45}
    assert found == pytest.approx(golden, rel=0.04)
    assert of_logs().epsilon == pytest.approx(5.01, rel=0.03)
    wide, narrow = truncated_in_tenths()
    assert (wide, narrow) == pytest.approx((5.53, 7.58), rel=0.03) and narrow > wide


def test_epsilon_grows_with_the_draws():
    found = list(by_draws().values())
    assert found == sorted(found) and found[-1] - found[0] == pytest.approx(0.67, abs=0.4)


def test_the_rarest_category_vanishes():
    found = rare_category()
    assert found.weight < 1e-9 and found.synthetic < 0.002 < found.share


def test_printed_weights_contradict_the_figures():
    """No sample comes near 7.8 = 5.7 / .73, which section 4.2 implies; most have the narrow range above Weighted."""
    claims = claims_of_printed_weights(PRINTED_WEIGHT_SEEDS)
    assert claims[:, 0].max() < IMPLIED / 2 and (claims[:, 2] > claims[:, 0]).mean() > 0.5
    page = (Path(__file__).parents[2] / "docs" / "pseudo-posterior.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| j |"))
    shown = re.findall(r"weighted claims (\S+), truncated wide (\S+) and narrow (\S+) ", row)[0]
    assert list(map(float, shown)) == pytest.approx(claims.mean(axis=0), abs=0.02)


def test_fatigue_rows(work: SharedResults):
    table = work.fatigue
    kept = statistics(used_rows(table).x)
    assert len(used_rows(table).x) == 19
    assert (round(kept["mean"], 2), kept["median"], round(kept["Q90"], 1)) == (57771.16, 15616, 165385.4)
    assert list(statistics(table.x).values()) == pytest.approx([62290.3, 16841.5, 156552.5], abs=0.05)


def test_fatigue_epsilons(work: SharedResults):
    """The note's are from one set of draws; at n = 19 the maximum over draws has an sd of up to 1."""
    golden = {
        "Unweighted": 38.1,
        "Weighted": 24.0,
        "(0.4, 1.8) trunc": 20.4,
        "(0.6, 1.2) trunc": 18.4,
        "(0.4, 1.8) avg": 14.7,
        "(0.6, 1.2) avg": 7.4,
    }
    found = epsilons(work)
    for name, value in golden.items():
        assert abs(value - found[name].mean()) <= 3 * found[name].std(ddof=1)
    assert (found["(0.6, 1.2) trunc, eq. 15"] > found["Weighted"]).all()


def test_table_1_is_not_from_a_flat_prior_regression_on_stress(work: SharedResults):
    """Percentiles of 4,000 sets: a share near 0 has a standard error below .004, one near .5 of .008."""
    table = used_rows(work.fatigue)
    golden = {
        "linear": (0.005, 0.022, 0.002),
        "log stress": (0.001, 0.016, 0.000),
        "no predictor": (0.516, 0.437, 0.392),
        "log, prior N(0, 100 s2)": (0.400, 0.385, 0.284),
    }
    for name, shares in golden.items():
        found = percentiles(table, models(table.z)[name], "Weighted")
        assert found == pytest.approx(shares, abs=0.06 if shares[0] > 0.1 else 0.01)


def test_every_part_is_computed_and_compared(results: Reproduction):
    assert parts() == (*(f"figure {n}" for n in range(1, 21)), "table 1")
    assert tuple(part.name for part in results.parts) == parts()
    for part in results.parts:
        assert part.comparisons and not part.missing and (part.charts or part.name == "table 1")
        assert all(row.printed and row.ours and row.why for row in part.comparisons)
        assert all(len(shape.at) == len(shape.width) for chart in part.charts for shape in chart.shapes)


def test_what_does_not_reproduce_is_said(results: Reproduction):
    words = {part.name: " ".join(row.why for row in part.comparisons) for part in results.parts}
    assert "NOT reproduced" in words["figure 5"] and "NOT reproduced" in words["table 1"]
    assert "NOT visible" in words["figure 8"] and "erratum b" in words["figure 3"]


def test_errata_are_complete(results: Reproduction):
    assert [e.name for e in results.errata] == [*"abcdefghij", "4.1", "4.1", "4.2", "5"]
    assert all(e.paper and e.holds and e.instead for e in results.errata)
    words = " ".join(e.holds for e in results.errata)
    assert "20 sets at 5.7 are 114" in words and "57771.16" in words and "2 of 2 samples" in words


def test_results_go_through_json(results: Reproduction):
    assert Reproduction.model_validate_json(results.model_dump_json()) == results


def test_the_page_loads_nothing_and_has_every_section(results: Reproduction):
    page = to_html(page_of(Reproduction.model_validate_json(results.model_dump_json())))
    shell = re.sub(r"<script type=\"module\">.*?</script>", "", page, flags=re.DOTALL)
    assert "http:" not in shell and "https:" not in shell
    for title in ("Errata", *(part.title for part in results.parts)):
        assert f">{title}</h2>" in shell
    assert "not differential privacy" in shell


def test_one_part_is_computed_alone(shared_data: Path):
    found = reproduce(shared_data, only="figure 1")
    assert [part.name for part in found.parts] == ["figure 1"] and found.errata == ()
    assert "order of epsilon" in {row[1] for row in summary(found).rows}


def test_without_data_the_simulations_run(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reproduction, "PARTS", replace(reproduction.PARTS, errata=lambda _: ()))
    found = reproduce(tmp_path, repeats=2)
    missing = {part.name for part in found.parts if part.missing}
    assert missing == {"figure 15", "figure 16", "figure 19", "figure 20", "table 1"}
    assert "not recomputed" in fatigue_text(SharedResults(tmp_path)) and found.folder == str(tmp_path)
    assert f"{FATIGUE} is not in" in to_html(page_of(found))
    assert ("Table 1", "not recomputed", "", f"{FATIGUE} is missing; set SFUMATO_DATA") in summary(found).rows


def test_bad_requests_are_named_errors(tmp_path: Path):
    with pytest.raises(PlanError, match="table 1"):
        reproduce(tmp_path, only="figure 21")
    with pytest.raises(TableError, match="SFUMATO_DATA"):
        reproduce(tmp_path, only="table 1")
    with pytest.raises(PlanError, match="at least 2"):
        reproduce(tmp_path, repeats=1)


@pytest.mark.parametrize(
    "content", ["", "stress,cycle\n", "stress\n1\n", "stress,cycle\n1,x\n", "stress,cycle\n1,-1\n"]
)
def test_a_broken_file_is_a_named_error(tmp_path: Path, content):
    (tmp_path / FATIGUE).write_text(content)
    with pytest.raises(TableError, match=FATIGUE):
        reproduce(tmp_path, only="figure 15")


def test_outlines_have_their_widest_place_at_one():
    values = np.random.default_rng(1).normal(3, 1, 500)
    shape = outline("normal", values)
    assert max(shape.width) == 1 and shape.at[int(np.argmax(shape.width))] == pytest.approx(3, abs=0.5)
    assert (shape.at[0], shape.at[-1]) == pytest.approx((values.min(), values.max()), rel=1e-3)
    assert outline("log", np.exp(values), logarithmic=True).at[-1] == pytest.approx(math.exp(values.max()), rel=1e-3)
    assert outline("spike", np.array([1.0] * 50 + [2.0])).middle == 1


def test_a_range_keeps_its_colour_and_what_has_none_is_muted():
    sample = np.array([1.0, 2.0, 2.5, 4.0])
    found = drawing(violin_chart("t", "y", {"Unweighted": sample, "(0.4, 1.8) avg": sample, "Weighted": sample}))
    assert [item.tone for item in found.items] == [0, 1, 2]


def test_words():
    assert (format_digits(1234567.0), format_digits(0.000123456, 3), list_values({"a": 1.0, "b": 0.5})) == (
        "1,235,000",
        "0.000123",
        "a 1, b 0.5",
    )
    assert set(TAILS) == {"Top 1 %", "Top 5 %", "Top 10 %"}


def test_the_paper_is_registered():
    assert paper("range-restriction").__name__ == "sfumato.papers.range_restriction"


def test_every_chart_is_drawn(results: Reproduction):
    drawn = charts_of(to_html(page_of(results)))
    assert len(drawn) == sum(len(part.charts) for part in results.parts) > 0 and all(map(len, drawn))
