"""What a release that a charged selection kept may promise: exact laws, bundles, models, and what was not charged."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sfumato
from report.reading import words_of
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import PlanError, WeakGuaranteeError
from sfumato.evaluate.calibrate import Target, calibrate
from sfumato.evaluate.calibrate.private_selection import GRAIN, NoisyScore
from sfumato.mechanisms.counts.histogram import Histogram
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.mechanisms.graphical.mst import MST
from sfumato.metrics.distances import MarginalPair, misplaced_records
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.schema import Column, Schema


def cells(counts: list[int]):
    names = tuple(f"c{i:02}" for i in range(len(counts)))
    frame = pd.DataFrame({"a": np.repeat(names, counts)})
    return sfumato.read(frame, Schema("t", (Column("a", "ordinal", values=names),)))


def at_most(place: float, scale: float) -> float:
    """Return P(X <= place) of discrete Laplace noise, for a place below 0."""
    return math.exp(math.floor(place) / scale) / (1 + math.exp(-1 / scale))


def log_stop(score: NoisyScore, counts: np.ndarray, released: np.ndarray) -> float:
    """Return the log probability that this release stops the ladder on this table."""
    one = MarginalPair(("a",), released, counts)
    excess = misplaced_records(one) - to_fraction(score.target.bound) * int(counts.sum())
    return math.log(at_most(-score.margin - math.floor(excess * GRAIN), score.scale))


def log_law(counts: np.ndarray, released: np.ndarray, epsilon: float) -> float:
    """Return the log probability of noisy counts, up to what all tables share."""
    return -epsilon * float(np.abs(released - counts).sum())


def kept(table, monkeypatch, grid, target, score_epsilon, **more):
    """Return a selection whose first candidate stops the ladder: what it promises does not depend on the noise."""
    monkeypatch.setattr(NoisyScore, "draw", lambda *_: -(10**9))
    found = calibrate(
        Histogram("a", 1.0), target, table, cost="private", grid=grid, score_epsilon=score_epsilon, **more
    )
    assert found.release is not None
    return found.release


@pytest.mark.parametrize(("epsilon", "found"), [(0.2, 0.2968), (0.05, 0.1468)])
def test_the_promise_of_a_kept_release_holds_where_that_of_its_rung_fails(epsilon, found, monkeypatch):
    """50 cells of 100 rows, one row more in the first: pure privacy is claimed, so that one output is enough."""
    counts, released = np.full(50, 100), np.array([160] + [100] * 49)
    table = cells(counts.tolist())
    score, more = (
        NoisyScore(Target.parse("tvd_1_bins <= 0.01"), table.schema, 0.1, (epsilon,)),
        counts + np.eye(50, dtype=int)[0],
    )
    ratio = log_law(more, released, epsilon) - log_law(counts, released, epsilon)
    ratio += log_stop(score, more, released) - log_stop(score, counts, released)
    assert ratio == pytest.approx(found, abs=1e-4)
    stated = kept(table, monkeypatch, [epsilon], "tvd_1_bins <= 0.01", 0.1).guarantee.exact_epsilon
    assert epsilon < ratio <= stated == to_fraction(epsilon) + Fraction(1, 10)


@pytest.mark.parametrize(("each", "bound", "least"), [(20, 0.2, 1.28e-2), (100, 0.05, 9.7e-3)])
def test_the_exact_delta_at_the_epsilon_of_the_rung_is_not_zero(each, bound, least, monkeypatch):
    """The whole law of "kept at rung 1, with these counts": two cells, rung epsilon .05, score epsilon 1."""
    table = cells([each, each])
    score = NoisyScore(Target.parse(f"tvd_1_bins <= {bound}"), table.schema, 1, (0.05,))
    first, second = law(np.array([each, each]), score), law(np.array([each + 1, each]), score)
    stated = float(kept(table, monkeypatch, [0.05], f"tvd_1_bins <= {bound}", 1).guarantee.exact_epsilon)
    worst = [max(delta(p, q, e) for p, q in ((first, second), (second, first))) for e in (0.05, stated)]
    assert worst[0] > least, "the epsilon of the rung alone is false"
    assert worst[1] == 0, "the epsilon of the ladder holds"


def law(counts: np.ndarray, score: NoisyScore, epsilon: float = 0.05, reach: int = 250) -> np.ndarray:
    """Return the probability that the ladder stops at its first rung with these two counts, for all near ones."""
    places = np.arange(-reach, reach + 1) + counts[1]  # the same places for both tables: only the first count differs
    first, second = (np.exp(-epsilon * np.abs(places - count)) * np.tanh(epsilon / 2) for count in counts)
    return np.outer(first, second) * stop(score, counts, *np.meshgrid(places, places, indexing="ij"))


def stop(score: NoisyScore, counts: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the probability to stop for whole arrays of released counts, with the floor taken in whole numbers."""
    a, b = np.maximum(a, 0), np.maximum(b, 0)
    a, b = np.where(a + b > 0, a, 1), np.where(a + b > 0, b, 1)
    bound, records = to_fraction(score.target.bound), int(counts.sum())
    misplaced = np.abs(records * a - (a + b) * counts[0]) * bound.denominator
    excess = GRAIN * (misplaced - bound.numerator * records * (a + b)) // ((a + b) * bound.denominator)
    place = np.floor(-score.margin - excess)
    tail = np.exp(-np.where(place < 0, -place, place + 1) / score.scale) / (1 + math.exp(-1 / score.scale))
    return np.where(place < 0, tail, 1 - tail)


def delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon + 1e-12) * q, 0).sum())


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    a = rng.choice(["x", "y", "z"], 800, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(800) < 0.8, a == "x", a == "y")})
    return sfumato.read(frame, Schema("t", (Column("a", "ordinal", values=("x", "y", "z")), Column("b", "boolean"))))


@pytest.fixture
def book(tmp_path) -> Ledger:
    book = Ledger(tmp_path / "budget.db")
    book.open_table("t", epsilon=19, delta="1e-3")
    return book


def reseal(folder, change) -> None:
    path = folder / "release.json"
    body = json.loads(path.read_text())
    change(body)
    path.write_text(ReleaseDocument.model_validate(body).sealed().to_json())


def test_headline_odds_events_and_ledger_carry_the_ladder(table, book, monkeypatch, tmp_path):
    made = kept(table, monkeypatch, [0.5, 1, 2], "tvd_1_bins <= 0.1", 0.25, ledger=book)
    said = made.guarantee
    assert (said.epsilon, said.delta, said.kind) == ("4.25", "0", "pure")
    assert basic_composition(made.events) == (Fraction(3, 4), 0) == (to_fraction(book.account("t").spent_epsilon), 0)
    assert [event.method for event in made.events] == ["histogram", "calibrate"]
    assert said.selection.spent_epsilon == "0.75" and len(said.selection.unclimbed) == 4
    text = said.statement()
    assert text.startswith("Guarantee: differential privacy with epsilon = 4.25, for")
    assert "by a factor of at most 70.11." in text and "at most 98.6 % sure" in text
    assert "candidates and scores up to there cost epsilon 0.75 together" in text
    assert "this very outcome by a factor of at most 2.118." in text
    folder = made.save(tmp_path / "kept")
    metadata = pq.read_schema(folder / "data.parquet").metadata
    assert metadata[b"sfumato.guarantee"].decode() == said.headline()
    report = words_of((folder / "report.html").read_text())
    assert "This release cost epsilon 0.75." in report and "In numbers: epsilon = 4.25 (" in report
    assert "the charged selection that chose it is not run again" in (folder / "reproduce.py").read_text()
    result = verify_bundle(folder, book)
    assert result.ok, result.problems


def test_a_bundle_that_leaves_out_a_part_of_its_ladder_does_not_verify(table, book, monkeypatch, tmp_path):
    made = kept(table, monkeypatch, [0.5, 1, 2], "tvd_1_bins <= 0.1", 0.25, ledger=book)
    folder = made.save(tmp_path / "kept")
    text = (folder / "release.json").read_text()

    def alone(body):
        body["guarantee"] |= {"epsilon": "0.5", "selection": None}
        body["events"] = body["events"][:1]
        body["statement"] = sfumato.privacy.accounting.guarantee.Guarantee(**body["guarantee"]).statement()

    def unscored(body):
        body["events"] = body["events"][:1]

    def shorter(body):
        chosen = body["guarantee"]["selection"]
        chosen |= {"values": chosen["values"][:1], "unclimbed": []}
        body["guarantee"]["epsilon"] = "0.75"
        body["statement"] = sfumato.privacy.accounting.guarantee.Guarantee(**body["guarantee"]).statement()

    def elsewhere(body):
        body["method"]["parameters"]["epsilon"] = 1.0

    def unproved(body):  # scores of the same scale, of a metric of which one row may move more
        body["guarantee"]["selection"]["target"] = "entropy_error_bins <= 0.1"
        body["statement"] = sfumato.privacy.accounting.guarantee.Guarantee(**body["guarantee"]).statement()
        score = body["events"][1]
        score["note"] = score["note"].replace("tvd_1_bins", "entropy_error_bins")
        score["parts"][0]["stage"] = score["parts"][0]["stage"].replace("tvd_1_bins", "entropy_error_bins")

    reseal(folder, unproved)
    problems = verify_bundle(folder).problems
    assert any("no sensitivity is proved for entropy_error_bins" in problem for problem in problems), problems
    for forgery in (alone, unscored, elsewhere):
        (folder / "release.json").write_text(text)
        reseal(folder, forgery)
        assert not verify_bundle(folder, book), forgery
    (folder / "release.json").write_text(text)
    reseal(folder, shorter)
    assert not verify_bundle(folder), "the note of a score holds the whole ladder"


