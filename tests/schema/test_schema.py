import datetime as dt
import stat
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.errors import DraftSchemaError, SchemaError
from sfumato.schema.column import Column
from sfumato.schema.confirm import confirmed_toml
from sfumato.schema.rules import Rule

EXAMPLE = """
[table]
name = "households"
adjacency = "add-remove"        # or "replace" with rows = 20000
[columns.age]
kind = "integer"
bounds = [0, 110]
role = "quasi-identifier"
[columns.income]
kind = "number"
bounds = [0, 1e6]
edges = [0, 1e4, 2e4, 5e4, 1e5, 1e6]
missing = true
[columns.sex]
kind = "category"
values = ["f", "m", "x"]
[columns.code]
kind = "category"
values = [1, 5, 9]
[columns.start]
kind = "date"
bounds = [2020-01-01, 2021-12-31]
[columns.end]
kind = "date"
bounds = ["2020-01-01", "2021-12-31"]
bins = 2
[[rules]]
check = "start <= end"
"""


def test_the_documented_form_is_read_and_written_back_unchanged():
    schema = Schema.parse(EXAMPLE)
    assert Schema.parse(schema.to_toml()) == schema
    assert [schema[n].size for n in schema.names] == [111, 6, 3, 3, 32, 2]
    assert not schema.is_draft
    assert schema["income"].labels[-2:] == ("[100000, 1000000]", None)
    assert schema["end"].labels == ("[2020-01-01, 2020-12-30]", "[2020-12-31, 2021-12-31]")


def test_every_problem_is_listed_at_once():
    with pytest.raises(SchemaError) as caught:
        Schema.parse("""
[table]
adjacency = "sideways"
colour = 1
[columns.a]
kind = "integer"
bounds = [3, 1]
[columns.b]
kind = "category"
values = ["x", "x"]
[columns.c]
kind = "colour"
[columns.d]
kind = "number"
bounds = [0, inf]
[[rules]]
check = "a <"
[[rules]]
check = "nobody < 1"
""")
    text = str(caught.value)
    assert len(caught.value.problems) == 9
    for word in ("name", "sideways", "colour", "low < high", "repeat", "finite", "cannot be read", "nobody"):
        assert word in text


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ('adjacency = "replace"', "rows = 20000"),
        ("rows = 5", "private"),
        ('person = "nobody"', "not among the columns"),
        ("rows_per_person = 3", "person ="),
        ("rows_per_person = 0", "at least 1"),
        ('draft = "yes"', "true or false"),
    ],
)
def test_table_facts_that_do_not_fit(table: str, word: str):
    with pytest.raises(SchemaError, match=word):
        Schema.parse(f'[table]\nname = "t"\n{table}\n[columns.a]\nkind = "boolean"\n')


def test_the_person_column_is_never_missing():
    text = '[table]\nname = "t"\nperson = "a"\n[columns.a]\nkind = "category"\nrole = "identifier"\n'
    assert Schema.parse(text).person == "a"
    with pytest.raises(SchemaError, match="cannot be missing"):
        Schema.parse(text + "missing = true\n")


def test_a_broken_column_does_not_also_break_the_rules():
    with pytest.raises(SchemaError) as caught:
        Schema.parse('[table]\nname = "t"\n[columns.a]\nkind = "x"\n[[rules]]\ncheck = "a < 1"\n')
    assert len(caught.value.problems) == 1


def test_a_draft_is_refused_until_confirmed():
    draft = Schema.parse(EXAMPLE.replace('name = "households"', 'name = "households"\ndraft = true'))
    with pytest.raises(DraftSchemaError, match="confirm"):
        draft.require_confirmed()
    draft.confirm().require_confirmed()
    assert "draft = true" in draft.to_toml()
    assert "draft" not in draft.confirm().to_toml()


