"""The guarantee of a bundle is the composition of every event whose output the bundle contains."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import Histogram, Ledger, Schema, buy_schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, file_records
from sfumato.bundle.ledger_record import LAYOUT
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import BudgetExceeded, PlanError, SchemaError, WeakGuaranteeError
from sfumato.evaluate.calibrate import calibrate
from sfumato.evaluate.calibrate.private_selection import NoisyScore
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.privacy.accounting.accountant import basic_composition, release_guarantee, tight_epsilon
from sfumato.privacy.accounting.composition import FilterUse, compose_losses
from sfumato.privacy.accounting.event import Event
from sfumato.report.impact_assessment import dpia

FRAME = pd.DataFrame({"city": ["Bern"] * 900 + ["Zug"] * 300, "age": [20 + i % 40 for i in range(1200)]})
SUM = (Fraction("5.1"), Fraction(1, 10**9))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    book = Ledger(tmp_path_factory.mktemp("book") / "budget.db")
    book.open_table("t", epsilon=50, delta="1e-6")
    return book


@pytest.fixture(scope="module")
def bought(book: Ledger) -> Schema:
    return buy_schema(FRAME, epsilon=5, delta="1e-9", ledger=book, name="t")


@pytest.fixture(scope="module")
def released(book: Ledger, bought: Schema) -> sfumato.Release:
    return sfumato.release(sfumato.read(FRAME, bought), Histogram("city", epsilon="0.1"), ledger=book)


@pytest.fixture(scope="module")
def saved(released: sfumato.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released.save(tmp_path_factory.mktemp("saved") / "bundle")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of rows with a model, from one call that buys and releases."""
    made = sfumato.synthesize(FRAME, epsilon=4, buy=2, ledger=False, name="t", person=False, anyway=True)
    return made.save(tmp_path_factory.mktemp("rows") / "bundle")


def total(guarantee: sfumato.Guarantee) -> tuple[Fraction, Fraction]:
    return guarantee.exact_epsilon, guarantee.exact_delta


def test_a_release_from_bought_facts_guarantees_what_both_cost(released: sfumato.Release, saved: Path):
    """The exact log ratio of a level that the purchase lists is 1.76, and unbounded for the first row of it."""
    guarantee = released.guarantee
    assert total(guarantee) == SUM and guarantee.kind == "approximate"
    assert "epsilon = 5.1 and delta = 1e-09" in guarantee.headline() and "99.4 %" in guarantee.odds()
    body = json.loads((saved / DOCUMENT).read_text())
    assert (body["guarantee"]["epsilon"], body["guarantee"]["delta"]) == ("5.1", "1e-09")
    metadata = pq.read_schema(saved / "data.parquet").metadata[b"sfumato.guarantee"].decode()
    registry, card = (saved / "registry.yaml").read_text(), json.loads((saved / "datacard.json").read_text())
    assert metadata == guarantee.headline() and "epsilon: 5.1" in registry and "Epsilon is 5.1 exactly" in registry
    assert 'variant_name: "Approximate DP"' in registry and '"epsilon": "5.1"' in json.dumps(card)
    for page in ("README.md", "README.html", "report.html"):
        assert "5.1" in (saved / page).read_text()
    assert verify_bundle(saved).problems == ()


def test_the_ledger_is_charged_once_and_the_plan_tells_both_numbers(
    book: Ledger, released: sfumato.Release, saved: Path
):
    assert basic_composition(released.events) == (Fraction("0.1"), 0) and len(released.entries) == 1
    assert basic_composition([entry.event for entry in book.history("t")][:2]) == SUM
    (note,) = released.guarantee.in_total
    assert note in released.plan.notes and "epsilon 5.1" in note and "epsilon 0.1 for this step" in note
    assert "epsilon 5 and delta 1e-09 for facts of the schema that were bought" in note
    assert verify_bundle(saved, book).problems == ()


def test_one_call_that_buys_and_releases_states_the_whole(rows: Path):
    document = ReleaseDocument.from_json((rows / DOCUMENT).read_text())
    assert total(document.guarantee) == (4, Fraction(2, 10**9))
    assert "epsilon = 4 and delta = 2e-09" in document.statement and "98.3 %" in document.guarantee.odds()
    assert not any("together" in words for words in document.guarantee.assumptions)
    assert "Epsilon is 4 exactly" in (rows / "registry.yaml").read_text()
    model = FittedModel.load(rows / "model.sfumato")
    assert model.require_guarantee() == document.guarantee
    assert verify_bundle(rows).problems == ()


