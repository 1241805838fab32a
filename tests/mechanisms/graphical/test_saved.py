"""Fitted models that are saved, loaded and sampled again: identical ones, or a named error."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Contingency, Schema
from sfumato.bundle.document import ReleaseDocument, released_schema
from sfumato.bundle.layout import file_record
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import ModelError, PlanError
from sfumato.mechanisms.graphical.domain_compression import compress_column
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel, GroupModel
from sfumato.mechanisms.graphical.fitted_model.model_file import read_model
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, measured_schema
from sfumato.privacy.accounting.accountant import basic_composition, formal_guarantee
from sfumato.privacy.accounting.event import Event

FACTS = """
[table]
name = "visits"
[columns.who]
kind = "category"
values = ["", "a,b", 'quo"te', "line\\nbreak", "ünï", "NULL"]
missing = true
[columns.level]
kind = "ordinal"
values = [1, 2, 4, 8]
[columns.start]
kind = "integer"
bounds = [0, 5000]
[columns.end]
kind = "integer"
bounds = [0, 5000]
edges = [0, 10, 400, 5000]
missing = true
[columns.paid]
kind = "number"
bounds = [-1.5, 1e6]
bins = 7
[columns.day]
kind = "date"
bounds = [1999-12-31, 2024-02-29]
missing = true
[columns.again]
kind = "boolean"
[[rules]]
check = "start <= end"
[[rules]]
check = "again implies paid >= 0"
"""
SCHEMA = Schema.parse(FACTS)
EVENT = Event(
    kind="zero-concentrated", epsilon="1/3", delta="1e-9", method="aim", table="visits", adjacency="add-remove"
)
COLUMNS = ["age", "sex", "status", "hours", "persons", "children"]
KINDS = ["tree", "mixture", "averaged"]
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def made(seed: int, kind: str = "tree", names: tuple[str, ...] = SCHEMA.names, cells: int = 40) -> FittedModel:
    """A fitted model as a release leaves it, but of made-up answers."""
    generator = np.random.default_rng(seed)
    fine = measured_schema(SCHEMA, names, Discretisation(cells, None))
    groupings = tuple(
        compress_column(fine[name], generator.poisson(generator.gamma(0.5, 60, fine[name].size)), 5.0, 900.0, 1.5, 12)
        for name in names
    )
    sizes = tuple(grouping.size for grouping in groupings)
    model = FittedModel(
        SCHEMA,
        names,
        groupings,
        engine(kind, sizes, generator),
        "aim",
        statistics={"noisy_total": 900.25, "tables": [["who"]]},
    )
    events = (EVENT,)
    return model.promised(formal_guarantee(events, *basic_composition(events)), events, None)


def engine(kind: str, sizes: tuple[int, ...], generator: np.random.Generator) -> GroupModel:
    if kind == "averaged":
        return AveragedModel(engine("tree", sizes, generator), engine("mixture", sizes, generator))
    if kind == "tree":
        cliques = tuple(pairwise(range(len(sizes)))) or ((0,),)
        potentials = tuple(generator.normal(size=tuple(sizes[column] for column in clique)) for clique in cliques)
        for potential in potentials:
            potential[generator.random(potential.shape) < 0.1] = -np.inf
            potential[(0,) * potential.ndim] = 0.0
        return GraphicalModel(sizes, 900.25, cliques, potentials, 3.5, 7, True)
    levels = np.concatenate([generator.dirichlet(np.ones(size), 5).T for size in sizes])
    return MixtureModel(sizes, 900.25, levels, generator.dirichlet(np.ones(5)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    return made(1).save(tmp_path_factory.mktemp("model") / "m.sfumato")


@pytest.fixture(scope="module")
def released(frame, schema):
    from sfumato.mechanisms.graphical.aim import AIM

    return sfumato.release(sfumato.read(frame, schema), AIM(2.0, columns=COLUMNS, workload="2-way"))


def same(left: FittedModel, right: FittedModel, rows: int = 60) -> bool:
    pairs = pairwise(range(len(left.names)))
    return (
        (left.guarantee, left.events, left.stamp, left.method, left.names, left.schema, dict(left.statistics))
        == (right.guarantee, right.events, right.stamp, right.method, right.names, right.schema, dict(right.statistics))
        and all(np.array_equal(left.model.marginal(pair), right.model.marginal(pair)) for pair in pairs)
        and left.sample(rows, seed=5).equals(right.sample(rows, seed=5), check_metadata=True)
    )


@settings(max_examples=20, suppress_health_check=SLOW)
@given(
    st.integers(0, 2**32),
    st.sampled_from(KINDS),
    st.integers(2, 300),
    st.booleans(),
    st.lists(st.sampled_from(SCHEMA.names), min_size=2, unique=True).map(
        lambda names: tuple(name for name in SCHEMA.names if name in names)
    ),
)
def test_a_loaded_model_is_the_saved_one(seed, kind, cells, rounding, names):
    model = made(seed, kind, names, cells)
    with tempfile.TemporaryDirectory() as folder:
        loaded = FittedModel.load(model.save(Path(folder, "m.sfumato")))
        again = loaded.save(Path(folder, "again.sfumato"))
        assert again.read_bytes() == Path(folder, "m.sfumato").read_bytes()
    assert type(loaded.model) is type(model.model)
    assert same(model, loaded)
    assert model.sample(30, seed, rounding).equals(loaded.sample(30, seed, rounding))


def test_a_loaded_model_finds_the_coupling_of_its_columns_again(tmp_path):
    model = made(1, names=("start", "paid"))
    high, wide = (np.linspace(-2, 2, grouping.size) for grouping in model.groupings)
    strong = GraphicalModel(model.model.sizes, 900.25, ((0, 1),), (3 * np.multiply.outer(high, wide),), 3.5, 7, True)
    model = replace(model, model=strong)
    loaded = FittedModel.load(model.save(tmp_path / "m.sfumato"))
    assert loaded.coupling.columns == model.coupling.columns == (0, 1)
    for ours, theirs in zip(model.coupling.links, loaded.coupling.links, strict=True):
        assert (ours.weights, ours.deviation) == (theirs.weights, theirs.deviation)
    assert same(model, loaded, 900)


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.booleans())
def test_every_row_fits_schema_and_rules(seed, kind, rounding):
    table = made(seed, kind).sample(200, seed, rounding)
    assert sfumato.read(table, released_schema(SCHEMA, SCHEMA.names)).check() == ()


def test_the_noisy_total_is_the_number_of_rows_unless_said():
    model = made(3)
    assert model.rows == model.sample().num_rows == sum(table.num_rows for table in model.stream()) == 900
    assert made(3).sample(1).num_rows == 1


def test_a_stream_is_the_sample_in_batches():
    model = made(4)
    assert next(model.stream(700, seed=2)).equals(model.sample(700, seed=2))
    batches = list(model.stream(700, batch_rows=300, seed=2))
    assert [batch.num_rows for batch in batches] == [300, 300, 100]
    assert pa.concat_tables(batches).equals(pa.concat_tables(model.stream(700, batch_rows=300, seed=2)))
    assert not pa.concat_tables(batches).equals(pa.concat_tables(model.stream(700, batch_rows=300)))


def test_rounding_keeps_counts_near_the_model_and_independent_rows_do_not():
    model = made(5, names=("level", "again"))
    counts = [
        np.bincount(model.model.draw(900, np.random.default_rng(9), rounding)[:, 0]) for rounding in (True, False)
    ]
    expected = model.model.marginal([0]) * 900 / model.model.total
    assert np.abs(counts[0] - expected).max() < 2 < np.abs(counts[1] - expected).max()


def test_wrong_numbers_are_named():
    model = made(1)
    for call in (
        functools.partial(model.sample, 0),
        functools.partial(model.sample, 2.5),
        functools.partial(model.sample, True),
        functools.partial(model.sample, 5, -1),
        functools.partial(model.stream, 5, 0),
        functools.partial(model.sample, 10**13),
    ):
        with pytest.raises(PlanError):
            call()


def test_a_parquet_file_carries_the_guarantee(tmp_path):
    model = made(6)
    path = model.write_parquet(tmp_path / "rows.parquet", 500, seed=1, batch_rows=200)
    stored = pq.ParquetFile(path)
    assert stored.metadata.num_row_groups == 3
    assert stored.read().equals(pa.concat_tables(model.stream(500, 200, seed=1)))
    facts = stored.schema_arrow.metadata
    assert b"epsilon = 0.3333" in facts[b"sfumato.guarantee"] and b"sfumato.stamp" not in facts
    with pytest.raises(ModelError, match="exists"):
        model.write_parquet(path, 10)
    assert pq.read_metadata(model.write_parquet(path, 10, overwrite=True)).num_rows == 10


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    model, drawn = made(6), FittedModel.draw

    def fails_later(self, rows, *rest):
        if rows < 200:
            raise OSError(28, "No space left on device")
        return drawn(self, rows, *rest)

    monkeypatch.setattr(FittedModel, "draw", fails_later)
    with pytest.raises(ModelError, match="No space left"):
        model.write_parquet(tmp_path / "rows.parquet", 500, batch_rows=200)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ModelError, match="no folder"):
        model.save(tmp_path / "nowhere" / "m.sfumato")
    with pytest.raises(ModelError, match="is a folder"):
        model.save(tmp_path)


def test_a_model_is_not_overwritten_unless_asked(saved, tmp_path):
    place = Path(shutil.copy(saved, tmp_path / "m.sfumato"))
    with pytest.raises(ModelError, match="exists"):
        made(2).save(place)
    assert place.read_bytes() == saved.read_bytes()
    assert same(FittedModel.load(made(2).save(place, overwrite=True)), made(2))


def test_a_model_without_a_guarantee_is_not_written(tmp_path):
    bare = replace(made(1), guarantee=None, events=())
    assert bare.sample(5).num_rows == 5
    for write in (bare.save, bare.write_parquet):
        with pytest.raises(ModelError, match="carries no guarantee"):
            write(tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_any_changed_byte_is_harmless_or_named(kind, tmp_path):
    """One byte changed anywhere: most places are under a hash, the few others (zip's own books) change nothing."""
    model = made(1, kind, ("level", "again", "start"), cells=20)
    raw, named = model.save(tmp_path / "m.sfumato").read_bytes(), 0
    places = np.random.default_rng(0).permutation(len(raw))[:250]
    for place in places:
        (tmp_path / "bad.sfumato").write_bytes(raw[:place] + bytes([raw[place] ^ 0x41]) + raw[place + 1 :])
        try:
            assert same(model, FittedModel.load(tmp_path / "bad.sfumato"), rows=10)
        except ModelError as error:
            assert error.next_step
            named += 1
    assert named > 0.8 * len(places)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_named(saved, tmp_path, keep):
    raw = saved.read_bytes()
    (tmp_path / "bad").write_bytes(raw[: int(keep * len(raw))])
    with pytest.raises(ModelError, match="not a sound fitted model"):
        FittedModel.load(tmp_path / "bad")


def forged(saved: Path, place: Path, body_change=lambda body: None, arrays=lambda found: None, **zip_options) -> Path:
    """Change a model and put every hash and the seal right again, as a careful forger would."""
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(members.pop("model.json"))
    arrays(members)
    for name, raw in members.items():
        body["arrays"].setdefault(name.removesuffix(".npy"), {"dtype": "<f8", "shape": [1]})
        body["arrays"][name.removesuffix(".npy")]["sha256"] = hashlib.sha256(raw).hexdigest()
    body_change(body)
    body.pop("seal")
    text = json.dumps(body, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    body["seal"] = hashlib.sha256(text.encode()).hexdigest()
    with zipfile.ZipFile(place, "w", **zip_options) as archive:
        archive.writestr("model.json", json.dumps(body))
        for name, raw in members.items():
            archive.writestr(name, raw)
    return place


@pytest.mark.parametrize(("member", "told"), [("model.json", "its seal does not hold"), ("shares/0.npy", "its hash")])
def test_a_change_that_zip_does_not_notice_is_named(saved, tmp_path, member, told):
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(tmp_path / "m", "w") as target:
        for name in source.namelist():
            raw, changed = source.read(name), {"model.json": (b"900.25", b"900.75"), "shares/0.npy": (b"\n", b" ")}
            target.writestr(name, raw.replace(*changed[name]) if name == member else raw)
    with pytest.raises(ModelError, match=told):
        FittedModel.load(tmp_path / "m")


def npy(array, folder: Path, allow_pickle: bool = False) -> bytes:
    np.save(folder / "a.npy", array, allow_pickle=allow_pickle)
    return (folder / "a.npy").read_bytes()


BODIES = {
    "engine 'oracle' is unknown": lambda b: b.update(engine="oracle"),
    "format 2": lambda b: b.update(format=2),
    "not understood": lambda b: b.pop("format"),
    "Extra inputs": lambda b: b.update(hidden=1),
    "method: Field required": lambda b: b.pop("method"),
    "unknown event kind": lambda b: b["events"][0].update(kind="trust me"),
    "do not compose": lambda b: b["guarantee"].update(epsilon="1/30"),
    "same table": lambda b: b["guarantee"].update(table="other"),
    "stamp": lambda b: b.update(stamp="not for release (seed 1)"),
    "released": lambda b: b["names"].__setitem__(0, "nobody"),
    "problem": lambda b: b.update(table_schema=b["table_schema"].replace('kind = "ordinal"', 'kind = "guess"')),
    "4 codes|column 'level'": lambda b: b.update(
        table_schema=b["table_schema"].replace("values = [1, 2, 4, 8]", "values = [1, 2, 4]")
    ),
    "rise from": lambda b: b.update(
        table_schema=b["table_schema"].replace("bounds = [0, 5000]", "bounds = [-1, 5000]")
    ),
    "does not list": lambda b: b["arrays"].pop("shares/0"),
    "stated type and shape": lambda b: b["arrays"]["shares/0"].update(shape=[10**12]),
}


@pytest.mark.parametrize("told", BODIES)
def test_a_forged_document_is_named(saved, tmp_path, told):
    with pytest.raises(ModelError, match=told):
        FittedModel.load(forged(saved, tmp_path / "forged", BODIES[told]))


class Trap:
    """Pickled, this would leave a file behind when it is read."""

    def __reduce__(self):
        return (open, ("trapped", "w"))


def test_forged_arrays_are_named_and_nothing_is_executed(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {name: i for i, name in enumerate(SCHEMA.names)}
    level = names["level"]
    cases = {
        "sum to 1": {f"shares/{level}": np.full(4, 0.9)},
        "numbered 0": {f"groups/{level}": np.array([0, 1, 2, 9], np.int32)},
        "expected type": {f"groups/{level}": np.array([0.0, 1, 2, 3])},
        "not numbers": {"engine/potential_0": np.full((7, 4), np.nan)},
        "type and shape": {"shares/0": np.array([Trap()], object)},
        "rise from": {f"starts/{names['paid']}": np.array([-1.5, np.nan])},
        "cannot be read": {"engine/sizes": np.array([2, 2])},
        "potentials and sizes": {"engine/potential_0": np.zeros((2, 2))},
        "positive number": {"engine/scalars": -made(1).model.to_arrays()["scalars"]},
    }
    for told, changes in cases.items():

        def put(members, changes=changes):
            members.update({f"{name}.npy": npy(array, tmp_path, True) for name, array in changes.items()})

        def tell(body, changes=changes):
            for name, array in changes.items():
                body["arrays"][name].update(dtype=array.dtype.str, shape=list(array.shape))

        with pytest.raises(ModelError, match=told):
            FittedModel.load(forged(saved, tmp_path / "forged", tell, put))
    assert not (tmp_path / "trapped").exists()


def test_compressed_members_are_refused_before_they_are_read(saved, tmp_path):
    """A few bytes could ask for any amount of memory."""
    bomb = {"bomb.npy": bytes(10**7)}
    place = forged(saved, tmp_path / "f", arrays=lambda m: m.update(bomb), compression=zipfile.ZIP_DEFLATED)
    assert place.stat().st_size < 10**6
    with pytest.raises(ModelError, match="members that are compressed"):
        FittedModel.load(place)
    with pytest.raises(ModelError, match="no fitted model"):
        FittedModel.load(tmp_path / "nothing")
    with pytest.raises(ModelError, match="no fitted model"):
        FittedModel.load(tmp_path)


def test_a_release_hands_out_its_model(released, tmp_path, frame, schema):
    model = released.model
    assert (model.guarantee, model.events, model.stamp) == (released.guarantee, released.events, None)
    assert model.schema == schema and model.method == "aim" and model.names == tuple(COLUMNS)
    folder = released.save(tmp_path / "bundle")
    assert "model.sfumato" in ReleaseDocument.from_json((folder / "release.json").read_text()).files
    check = verify_bundle(folder)
    assert check and any("model.sfumato" in line for line in check.checks), check.problems
    assert same(model, FittedModel.load(folder)) and same(model, read_model(folder / "model.sfumato"))
    counts = sfumato.release(sfumato.read(frame, schema), Contingency(["sex"], 1.0))
    assert counts.model is None


def test_a_bundle_with_another_model_does_not_verify(released, tmp_path):
    folder = released.save(tmp_path / "bundle")
    sound = (folder / "model.sfumato").read_bytes()
    (folder / "model.sfumato").write_bytes(sound[:-1] + b"x")
    assert any("model.sfumato was changed" in problem for problem in verify_bundle(folder).problems)
    cheaper = replace(released.model, guarantee=released.guarantee.model_copy(update={"recorded": True}))
    cheaper.save(folder / "model.sfumato", overwrite=True)
    body = json.loads((folder / "release.json").read_text())
    body["files"]["model.sfumato"] = file_record(folder / "model.sfumato").model_dump()
    (folder / "release.json").write_text(ReleaseDocument.model_validate(body).sealed().to_json())
    found = verify_bundle(folder).problems
    assert "model.sfumato and release.json do not state the same guarantee and events" in found
    assert all("model.sfumato" in problem or " is not the page that " in problem for problem in found)


def test_the_stamp_is_that_of_the_fit_and_not_of_the_sample(frame, schema, tmp_path):
    from sfumato.mechanisms.graphical.aim import AIM

    seeded = sfumato.release(sfumato.read(frame, schema), AIM(2.0, columns=["sex", "insured"]), seed=7)
    stamp = "not for release (seed 7)"
    assert seeded.stamp == seeded.model.stamp == stamp
    loaded = FittedModel.load(seeded.model.save(tmp_path / "m"))
    assert loaded.stamp == stamp and loaded.sample(5).schema.metadata == {b"sfumato": stamp.encode()}
    assert pq.read_schema(loaded.write_parquet(tmp_path / "p", 5)).metadata[b"sfumato.stamp"].decode() == stamp
    assert verify_bundle(seeded.save(tmp_path / "bundle"))
    assert made(1).sample(5, seed=7).schema.metadata is None


def test_a_fresh_process_reads_a_model(saved):
    """Kinds of events are registered by imports: loading must not depend on what else was imported."""
    code = (
        "import sys; from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel; "
        "print(FittedModel.load(sys.argv[1]).sample(4, seed=1).num_rows)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"
