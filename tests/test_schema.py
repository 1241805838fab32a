import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.columns import Column
from sfumato.errors import DraftSchemaError, SchemaError

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
