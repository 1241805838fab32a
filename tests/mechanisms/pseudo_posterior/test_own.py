"""What a custodian brings: a model, gammas and ranges of their own, released as exposures and named honestly."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import sfumato
from mechanisms.pseudo_posterior.people import LABEL, SCHEMA, people, private, weighted
from sfumato import Ledger, PseudoPosterior
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction import SampledModel, Weighting, independent_priors, make_family
from sfumato.papers.range_restriction.published import run
from sfumato.papers.range_restriction.published.ranges import GammasByRecord

needs_numpyro = pytest.mark.skipif(
    find_spec("numpyro") is None, reason="NumPyro is not installed: pip install 'sfumato[bayes]'"
)
FEW = 40
SHORT = {"warmup": 400, "draws": 800}


@pytest.fixture
def table():
    return sfumato.read(people(FEW), SCHEMA)


def likelihood(theta, values, design):
    from jax import numpy as jnp

    z = (jnp.log(values) - design @ theta["b"]) / theta["s"]
    return -jnp.log(values) - jnp.log(theta["s"]) - z - 2 * jnp.logaddexp(0.0, -z)


def draw(theta, design, generator):
    return np.exp(design @ theta["b"] + float(theta["s"]) * generator.logistic(size=len(design)))


def log_logistic(**changes) -> SampledModel:
    from numpyro.distributions import HalfNormal, Normal

    prior = independent_priors({"b": Normal(0, 5).expand([2]).to_event(1), "s": HalfNormal(2)})
    facts = {"prior": prior, "log_likelihood": likelihood, "simulate": draw, "kind": "continuous"}
    return SampledModel(**({"name": "log-logistic"} | facts | changes))


@needs_numpyro
def test_an_own_model_gets_release_label_ledger_entry_report_and_script(table, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "FEW_ODDEST", 1)
    monkeypatch.setattr(run, "FEW_DRAWS", 1000)
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, weighted(family=log_logistic(), sampling=SHORT), ledger=book, seed=1)
    assert LABEL in made.guarantee.statement()
    assert (book.account("people").exposures, book.account("people").spent_epsilon) == (1, "0")
    assert "log-logistic (own model)" in book.history()[0].event.note
    assert {"claimed_epsilon", "leave_one_out_loss", "chains"} <= set(made.confidential)
    assert np.log(made.data["x"]).mean() == pytest.approx(np.log(people(FEW)["x"]).mean(), abs=0.5)
    folder = made.save(tmp_path / "bundle")
    assert verify_bundle(folder).problems == ()
    document = json.loads((folder / "release.json").read_text())
    assert (document["method"]["parameters"]["family"], document["statistics"]["family"]) == (
        "own:log-logistic",
        "log-logistic (own model)",
    )
    page = (folder / "report.html").read_text()
    assert "log-logistic (own model)" in page
    assert "no file of this release holds it" in page
    script = (folder / "reproduce.py").read_text()
    assert "it holds the names alone" in script
    people(FEW).to_csv(tmp_path / "people.csv", index=False)
    ran = subprocess.run(
        [sys.executable, folder / "reproduce.py", tmp_path / "people.csv", "--out", tmp_path / "again"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "log-logistic: a Python object of the custodian's own" in ran.stderr
    assert not (tmp_path / "again").exists()


@needs_numpyro
def test_an_own_model_that_cannot_be_is_refused_before_anything_is_recorded(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    wrong = {
        "failed when it was tried\n  - KeyError": weighted(
            family=log_logistic(log_likelihood=lambda theta, values, design: theta["slope"])
        ),
        "log_likelihood returns the shape": weighted(family=log_logistic(log_likelihood=lambda *_: 0.0)),
        "not a number at the middle": weighted(family=log_logistic(log_likelihood=lambda t, v, d: v * np.nan)),
        "holds levels; the model 'log-logistic'": weighted(target="group", family=log_logistic()),
        "whole numbers from 0 on": weighted(family={"x": log_logistic(kind="counts")}),
        "no file or command line can hold": weighted(family="own:log-logistic"),
        "draws asked for, the chains of the log-logistic": weighted(family=log_logistic(), draws=5000),
    }
    for message, method in wrong.items():
        with pytest.raises(PlanError, match=message):
            sfumato.release(table, method, ledger=book)
    with pytest.raises(PlanError, match="family must be a text, found SampledModel"):
        private(family=log_logistic())
    assert book.history() == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampling": {"accept": 0.9}}, "belongs to families that need chains"),
        ({"sampling": {"seed": 1, "chains": 1, "accept": 2}}, "accept must lie between 0 and 1"),
        ({"sampling": {"seed": 1}}, "sampling has no 'seed'; it has chains, warmup, draws, accept"),
        ({"sampling": 5}, "sampling must be a mapping"),
    ],
)
def test_how_chains_are_run_is_checked(changes, message):
    with pytest.raises(PlanError, match=message):
        sfumato.plan(SCHEMA, weighted(**changes))


def test_a_family_of_no_known_kind_is_named():
    with pytest.raises(PlanError, match="a text or a SampledModel or a mapping, found 3"):
        weighted(family=3)
    with pytest.raises(PlanError, match="or a Model"):
        weighted(family="cauchy")


def test_own_gammas_are_equations_20_and_21():
    """alpha* = gamma + (1 - gamma) alpha is drawn, (1 - gamma) alpha max |f| is claimed; gamma 0 is plain weighting."""
    rng = np.random.default_rng(4)
    family, gammas = make_family("lognormal", rng.lognormal(0, 1, 80)), rng.random(80)
    fit = Weighting("averaged", draws=100, gammas=GammasByRecord(gammas)).fit(family, np.random.default_rng(5))
    assert fit.exponents == pytest.approx(gammas + (1 - gammas) * fit.weights)
    assert fit.epsilon == pytest.approx(2 * ((1 - gammas) * fit.weights * fit.densities.risk).max())
    none = Weighting("averaged", draws=100, gammas=GammasByRecord(np.zeros(80))).fit(family, np.random.default_rng(5))
    plain = Weighting("weighted", draws=100).fit(family, np.random.default_rng(5))
    assert (none.epsilon, none.exponents.tolist()) == (plain.epsilon, plain.weights.tolist())
    assert fit.epsilon != pytest.approx(plain.epsilon), "the mutant that forgets gamma"


def lower_half(values):
    return np.where(values <= np.median(values), 0.5, 0.0)


def doubled(values):
    return values / 2, values * 2


@pytest.mark.parametrize(
    ("changes", "standard", "parameter"),
    [
        ({"standard": "averaged", "gamma": "low"}, "averaged, with the custodian's own gamma", ("gamma", "low")),
        (
            {"standard": "averaged", "gamma": lower_half},
            "averaged, with the custodian's own gamma",
            ("gamma", "own:lower_half"),
        ),
        (
            {"standard": "truncated", "ranges": doubled},
            "truncated, with the custodian's own ranges",
            ("ranges", "own:doubled"),
        ),
    ],
)
def test_own_gammas_and_ranges_are_exposures_with_measured_losses(changes, standard, parameter, table, tmp_path):
    made = sfumato.release(table, weighted(**changes), ledger=False)
    assert LABEL in made.guarantee.statement()
    assert made.statistics["standard"] == standard
    assert standard in made.events[0].note
    assert {"leave_one_out_loss", "added_outlier_loss", "claim_with_whole_exponent"} <= set(made.confidential)
    assert sorted(made.data.columns) == ["x", "z"], "gamma itself is not released"
    folder = made.save(tmp_path / "bundle")
    assert verify_bundle(folder).problems == ()
    name, written = parameter
    assert json.loads((folder / "release.json").read_text())["method"]["parameters"][name] == written


def test_own_ranges_do_what_the_same_pair_does(table):
    same = [sfumato.release(table, weighted(standard="truncated", ranges=r), seed=1) for r in (doubled, (0.5, 2.0))]
    assert same[0].confidential["claimed_epsilon"] == same[1].confidential["claimed_epsilon"]
    assert same[0].data.equals(same[1].data)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"gamma": [0.1, 0.2]}, PlanError, "written into the public files"),
        ({"gamma": "z"}, PlanError, "must lie between 0 and 1"),
        ({"gamma": "group"}, PlanError, "must hold a number in every row"),
        ({"gamma": "shoe"}, PlanError, "no column 'shoe'"),
        ({"gamma": "low", "ranges": "brackets"}, PlanError, "in place of ranges"),
        ({"gamma": "low", "standard": "weighted"}, PlanError, "belongs to the standard averaged"),
        ({"gamma": "low", "target": ["x", "visits"], "family": "auto"}, PlanError, "single target"),
        ({"gamma": lambda values: values}, TableError, "do not lie between 0 and 1"),
        ({"gamma": lambda values: values[:3]}, TableError, "one for each record"),
        ({"gamma": lambda values: values["x"]}, PlanError, "which is your own, failed"),
        ({"ranges": lambda values: values}, TableError, "two arrays of 40 numbers"),
        ({"ranges": lambda values: (values + 1, values + 2)}, TableError, "outside their own range"),
        ({"ranges": "own:doubled"}, PlanError, "no file or command line can hold"),
    ],
)
def test_own_functions_that_do_not_fit_are_named(changes, error, message, table):
    with pytest.raises(error, match=message):
        sfumato.release(table, weighted(**({"standard": "averaged"} | changes)), ledger=False)


def test_published_form_is_where_own_things_live():
    assert {"gamma"} <= set(PseudoPosterior.as_published.__dataclass_fields__)
    assert "gamma" not in PseudoPosterior.__dataclass_fields__
