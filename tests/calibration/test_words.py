"""A calibration in a person's terms, and what is advised when no value meets the target."""

from __future__ import annotations

import pytest

from report.reading import words_of
from sfumato.evaluate.calibrate.explain import advice, explain_value
from sfumato.evaluate.calibrate.result import Calibration, Charge, Point
from sfumato.metrics.catalogue import CATALOGUE
from sfumato.report.calibration_page import calibration_page


def found(means: dict[float, float], target: str = "tvd_1_bins <= 0.05", half: float = 0.002, **changed) -> Calibration:
    """A curve through these means with intervals of that half width, none of which meets the target."""
    metric, comparison, bound = target.split()
    points = tuple(
        Point(value=v, mean=m, low=m - half, high=m + half, sd=half, repeats=10, exact=half == 0, meets=False)
        for v, m in means.items()
    )
    facts = {
        "method": "histogram",
        "table": "<b>t</b>",
        "parameter": "epsilon",
        "kind": CATALOGUE[metric].kind,
        "meaning": CATALOGUE[metric].meaning,
        "prefer": "smallest",
        "search": "grid",
        "intervals": (),
        "chosen": None,
        "monotone": True,
        "level": 0.95,
        "cost": "pilot",
        "private_data_used": False,
        "assumption": "chosen on a pilot",
    }
    asked = {"metric": metric, "target": target, "comparison": comparison, "bound": float(bound), "points": points}
    return Calibration.model_validate({**facts, **asked, **changed})


def test_what_is_reachable_meets_the_rule_of_the_worse_end():
    curve = found({0.1: 0.2, 1.0: 0.0731})
    assert advice(curve)[0] == "Reachable here: tvd_1_bins <= 0.076, by epsilon = 1."
    agreement = found({0.1: 0.2, 1.0: 0.618}, "transfer_ari >= 0.9")
    assert advice(agreement)[0] == "Reachable here: transfer_ari >= 0.61, by epsilon = 1."


def test_a_slope_is_followed_only_as_far_as_it_may_be():
    """An error of c / epsilon reaches its target where that law says; the guess is rounded to the safe side."""
    said = " ".join(advice(found({0.5: 0.2, 1.0: 0.1}, half=0.0)))
    assert "Larger values of epsilon were not tried" in said and "about epsilon = 2 would do" in said
    far = " ".join(advice(found({0.5: 0.2, 1.0: 0.1}, "tvd_1_bins <= 0.001", half=0.0)))
    assert "Larger values" in far and "would do" not in far
    weak = " ".join(advice(found({8.0: 0.15, 16.0: 0.075}, half=0.0)))
    assert "about epsilon = 24 would do" in weak and "Epsilon 24 is large" in weak.split("to be tried.")[1]


def test_flat_ends_and_inner_bests_and_single_values_are_told():
    flat = found({0.05: 0.265, 0.1: 0.266, 1.0: 0.5}, "homogeneity_record <= 0.01", half=0.0, prefer="largest")
    assert any("Smaller values of epsilon alone will hardly do" in line for line in advice(flat))
    assert any("coarser identifiers" in line for line in advice(flat))
    inner = advice(found({0.1: 0.3, 1.0: 0.1, 10.0: 0.2}))
    assert any("look between 0.1 and 10" in line for line in inner)
    assert any("Only one value" in line for line in advice(found({1.0: 0.1})))


def test_more_runs_are_advised_where_the_mean_is_good_enough():
    """The half width falls with the root of the runs: 10 runs with twice too wide an interval need 40."""
    lines = advice(found({0.1: 0.2, 1.0: 0.046}, half=0.008))
    assert any("about 40 runs instead of 10" in line for line in lines)
    assert not any("runs" in line for line in advice(found({0.1: 0.2, 1.0: 0.06}, half=0.008)))


def test_a_ladder_promises_nothing_from_noisy_scores():
    charge = Charge(
        epsilon="1", delta="0", most_epsilon="2", most_delta="0", candidates_run=2, candidates=2, recorded=True
    )
    lines = advice(found({0.1: 0.2, 1.0: 0.049}, half=0.01, search="ladder", cost="private", charge=charge))
    assert "costs again" in lines[0] and not any("Reachable" in line or "runs instead" in line for line in lines)


def test_no_advice_where_the_target_is_met():
    met = found({0.1: 0.2, 1.0: 0.01}, chosen=1.0, intervals=((1.0, 1.0),))
    assert advice(met) == () and "Reachable" not in met.statement()
    assert "Reachable here" in found({0.1: 0.2, 1.0: 0.1}).statement()


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_metric_has_plain_words(name):
    said = CATALOGUE[name].in_plain_words(0.125)
    assert ("12.5" in said or "0.125" in said) and "{" not in said and said.endswith(".") and "_" not in said


def test_the_page_says_both_and_escapes():
    curve = found({0.1: 0.2, 1.0: 0.0731})
    page = calibration_page(curve)
    words = words_of(page)
    for line in (*advice(curve), *explain_value(curve)):
        assert line in words
    assert "<b>t</b>" not in page and "The target was not reached" in page and "What you can do" in page
    assert "No value meets it." in page
