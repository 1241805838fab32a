"""Risks and usefulness against the blend, on a user's table: the ends of the curve, levels, and the page."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import RiskError
from sfumato.papers.two_stage import TwoStageAsPublished
from sfumato.papers.two_stage.blend_curves import BlendCurves, blend_curves, blend_page
from sfumato.schema import Schema
from sfumato.schema.column import Column

SCHEMA = Schema(
    name="people",
    columns=(
        Column("a", "number", bounds=(0.0, 1.0)),
        Column("b", "number", bounds=(0.0, 1.0)),
        Column("y", "number", bounds=(-5.0, 5.0)),
        Column("ill", "boolean"),
    ),
)
MODELS = ("krr", "forest")


def people(rows: int = 160) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    a, b = generator.random((2, rows))
    y = 2 * a + np.sin(5 * b) + generator.normal(0, 0.1, rows)
    return pd.DataFrame({"a": a, "b": b, "y": y, "ill": y > 1.2})


@pytest.fixture(scope="module")
def found() -> BlendCurves:
    table = sfumato.read(people(), SCHEMA)
    return blend_curves(table, TwoStageAsPublished("y", inputs=["a", "b"]), (1.0, 0.0), MODELS, seed=1)


def test_alpha_one_gives_all_away_and_alpha_zero_less(found: BlendCurves):
    low, high = found.points
    assert (low.alpha, high.alpha) == (0.0, 1.0) and found.rows == 120 and found.test_rows == 40
    assert high.risks["lid"] == high.risks["linkage_top_1"] == 1.0 and high.risks["membership_auc"] > 0.95
    assert low.risks["lid"] < 0.3 and low.risks["linkage_top_1"] < 0.9 and low.risks["membership_auc"] < 0.75


def test_models_are_judged_on_rows_that_no_release_has_seen(found: BlendCurves):
    for point in found.points:
        assert set(point.scores) == set(MODELS) and all(score < 0.3 * found.guess for score in point.scores.values())
        assert found.loss(point, "krr") == pytest.approx(1, abs=0.2)
    assert "LID" in found.statement() and "true rows" in found.statement()


def test_levels_are_judged_by_accuracy():
    table = sfumato.read(people(), SCHEMA)
    curves = blend_curves(table, TwoStageAsPublished("ill", inputs=["a", "b"]), (0.0, 0.5), ("krr",), seed=1)
    assert curves.classes and curves.points[0].scores["krr"] > 0.8 and 0.3 < curves.guess < 0.8


def test_the_page_says_whose_it_is_and_holds_every_number(found: BlendCurves):
    assert BlendCurves.model_validate_json(found.model_dump_json()) == found
    page = blend_page(found)
    assert "Do not publish" in page and "http:" not in page and "https:" not in page
    assert f"{found.points[0].risks['lid']:.3f}" in page and f"{found.true_rows['forest']:.4g}" in page
    assert page.count('<svg class="broad"') == 2 and "as good as true rows" in page


def test_what_cannot_be_compared_is_named():
    table = sfumato.read(people(), SCHEMA)
    with pytest.raises(RiskError, match="cannot be compared") as caught:
        blend_curves(table, TwoStageAsPublished("y", inputs=["a"], blend=0.5), (2.0,))
    assert len(caught.value.problems) == 3


def test_the_command_line_writes_page_and_json(tmp_path, monkeypatch, capsys):
    import sys

    from sfumato.cli.main import run

    monkeypatch.chdir(tmp_path)
    people().to_csv("p.csv", index=False)
    SCHEMA.save("p.toml")
    words = ["sfumato", "risk", "blend", "p.csv", "-s", "p.toml", "--target", "y", "--inputs", "a,b", "--alphas", "0,1"]
    monkeypatch.setattr(sys, "argv", [*words, "--set", "second=nadaraya-watson", "--seed", "1", "--json"])
    assert run() == 0
    told = json.loads(capsys.readouterr().out)
    assert "for the custodian" in told["notice"] and (tmp_path / "people-blend.html").exists()
    assert json.loads((tmp_path / "people-blend.json").read_text())["points"][1]["risks"]["lid"] == 1.0
    assert run() == 2 and "people-blend.html" in capsys.readouterr().err