def test_not_toml_and_not_there(tmp_path):
    with pytest.raises(SchemaError, match="not valid TOML"):
        Schema.parse("[table")
    with pytest.raises(SchemaError, match="cannot read the schema"):
        Schema.load(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.load(tmp_path / "latin.toml")


def test_unknown_column_names_the_known_ones():
    with pytest.raises(SchemaError, match="use one of: age"):
        Schema.parse(EXAMPLE)["agee"]


@given(low=st.integers(-5000, 5000), span=st.integers(0, 3000), bins=st.integers(1, 50))
def test_integer_bins_tile_the_bounds(low: int, span: int, bins: int):
    column = Column("x", "integer", bounds=(low, low + span), bins=bins)
    covered = [v for a, b in zip(column.starts, column.ends, strict=True) for v in range(int(a), int(b) + 1)]
    assert covered == list(range(low, low + span + 1))
    assert column.present_size == min(bins, span + 1)


@given(bounds=st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), min_size=2, max_size=6, unique=True))
def test_date_edges_tile_the_bounds(bounds: list[dt.date]):
    edges = tuple(sorted(bounds))
    column = Column("x", "date", bounds=(edges[0], edges[-1]), edges=edges)
    widths = column.ends - column.starts + 1
    assert widths.sum() == (edges[-1] - edges[0]).days + 1
    assert column.size == len(edges) - 1


@given(st.text())
def test_random_text_is_refused_by_name(text: str):
    with pytest.raises(SchemaError):
        Schema.parse(text)


