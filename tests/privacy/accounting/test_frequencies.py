"""The curve of a guarantee, whatever way it came, and its words: frequencies beside the tail that epsilon bounds."""

from __future__ import annotations

import html
import math

import pytest

import sfumato
from sfumato.bundle import document
from sfumato.core.release import promised
from sfumato.errors import AccountingError
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, privacy_curve
from sfumato.privacy.accounting.strength import advantage_text, attack_frequency_text

SCHEMA = sfumato.Schema.parse(
    """
[table]
name = "clinic"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.age]
kind = "integer"
bounds = [0, 99]
"""
)
FACTS = {"method": "m", "table": "t", "adjacency": "add-remove"}
MOST = {0.3: 0.024, 1: 0.074, 3: 0.206, 10: 0.565}


@pytest.mark.parametrize("epsilon", MOST)
def test_the_plan_of_aim_tells_an_advantage_far_below_what_its_epsilon_allows(epsilon):
    made = sfumato.plan(SCHEMA, sfumato.AIM(epsilon=epsilon, delta=1e-9), allow_weak=True)
    assert made.advantage <= MOST[epsilon] < PrivacyCurve.of_pair(epsilon, 1e-9).advantage
    told = f"an attacker's advantage (hits minus false alarms) is at most {math.ceil(1000 * made.advantage) / 1000:g}"
    assert made.risk() == told and told in html.unescape(made._repr_html_())
    assert float(told.split()[-1]) <= MOST[epsilon]


def test_an_exposure_has_no_curve():
    with pytest.raises(AccountingError, match="no privacy curve"):
        _ = Guarantee(kind="heuristic", table="t").curve


def test_a_guarantee_knows_its_events_through_copies_and_files():
    made = sfumato.plan(SCHEMA, sfumato.AIM(epsilon=1, delta=1e-9))
    guarantee = promised(SCHEMA, made, recorded=False)
    assert guarantee.curve.advantage == made.advantage < 0.075
    assert guarantee.model_copy(update={"recorded": True}).curve == guarantee.curve
    assert "events" not in guarantee.model_dump_json()
    read = Guarantee.model_validate_json(guarantee.model_dump_json())
    assert read == guarantee and read.curve == PrivacyCurve.of_pair(1.0, 1e-9)  # events stand beside it, not in it
    assert read.resting_on(made.events).curve == guarantee.curve


def test_events_that_state_less_than_the_promise_are_not_believed():
    one = Event(kind="discrete-laplace", epsilon="1", parts=(EventPart(stage="x", cells=2, scale=1.0),), **FACTS)
    promise = Guarantee(kind="pure", epsilon="2", table="t")
    assert promise.resting_on([one]).curve == PrivacyCurve.of_pair(2.0)
    assert promise.resting_on([one, one]).curve.advantage < PrivacyCurve.of_pair(2.0).advantage


def test_a_bundle_gives_the_curve_back(monkeypatch):
    import pandas as pd

    monkeypatch.setattr(document, "versions", dict)
    frame = pd.DataFrame({"sex": ["f", "m"] * 30, "age": list(range(60))})
    method = sfumato.Contingency(["sex", "age"], epsilon=1)
    made = sfumato.release(sfumato.read(frame, SCHEMA), method, ledger=False)
    read = document.ReleaseDocument.from_json(document.ReleaseDocument.from_release(made).to_json())
    assert read.guarantee.curve == made.guarantee.curve == privacy_curve(made.events)
    assert read.guarantee.statement() == read.statement


@pytest.mark.parametrize(
    ("epsilon", "most", "gain"),
    [(0.01, "is right at most 11 times", "at most 0.005"), (15, "may be right every time", "not bounded below 1")],
)
def test_words_are_true_at_both_ends(epsilon, most, gain):
    said = Guarantee(kind="pure", epsilon=str(epsilon), table="t").statement()
    assert f"right 10 times in 100 without somebody's data {most} with them" in said
    assert f"advantage (hits minus false alarms) is {gain}" in said
    assert "averages over guesses" in said and "bounded by epsilon alone, by a factor of at most" in said


def test_rounding_is_always_upwards():
    for epsilon in (0.001, 0.1, 0.37, 1.0, 2.2):
        curve = PrivacyCurve.of_pair(epsilon)
        assert int(attack_frequency_text(curve).split()[-4]) >= 100 * curve.success(0.1)
        assert float(advantage_text(curve).split()[-1]) >= curve.advantage


def test_what_chance_means_follows_the_adjacency():
    swapped = Guarantee(kind="pure", epsilon="1", adjacency="replace", rows=5, table="t")
    assert "made with another in its place" in swapped.statement()
    assert "made without it" in Guarantee(kind="pure", epsilon="1", table="t").statement()