def test_a_tight_account_holds_the_whole_ladder_of_a_kept_release(table, monkeypatch, tmp_path):
    book = Ledger(tmp_path / "tight.db")
    book.open_table("t", epsilon=9, delta=1e-6, composition="tight")
    made = kept(table, monkeypatch, [0.5, 1, 2], "tvd_1_bins <= 0.1", 0.25, ledger=book)
    assert len(made.entries) == 6 and len(made.events) == 2
    folder = made.save(tmp_path / "kept")
    assert verify_bundle(folder, book).problems == ()
    assert "This release cost epsilon 4.25." in (folder / "report.html").read_text()


def test_a_model_that_a_ladder_kept_and_its_rows_carry_the_ladder(table, book, monkeypatch, tmp_path):
    monkeypatch.setattr(NoisyScore, "draw", lambda *_: -(10**9))
    found = calibrate(MST(1.0), "tvd_1_bins <= 0.1", table, cost="private", grid=[1, 3], score_epsilon=0.5, ledger=book)
    made = found.release
    assert made.guarantee.epsilon == "5" and to_fraction(made.guarantee.delta) == 2 * to_fraction("1e-9")
    assert made.guarantee.kind == "approximate" and "this very outcome" not in made.guarantee.statement()
    assert (made.model.guarantee, made.model.events) == (made.guarantee, made.events)
    folder = made.save(tmp_path / "kept")
    assert verify_bundle(folder, book).problems == ()
    model = FittedModel.load(folder)
    assert model.guarantee == made.guarantee
    rows = model.write_parquet(tmp_path / "more.parquet", rows=50)
    assert b"epsilon = 5" in pq.read_schema(rows).metadata[b"sfumato.guarantee"]


def test_a_ladder_that_protects_nobody_is_refused_as_a_whole(table, book, monkeypatch):
    with pytest.raises(WeakGuaranteeError, match=r"epsilon 22\.5 is above 20"):
        kept(table, monkeypatch, [4, 8, 10], "tvd_1_bins <= 0.1", "1/6", ledger=book)
    assert book.history("t") == ()
    made = kept(table, monkeypatch, [4, 8, 10], "tvd_1_bins <= 0.1", "1/6", allow_weak=True)
    assert made.guarantee.allowed_weak and "The custodian allowed this weak guarantee" in made.guarantee.statement()
    assert not kept(table, monkeypatch, [4, 8], "tvd_1_bins <= 0.1", 0.1, allow_weak=True).guarantee.allowed_weak


def test_an_uncharged_choice_stands_in_the_first_line(table, tmp_path):
    method = MST(1.0)
    found = calibrate(method, "tvd_1_bins <= 0.5", table, grid=[1.0], repeats=2)
    made = found.declare(sfumato.release(table, method))
    first = made.guarantee.statement().splitlines()[0]
    assert first.startswith("Guarantee that does not cover how epsilon was chosen (by looking at the private table")
    assert "hidden" not in made.guarantee.statement() and "Nothing bounds what the choice" in made.guarantee.statement()
    assert made.model.guarantee == made.guarantee
    folder = made.save(tmp_path / "declared")
    assert verify_bundle(folder).problems == ()
    assert "The choice of epsilon is not covered" in (folder / "report.html").read_text()
    assert pq.read_schema(folder / "data.parquet").metadata[b"sfumato.guarantee"].decode() == first


def test_only_the_kept_release_of_a_charged_selection_may_speak_for_it(table, monkeypatch):
    monkeypatch.setattr(NoisyScore, "draw", lambda *_: -(10**9))
    found = calibrate(Histogram("a", 1.0), "tvd_1_bins <= 0.1", table, cost="private", grid=[0.5, 1])
    assert found.declare(found.release) is found.release
    with pytest.raises(PlanError, match="not the one that the charged selection kept"):
        found.declare(sfumato.release(table, Histogram("a", 0.5)))


def test_a_bound_with_many_digits_reads_back_unchanged():
    target = Target.parse("tvd_1_bins <= 0.123456789012")
    assert Target.parse(str(target)) == target and str(Target.parse("tvd_1_bins <= 0.05")) == "tvd_1_bins <= 0.05"


def test_a_choice_that_protects_little_comes_with_a_warning(table):
    found = calibrate(Histogram("a", 1.0), "tvd_1_bins <= 0.5", pilot=table, grid=[8.0], repeats=2)
    assert found.chosen == 8 and "Epsilon 8 is large: someone who gave even odds" in found.statement()