def test_a_purchase_counts_once_however_often_it_is_listed(bought: Schema):
    twice = dataclasses.replace(bought, purchases=bought.purchases * 2)
    assert twice == bought and twice.to_toml().count("[[purchases]]") == 1
    again = Schema.parse(
        f"{bought.to_toml()}\n{bought.to_toml().partition('[[purchases]]')[2].join(['[[purchases]]', ''])}"
    )
    assert again.purchases == bought.purchases
    other = buy_schema(FRAME, epsilon=1, delta="1e-9", ledger=False, name="t")
    both = dataclasses.replace(bought, purchases=(*bought.purchases, *other.purchases))
    made = sfumato.plan(both, Histogram("city", epsilon="0.1"))
    assert any("epsilon 6.1 and delta 2e-09" in note for note in made.notes)
    with pytest.raises(SchemaError, match="do not go together") as caught:
        same = dataclasses.replace(other.purchases[0], id=bought.purchases[0].id)
        dataclasses.replace(bought, purchases=(*bought.purchases, same))
    assert "two different purchases" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda p: None, "bought, but no purchase is listed"),
        (lambda p: dataclasses.replace(p, event="{}"), "cannot be read"),
        (lambda p: dataclasses.replace(p, event=p.event.replace('"epsilon":"5"', '"epsilon":"1"')), "too small"),
        (lambda p: dataclasses.replace(p, event=p.event.replace('"table":"t"', '"table":"u"')), "its table is 'u'"),
        (lambda p: dataclasses.replace(p, event=p.event.replace(" of city", " of town")), "did not count city"),
    ],
)
def test_bought_facts_of_unknown_cost_are_refused_by_formal_methods(bought: Schema, change: Any, problem: str):
    """A schema of version 0.2 lists no purchase."""
    changed = change(bought.purchases[0])
    odd = dataclasses.replace(bought, purchases=() if changed is None else (changed,))
    with pytest.raises(SchemaError, match="what the bought facts") as caught:
        sfumato.plan(odd, Histogram("city", epsilon=1))
    assert problem in str(caught.value) and "buy the facts again" in str(caught.value)


def test_what_is_weak_in_total_is_refused_by_name(bought: Schema):
    with pytest.raises(WeakGuaranteeError):
        sfumato.plan(bought, Histogram("city", epsilon=16))
    sfumato.plan(bought, Histogram("city", epsilon=15))


def test_facts_bought_with_a_seed_are_not_released_as_if_their_noise_were_secret(book: Ledger):
    seeded = buy_schema(FRAME, epsilon=5, ledger=False, name="t", seed=3)
    with pytest.raises(PlanError, match="bought with a fixed seed"):
        sfumato.plan(seeded, Histogram("city", epsilon=1))
    assert sfumato.plan(seeded, Histogram("city", epsilon=1), seed=3)


def resealed(folder: Path, change: Callable[[dict[str, Any]], None] = lambda body: None) -> tuple[str, ...]:
    """Forge a bundle so that hashes and seals hold; return what verify finds."""
    body = json.loads((folder / DOCUMENT).read_text())
    change(body)
    document = ReleaseDocument.model_validate(body)
    document = document.model_copy(update={"statement": document.guarantee.statement()})
    (folder / DOCUMENT).write_text(document.with_files(file_records(folder)).to_json())
    return verify_bundle(folder).problems


def alone(body: dict[str, Any]) -> None:
    """State the cost of the noise alone, as version 0.2 did."""
    body["guarantee"] |= {"kind": "pure", "epsilon": "0.1", "delta": "0"}
    del body["guarantee"]["beside"]


def test_a_guarantee_without_the_purchase_is_found(saved: Path, tmp_path: Path):
    folder = Path(shutil.copytree(saved, tmp_path / "b"))
    assert any("does not count the purchases" in problem for problem in resealed(folder, alone))


def test_a_removed_purchase_is_found(saved: Path, tmp_path: Path):
    folder = Path(shutil.copytree(saved, tmp_path / "b"))
    schema = folder / "schema.toml"
    schema.write_text(schema.read_text().partition("[[purchases]]")[0])
    assert any("bought, but no purchase is listed" in problem for problem in resealed(folder, alone))


def test_a_purchase_that_is_forged_cheaper_is_found(saved: Path, tmp_path: Path, book: Ledger):
    folder = Path(shutil.copytree(saved, tmp_path / "b"))
    schema = folder / "schema.toml"
    schema.write_text(schema.read_text().replace('\\"epsilon\\":\\"5\\"', '\\"epsilon\\":\\"1\\"'))

    def cheaper(body: dict[str, Any]) -> None:
        body["guarantee"]["epsilon"] = "1.1"
        body["guarantee"]["beside"][0]["epsilon"] = "1"

    problems = resealed(folder, cheaper)
    assert any("too small for its epsilon" in problem for problem in problems)
    assert any("its event costs epsilon 1" in problem for problem in problems)


def test_a_purchase_that_the_ledger_does_not_hold_is_found(saved: Path, tmp_path: Path, book: Ledger):
    folder = Path(shutil.copytree(saved, tmp_path / "b"))
    entry = book.history("t")[0]
    schema = folder / "schema.toml"
    schema.write_text(schema.read_text().replace(entry.hash, "0" * 64))
    resealed(folder)
    found = [problem for problem in verify_bundle(folder, book).problems if "does not hold the purchase" in problem]
    assert len(found) == 1