SOUND = {
    "category": {"values": ("x", "y")},
    "ordinal": {"values": (1, 2)},
    "boolean": {},
    "integer": {"bounds": (0, 9)},
    "number": {"bounds": (0.0, 1.0)},
    "date": {"bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))},
}
SENSELESS = [
    ("category", {"role": "Identifier"}, "role 'Identifier' is unknown"),
    ("category", {"values": ("a", "b", "a")}, "values repeat: a"),
    ("category", {"values": ()}, "needs values"),
    ("category", {"values": None}, "needs values"),
    ("category", {"values": ("a", 1)}, "all texts or all whole"),
    ("category", {"values": (True, False)}, "all texts or all whole"),
    ("category", {"values": (10**30,)}, "within"),
    ("category", {"values": ("\ud800",)}, "half"),
    ("category", {"values": ("a\x00b",)}, "NUL"),
    ("category", {"values": "abc"}, "needs values"),
    ("category", {"bounds": (0, 1)}, "no meaning"),
    ("boolean", {"decimals": 0}, "decimals has no meaning"),
    ("date", {"bounds": ("2020-01-01", "2021-01-01"), "suffix": " %"}, "suffix has no meaning"),
    ("category", {"values": ("a", "b"), "grouped": True}, "grouped needs values that are numbers"),
    ("integer", {"bounds": (0, 9), "grouped": "yes"}, "grouped needs true or false"),
    ("integer", {"bounds": (0, 9), "prefix": "7 "}, "prefix needs a text without digits"),
    ("category", {"values": ("a", "b"), "missing_text": "a"}, "is one of the values"),
    ("category", {"outside": "clamp"}, "only ordered"),
    ("category", {"outside": "missing"}, "needs missing"),
    ("category", {"unit": float("nan")}, "unit needs a text"),
    ("category", {"description": ["a"]}, "description needs a text"),
    ("boolean", {"values": ("a",)}, "lists no values"),
    ("boolean", {"missing": "yes"}, "true or false"),
    ("boolean", {"name": ""}, "needs a name"),
    ("boolean", {"name": 5}, "needs a name"),
    ("boolean", {"kind": "colour"}, "kind 'colour' is unknown"),
    ("boolean", {"kind": ["boolean"]}, "unknown"),
    ("integer", {"edges": (1, 3, 2, 4)}, "must rise"),
    ("integer", {"edges": (1,)}, "must rise"),
    ("integer", {"edges": (1, 30)}, "within the bounds"),
    ("integer", {"edges": (1, 3), "bins": 2}, "not both"),
    ("integer", {"bins": 0}, "at least 1"),
    ("integer", {"bins": True}, "at least 1"),
    ("integer", {"bins": 2**63 - 1}, "1,000,000"),
    ("integer", {"outside": "clip"}, "outside 'clip' is unknown"),
    ("integer", {"bounds": (3, 1)}, "low < high"),
    ("integer", {"bounds": (0, 1, 2)}, "low < high"),
    ("integer", {"bounds": (0, 2**60)}, "2\\^53"),
    ("integer", {"bounds": (0.5, 3)}, "whole"),
    ("integer", {"bounds": None}, "needs bounds"),
    ("integer", {"values": (1, 2)}, "no meaning"),
    ("number", {"bounds": (0.0, float("nan"))}, "finite"),
    ("number", {"bounds": (0.0, float("inf"))}, "finite"),
    ("number", {"bounds": (0, 10**400)}, "finite"),
    ("number", {"bounds": (1.0, 1.0)}, "low < high"),
    ("number", {"bounds": (-1e308, 1e308)}, "too far apart"),
    ("number", {"bounds": (0.0, 5e-324)}, "too close"),
    ("number", {"bounds": ("a", "b")}, "finite"),
    ("date", {"bounds": ("2020-13-01", "2021-01-01")}, "dates like"),
    ("date", {"bounds": (0, 1)}, "dates like"),
]


@pytest.mark.parametrize(("kind", "facts", "words"), SENSELESS)
def test_a_column_refuses_senseless_facts_however_it_is_made(kind: str, facts: dict, words: str):
    stated = {"name": "x", "kind": kind} | SOUND[kind] | facts
    with pytest.raises(SchemaError, match=words):
        Column(**stated)
    sound = Schema("t", (Column("x", kind, **SOUND[kind]), Column("y", "boolean")))
    with pytest.raises(SchemaError, match=words):
        sound.replace_columns({"x": facts | {"name": stated["name"]}})


def test_a_column_lists_all_its_problems_and_a_schema_those_of_all_columns():
    with pytest.raises(SchemaError) as caught:
        Column("x", "number", bounds=(2, 1), bins=0, role="Target", unit=3, outside="clip")
    assert len(caught.value.problems) == 5
    columns = [
        "[columns.a]\nkind='number'\nbounds=[2,1]\nbins=0",
        "[columns.b]\nkind='category'\nvalues=['x','x']\nunit=nan",
    ]
    with pytest.raises(SchemaError) as caught:
        Schema.parse("\n".join(["[table]", "adjacency = 'replace'", *columns]))
    assert len(caught.value.problems) == 6


def test_facts_are_kept_in_their_own_types():
    column = Column("x", "date", edges=["2020-01-01", dt.datetime(2020, 5, 5, 12), np.str_("2020-12-31")])
    assert column.bounds == (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert Column("x", "category", values=np.array([3, 1, 2])).values == (3, 1, 2)
    assert Column("x", "integer", bounds=[np.int64(1), 5.0]).bounds == (1, 5)
    assert hash(Column("x", "category", values=["a"])) == hash(Column("x", "category", values=("a",)))


A = Column("a", "category", values=("x", "y"))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"name": ""}, "name: needs a text"),
        ({"columns": ()}, "at least one column"),
        ({"columns": (A, A)}, "stands 2 times"),
        ({"columns": ("a",)}, "columns needs a list"),
        ({"columns": A}, "columns needs a list"),
        ({"adjacency": "sideways"}, "unknown"),
        ({"adjacency": "replace"}, "public row count"),
        ({"adjacency": "replace", "rows": 5, "person": "a"}, "add-remove"),
        ({"rows": 5}, "private"),
        ({"rows_per_person": 2}, "tells people apart"),
        ({"person": "a", "rows_per_person": 0}, "at least 1"),
        ({"person": "nobody"}, "not among the columns"),
        ({"person": ["a"]}, "not among the columns"),
        ({"person": "m", "columns": (A, Column("m", "boolean", missing=True))}, "cannot be missing"),
        ({"is_draft": "no"}, "true or false"),
        ({"rules": ("a == 'x'",)}, "rules needs a list"),
        ({"rules": (Rule("b == 1"),)}, "unknown column b"),
        ({"rules": (Rule("a <"),)}, "cannot be read"),
        ({"rules": (Rule("a == 1"),)}, "cannot be compared"),
    ],
)
def test_a_schema_refuses_facts_that_do_not_go_together(facts: dict, words: str):
    with pytest.raises(SchemaError, match=words):
        Schema(**({"name": "t", "columns": (A,)} | facts))


