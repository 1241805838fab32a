"""Dependences in graphical models: zeros where the map is public, and one map of the model's own where it is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import AIM, MST, Schema
from sfumato.constraints.functional_dependence import apply_maps, with_estimated_maps
from sfumato.mechanisms.graphical.domain_compression import Grouping, identity_grouping
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.mechanisms.graphical.structural_zeros import structural_zeros
from sfumato.mechanisms.graphical.within_group_values import ModelPairWeights, move_within_groups, values_in_groups
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

TEXTS = ("low", "middle", "high")
COLUMNS = (
    Column("score", "integer", bounds=(0, 11)),
    Column("text", "category", values=TEXTS),
    Column("weight", "number", bounds=(0, 1)),
)
MAP = {"0..3": "low", "4..7": "middle", "8..11": "high"}
COMPAS = (("decile_score", "score_text"), ("v_decile_score", "v_score_text"), ("age", "age_cat"))


def schema_of(mapped: bool) -> Schema:
    return Schema("scores", COLUMNS, rules=(Rule("score determines text", MAP if mapped else None),))


def frame_of(rows: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    score = rng.integers(0, 12, rows)
    weight = np.clip(rng.normal(score / 12, 0.1), 0, 1).round(3)
    return pd.DataFrame({"score": score, "text": np.array(TEXTS)[score // 4], "weight": weight})


def contradictions(frame: pd.DataFrame, pairs: Any = (("score", "text"),)) -> int:
    return sum(int((frame.groupby(a, dropna=False)[b].nunique(dropna=False) > 1).sum()) for a, b in pairs)


def in_groups(column: Column, starts: list[int]) -> Grouping:
    groups = np.searchsorted(starts, np.arange(column.size), side="right") - 1
    shares = 1 / np.bincount(groups)[groups]
    return Grouping(column, groups.astype(np.int32), shares, len(starts))


def test_a_map_gives_exact_zeros_on_groups():
    """A group that lies in one interval of the map has one value; one that straddles a turn has two."""
    groupings = [in_groups(COLUMNS[0], [0, 2, 4, 6, 9]), identity_grouping(COLUMNS[1])]
    (support,), alone = structural_zeros(schema_of(mapped=True), groupings, 1000)
    wanted = [["low"], ["low"], ["middle"], ["middle", "high"], ["high"]]
    assert [[t for t, a in zip(TEXTS, row, strict=True) if a] for row in support.allowed] == wanted
    assert alone == []


def test_without_a_map_nothing_is_zero_and_nothing_is_left_to_repair_alone():
    groupings = [in_groups(COLUMNS[0], [0, 2, 4, 6, 9]), identity_grouping(COLUMNS[1])]
    assert structural_zeros(schema_of(mapped=False), groupings, 1000) == ([], [])


class Pairs:
    """A model that knows one pair table."""

    def __init__(self, table: Any) -> None:
        self.table = np.array(table, float)

    def marginal(self, columns: Any) -> Any:
        return self.table if list(columns) == [0, 1] else self.table.T


def test_a_group_that_straddles_a_turn_is_shared_out():
    """Groups 0-2, 3-5, 6-11: the second holds one part low to two parts middle, the third one to two parts high."""
    groupings = [in_groups(COLUMNS[0], [0, 3, 6]), identity_grouping(COLUMNS[1])]
    model = Pairs([[300, 5, 0], [104, 195, 1], [8, 190, 402]])
    bound = with_estimated_maps(schema_of(mapped=False), ["score", "text"], ModelPairWeights(groupings, model))
    assert bound.rules[0].map == (((0, 3), "low"), ((4, 7), "middle"), ((8, 11), "high"))


def test_a_small_group_believes_its_neighbours_more_than_noise():
    groupings = [in_groups(COLUMNS[0], [0, 2, 6]), identity_grouping(COLUMNS[1])]
    model = Pairs([[14, 2, 16], [290, 5, 0], [8, 300, 4]])
    alone, helped = (
        with_estimated_maps(
            schema_of(mapped=False), ["score", "text"], ModelPairWeights(groupings, model, noise)
        ).rules[0]
        for noise in (0.0, 40.0)
    )
    assert alone.map[0][1] == "high"
    assert helped.map == (((0, 5), "low"), ((6, 11), "middle"))


def test_values_move_inside_their_group_to_where_the_map_says_what_was_drawn():
    """Group 3-5 has a low cell and two middle ones: every drawn text of the two is kept, in the right cell."""
    schema, groupings = schema_of(mapped=True), [in_groups(COLUMNS[0], [0, 3, 6]), identity_grouping(COLUMNS[1])]
    generator = np.random.default_rng(5)
    codes = np.column_stack([np.ones(900, int), generator.integers(0, 3, 900)])
    values = values_in_groups(groupings, codes, generator)
    moved = move_within_groups(schema, groupings, codes, values, generator)
    score, text = moved["score"][0], moved["text"][0]
    assert [set(score[text == word]) for word in ("low", "middle")] == [{3}, {4, 5}]
    high = text == "high"
    assert set(score[high]) == {3, 4, 5}, "nobody leaves the group"
    assert np.array_equal(score[high], values["score"][0][high]), "no cell of the group goes with it"
    followed, changed = apply_maps(schema, moved)
    assert changed["score determines text"] == int(high.sum())
    assert np.array_equal(followed["score"][0], score)


@pytest.mark.parametrize("mapped", [True, False], ids=["map", "no-map"])
@pytest.mark.parametrize(
    "method", [AIM(epsilon=1), AIM(epsilon=1, model="mixture"), MST(epsilon=1)], ids=["aim", "mixture", "mst"]
)
def test_all_rows_of_a_model_agree(method: Any, mapped: bool, tmp_path: Path):
    table = sfumato.read(frame_of(), schema_of(mapped))
    made = sfumato.release(table, method, seed=4, ledger=False)
    made.model.save(tmp_path / "scores.model")
    loaded = FittedModel.load(tmp_path / "scores.model")
    batches = [part.to_pandas() for part in loaded.stream(3000, batch_rows=700)]
    later = [loaded.sample(500, seed=seed, rounding=False).to_pandas() for seed in (1, 2)]
    found = pd.concat([made.data, *batches, *later])
    assert contradictions(found) == 0
    right = np.array(TEXTS, dtype=object)[found["score"].to_numpy() // 4] == found["text"].to_numpy()
    assert right.all() if mapped else right.mean() > 0.7
    assert loaded.bound.rules == made.model.bound.rules
    assert any("no map for 'score determines text': 0.." in note for note in made.notes) == (not mapped)


def test_rows_as_a_model_draws_them_do_contradict(monkeypatch: pytest.MonkeyPatch):
    """The mutant: nobody follows the map, so noise contradicts it."""
    monkeypatch.setattr(FittedModel, "bound", property(lambda self: self.schema))
    made = sfumato.release(sfumato.read(frame_of(), schema_of(mapped=False)), AIM(epsilon=1), seed=4, ledger=False)
    assert contradictions(made.data) > 0


@pytest.fixture(scope="module")
def compas(shared_data: Path) -> pd.DataFrame:
    path = shared_data / "compas_two_years.csv"
    if not path.exists():
        pytest.skip("compas_two_years.csv is not here")
    names = [name for pair in COMPAS for name in pair]
    return pd.read_csv(path)[[*names, "sex", "priors_count"]]


@pytest.mark.parametrize("mapped", [True, False], ids=["map", "no-map"])
@pytest.mark.parametrize(
    "method", [AIM(epsilon=1), MST(epsilon=1), sfumato.Marginals(epsilon=1)], ids=["aim", "mst", "marginals"]
)
def test_compas_is_never_contradicted(compas: pd.DataFrame, method: Any, mapped: bool):
    draft = Schema.draft(compas, name="compas").confirm(accept_unchanged=True, person=False)
    if mapped:
        # The table calls those who are 45 "Greater than 45".
        edges = {"score_text": (5, 8), "v_score_text": (5, 8), "age_cat": (25, 45)}
        words = {"age_cat": ("Less than 25", "25 - 45", "Greater than 45")}
        rules = [_cut_map(draft[a], b, edges[b], words.get(b, ("Low", "Medium", "High"))) for a, b in COMPAS]
    else:
        rules = [Rule(f"{a} determines {b}") for a, b in COMPAS]
    schema = dataclasses.replace(draft, rules=tuple(rules))
    table = sfumato.read(compas, schema)
    assert table.check() == ()
    made = sfumato.release(table, method, seed=1, ledger=False)
    assert contradictions(made.data, COMPAS) == 0
    assert sfumato.read(made.data, schema).check() == ()


def _cut_map(source: Column, target: str, edges: tuple[int, int], words: tuple[str, str, str]) -> Rule:
    low, high = source.bounds
    ends = [(low, edges[0] - 1), (edges[0], edges[1] - 1), (edges[1], high)]
    return Rule(f"{source.name} determines {target}", map=dict(zip(ends, words, strict=True)))