def test_a_kept_rung_counts_its_ladder_and_the_purchase(
    bought: Schema, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(NoisyScore, "draw", lambda *_: -(10**9))
    table, options = sfumato.read(FRAME, bought), {"cost": "private", "grid": [0.5, 1], "score_epsilon": 0.25}
    made = calibrate(Histogram("city", 1.0), "tvd_1_bins <= 0.1", table, ledger=False, **options).release
    assert made is not None and total(made.guarantee) == (Fraction(7), Fraction(1, 10**9))
    assert sum("for everything that is shown" in note for note in made.notes) == 1
    assert any("epsilon 7 and delta" in note for note in made.notes)
    assert verify_bundle(made.save(tmp_path / "b")).problems == ()


def test_a_quality_statement_states_what_the_folder_shows(rows: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rows, tmp_path / "b"))
    private = sfumato.read(FRAME, Schema.load(folder / "schema.toml"))
    first = sfumato.quality(folder, private, 0.5, ledger=False)
    assert total(first.guarantee) == (Fraction("4.5"), Fraction(2, 10**9))
    second = sfumato.quality(folder, private, 0.25, ledger=False)
    first.save(folder)
    path = second.save(folder, again=True)
    body = json.loads(path.read_text())
    assert body["guarantee"]["epsilon"] == "4.75", "the statement that lies there by now is counted"
    assert "epsilon = 4.75" in body["statement"] and body["events"][0]["epsilon"] == "0.25"
    check = verify_bundle(folder)
    assert check.problems == () and any("together with what it lies beside, 4.75" in note for note in check.notes)
    assert "epsilon = 4.75" in check.guarantee
    assert "epsilon = 4 " in verify_bundle(rows).guarantee

    body["guarantee"]["epsilon"], body["guarantee"]["beside"] = "0.25", []
    path.write_text(LAYOUT.text(LAYOUT.sealed(body)))
    assert any("not that of the release and its statements together" in each for each in verify_bundle(folder).problems)


def test_an_impact_assessment_says_what_release_and_statement_promise_together(rows: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rows, tmp_path / "b"))
    sfumato.quality(folder, sfumato.read(FRAME, Schema.load(folder / "schema.toml")), 0.5, ledger=False).save(folder)
    text = " ".join(dpia(folder).save(tmp_path / "form.md").read_text().split())
    assert "What all of it promises together:" in text and "privacy with epsilon = 4.5" in text


def test_a_statement_that_makes_the_whole_too_weak_is_refused(rows: Path):
    private = sfumato.read(FRAME, Schema.load(rows / "schema.toml"))
    with pytest.raises(WeakGuaranteeError):
        sfumato.quality(rows, private, 17, ledger=False)


def test_a_removed_statement_is_missed_by_the_next(rows: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rows, tmp_path / "b"))
    private = sfumato.read(FRAME, Schema.load(folder / "schema.toml"))
    path = sfumato.quality(folder, private, 0.5, ledger=False).save(folder)
    sfumato.quality(folder, private, 0.25, ledger=False).save(folder, again=True)
    path.unlink()
    assert any("not that of the release" in problem for problem in verify_bundle(folder).problems)


def test_changing_one_value_is_covered_by_what_protects_whole_rows():
    facts = {"table": "t", "adjacency": "replace", "kind": "declared"}
    value = Event(method="pseudo_posterior", epsilon="1", unit="the value of y in one row", **facts)
    row = Event(method="buy", epsilon="2", delta="1e-9", **facts)
    promise = release_guarantee((value,), (row,))
    assert (promise.epsilon, promise.unit) == ("3", value.unit) and promise.beside == (row,)


def test_releases_from_bought_facts_count_by_what_they_state_in_tight_accounts(bought: Schema):
    """Their parts follow from noisy answers, so no curve that was fixed beforehand is theirs."""
    stated = dataclasses.replace(
        bought, purchases=(), columns=tuple(dataclasses.replace(c, bought=None) for c in bought)
    )
    method = sfumato.Marginals(epsilon="0.5")
    fixed, adaptive = (sfumato.plan(schema, method).events for schema in (stated, bought))
    assert not fixed[0].adaptive and adaptive[0].adaptive and "adaptive" not in fixed[0].to_json()
    assert Event.from_json(adaptive[0].to_json()) == adaptive[0]
    assert compose_losses(adaptive * 4).pairs == ((2.0, 0.0, 1),)
    assert tight_epsilon(fixed * 40, "1e-6") < 19 < tight_epsilon(adaptive * 40, "1e-6")
    assert FilterUse.used(adaptive) == FilterUse.used(fixed), "totals that were fixed at the opening hold for both"


def test_a_tight_account_admits_no_more_of_them_than_their_sum(bought: Schema, tmp_path: Path):
    tight = Ledger(tmp_path / "tight.db")
    tight.open_table("t", epsilon="8.5", delta="1e-6", composition="tight")
    method = sfumato.Marginals(epsilon=1)
    with pytest.raises(BudgetExceeded, match="does not allow") as caught:
        tight.check("t", sfumato.plan(bought, method).events * 9)
    assert "from bought facts count by their stated cost" in str(caught.value)
    stated = dataclasses.replace(
        bought, purchases=(), columns=tuple(dataclasses.replace(c, bought=None) for c in bought)
    )
    tight.check("t", sfumato.plan(stated, method).events * 9)