def test_person_facts_of_columns_that_could_not_be_read():
    for text in ('person = ["a"]\n[columns.a]\nkind = "boolean"', 'person = "a"\n[columns]\na = 1'):
        with pytest.raises(SchemaError):
            Schema.parse(f'[table]\nname = "t"\n{text}\n')


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 3000 + "]" * 3000,
        "a = " + "9" * 5000,
        "a = " + "{b = " * 3000 + "1" + "}" * 3000,
        "\x00",
        "a = 1\x7f",
    ],
)
def test_hostile_toml_is_refused_by_name(text: str):
    with pytest.raises(SchemaError):
        Schema.parse(text)


@pytest.mark.parametrize("path", ["a\x00b", "\ud800.toml", "x" * 5000, "~nouser/x.toml", "."])
def test_places_that_are_no_path_are_refused_by_name(path: str):
    with pytest.raises(SchemaError, match="cannot read the schema"):
        Schema.load(path)
    with pytest.raises(SchemaError, match="cannot write the schema"):
        Schema("t", (A,)).save(path if path != "~nouser/x.toml" else "/nowhere/x.toml")


def test_a_million_levels_are_made_written_and_read_in_seconds():
    levels = tuple(f"level {i}" for i in range(1_000_000))
    begin = time.process_time()
    schema = Schema("t", (Column("x", "category", values=levels),))
    made = time.process_time()
    text = schema.to_toml()
    written = time.process_time()
    assert Schema.parse(text) == schema
    assert made - begin < 2 and written - made < 5 and time.process_time() - written < 30


def test_more_than_a_million_cells_are_refused_before_they_are_made():
    for facts in ("bins = 1000001", "bins = 1000000000000000000", f"edges = {list(range(1_000_002))}"):
        with pytest.raises(SchemaError, match="can be counted"):
            Schema.parse(f'[table]\nname = "t"\n[columns.a]\nkind = "number"\nbounds = [0, 1e7]\n{facts}\n')
    with pytest.raises(SchemaError, match="can be counted"):
        Column("x", "category", values=tuple(range(1_000_001)))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
NAMES = TEXTS.filter(lambda name: name.strip() != "")


@given(name=NAMES, levels=st.lists(TEXTS, min_size=1, max_size=6, unique=True), unit=TEXTS, data=st.data())
def test_any_schema_is_written_as_toml_that_reads_back_equal(name: str, levels: list[str], unit: str, data):
    low, high = sorted(data.draw(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2, unique=True)))
    days = tuple(sorted(data.draw(st.lists(st.dates(), min_size=2, max_size=4, unique=True))))
    try:
        columns = (
            Column(f"{name}1", "category", values=levels, unit=unit, description=unit),
            Column(f"{name}2", "number", bounds=(low, high), outside="clamp"),
            Column(f"{name}3", "date", bounds=(days[0], days[-1]), edges=days, missing=True),
        )
    except SchemaError:  # bounds that floating point cannot cut into bins
        return
    schema = Schema(name, columns, is_draft=True, notes=(f"left out: {name}\n[table]",))
    assert Schema.parse(schema.to_toml()) == schema
    signed = schema.confirm(by="Ada")
    assert Schema.parse(confirmed_toml(schema.to_toml(), signed)) == signed


def test_a_draft_is_written_for_its_owner_alone(tmp_path):
    path = tmp_path / "draft.toml"
    path.write_text("")
    path.chmod(0o644)
    Schema("t", (A,), is_draft=True).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_targets_are_read_written_and_released_with_the_others():
    text = '[table]\nname = "t"\n' + "".join(
        f'[columns.{name}]\nkind = "boolean"\n{role}'
        for name, role in [("x", ""), *[(n, 'role = "target"\n') for n in "yz"]]
    )
    schema = Schema.parse(text)
    assert schema.targets == ("y", "z")
    assert Schema.parse(schema.to_toml()).targets == schema.targets
    assert set(schema.targets) <= set(schema.releasable)


def test_a_target_that_is_never_released_is_refused():
    text = '[table]\nname = "t"\nperson = "a"\n[columns.a]\nkind = "boolean"\nrole = "target"\n'
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text)
    assert list(caught.value.problems) == ["column a: the person column is never released, so it cannot be a target"]
