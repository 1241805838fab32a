"""How results look in a session: one line, one small table, the useful names, and no private value anywhere."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, Schema
from sfumato.errors import ArgumentError, PlanError, SfumatoError, TableError
from sfumato.reprs import html_table, own_public_names

FRAME = pd.DataFrame({"age": [*range(18, 77), 87654] * 2, "<b>town</b>": ["x&y", "Zwerchau", "z"] * 40})
SECRETS = ("87654", "Zwerchau", "120")
"""A value of the rows, a rare one, and the number of rows."""


@pytest.fixture(scope="module")
def draft() -> Schema:
    return Schema.draft(FRAME, name="people")


@pytest.fixture(scope="module")
def table(draft):
    bounds = draft.replace_columns({"age": {"bounds": (0, 110), "outside": "clamp"}})
    return sfumato.read(FRAME, bounds.confirm(accept_unchanged=True, by="us"))


@pytest.fixture(scope="module")
def shown(table, tmp_path_factory):
    book = Ledger(tmp_path_factory.mktemp("book") / "budget.db")
    book.open_table("people", epsilon=2, delta=1e-6)
    made = sfumato.release(table, sfumato.AIM(epsilon=1), ledger=book)
    things = (table.schema, table, made.plan, made, made.guarantee, book, made.model)
    return {type(thing).__name__: thing for thing in things}


KINDS = ("Schema", "Table", "Plan", "Release", "Guarantee", "Ledger", "FittedModel")


@pytest.mark.parametrize("kind", KINDS)
def test_one_line_and_one_table_that_stands_alone(kind, shown):
    line, page = repr(shown[kind]), shown[kind]._repr_html_()
    assert line.startswith(f"{kind}(") and "\n" not in line and len(line) < 400
    assert page.startswith("<table>") and page.endswith("</table>") and "<script" not in page and "http" not in page
    assert "<b>" not in page and "x&y" not in page, "names and values of the user are escaped"


@pytest.mark.parametrize("kind", KINDS)
def test_the_names_of_libraries_are_hidden(kind, shown):
    names = dir(shown[kind])
    assert not [
        n for n in names if n.startswith("_") or (n.startswith("model_") and n not in ("model_dump", "model_dump_json"))
    ]
    assert "copy" not in names and all(hasattr(shown[kind], name) for name in names)


def test_what_users_look_for_is_listed(shown):
    assert {"epsilon", "stages", "events", "notes"} <= set(dir(shown["Plan"]))
    assert {"data", "save", "guarantee", "model"} <= set(dir(shown["Release"]))
    assert dir(sfumato) == sorted(sfumato.__all__) and {"synthesize", "release", "AIM"} <= set(dir(sfumato))


def test_a_draft_and_a_table_show_nothing_of_the_rows(draft):
    table = sfumato.read(FRAME, draft)
    told = "".join((repr(draft), draft._repr_html_(), repr(table), table._repr_html_()))
    assert not [secret for secret in SECRETS if secret in told]
    assert "a draft" in repr(draft) and "not counted" in repr(table)


def test_long_tables_are_cut_and_libraries_leave_no_names():
    page = html_table("t", ("a",), [(i,) for i in range(100)])
    assert page.count("<tr>") == 42 and "... 60 more" in page
    assert own_public_names(object()) == [] if hasattr(object(), "__dict__") else True


def test_a_ledger_that_is_not_there_is_shown_all_the_same(tmp_path):
    assert "there is no ledger" in Ledger(tmp_path / "none.db")._repr_html_()


@pytest.mark.parametrize("name", sorted(sfumato.methods()))
def test_every_method_answers_parameters_that_it_does_not_have(name):
    cls = sfumato.methods()[name].cls
    with pytest.raises(ArgumentError, match=f"{cls.__name__} has no parameter 'wings'"):
        cls(wings=2)
    with pytest.raises(TypeError):
        cls(*range(50))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda t: sfumato.AIM(eps=1), "AIM has no parameter 'eps'; did you mean epsilon?"),
        (lambda t: sfumato.AIM(), "AIM needs epsilon"),
        (lambda t: sfumato.AIM(1, epsilon=1), "AIM was given epsilon twice, without and with its name"),
        (lambda t: sfumato.MeanCurve("x", "y"), "MeanCurve cannot be called so"),
        (lambda t: sfumato.release(t), "release needs method"),
        (lambda t: sfumato.release(t, epsilon=1), "release cannot be called so"),
        (lambda t: sfumato.read(), "read needs source"),
        (lambda t: Schema.draft(), "Schema.draft needs source"),
        (lambda t: sfumato.synthesize(t, eps=1), "synthesize"),
    ],
)
def test_wrong_calls_are_answered_by_name_and_stay_type_errors(call, told, table):
    with pytest.raises(SfumatoError) as caught:
        call(table)
    if told != "synthesize":  # its dialect takes any name, and refuses it as such
        assert isinstance(caught.value, TypeError) and caught.value.headline == told


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda t: sfumato.release(FRAME, sfumato.AIM(1), ledger=False), TableError, "synthesize"),
        (lambda t: sfumato.release(sfumato.AIM(1), t, ledger=False), TableError, r"release\(table, method\)"),
        (lambda t: sfumato.release(t, sfumato.AIM, ledger=False), PlanError, r"AIM\(epsilon=1\)"),
        (lambda t: sfumato.release(t, "mst", ledger=False), PlanError, r"sfumato.MST\(epsilon=1\)"),
        (lambda t: sfumato.release(t, 7, ledger=False), PlanError, "an int is not a method"),
        (lambda t: sfumato.read(FRAME), SfumatoError, "synthesize"),
        (lambda t: sfumato.read(t.schema, FRAME), TableError, r"read\(data, schema\)"),
        (lambda t: Schema.draft(None), TableError, "cannot read"),
    ],
)
def test_what_stands_in_the_wrong_place_is_told_where_it_belongs(call, error, told, table):
    with pytest.raises(error, match=told):
        call(table)
