"""Who vouched for what: an untouched draft is released only with the assumption, and the pages say it."""

import dataclasses
import datetime as dt
import json

import pandas as pd
import pytest

import sfumato
from report.reading import words_of
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.verify import verify_bundle
from sfumato.core.release import promised
from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.errors import DraftSchemaError
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.guarantee import UNCOVERED
from sfumato.report.texts.provenance import provenance_card
from sfumato.schema import Column, Rule, Schema
from sfumato.schema.purchase import Purchase

ROWS = pd.DataFrame({"age": [*range(18, 91)] * 3, "income": [7, 8, 9] * 73, "sex": ["f", "m", "f"] * 73})
SIGNED = {"by": "Ada Custodian", "on": dt.date(2024, 5, 1)}
DRAFT = Schema.draft(ROWS, name="t")
ACCEPTED = "Ada Custodian accepted that on 2024-05-01"


def released(schema: Schema) -> sfumato.Release:
    method = sfumato.Histogram("sex", epsilon=1)
    return sfumato.release(sfumato.read(ROWS, schema), method, ledger=False)


def saved(schema: Schema, folder) -> tuple[str, str]:
    """Return the text of the report, and release.json."""
    released(schema).save(folder)
    return words_of((folder / "report.html").read_text()), (folder / "release.json").read_text()


def test_an_untouched_draft_is_released_only_with_the_assumption(tmp_path):
    with pytest.raises(DraftSchemaError):
        released(DRAFT)
    page, document = saved(DRAFT.confirm(accept_unchanged=True, **SIGNED), tmp_path / "b")
    for text in (page, document):
        assert "were taken from the private rows" in text and ACCEPTED in text and UNCOVERED in text
        assert "that does not cover the facts of its schema" in text
    assert "none of them was learned from the rows" not in page
    body = json.loads(document)
    assert body["facts"]["columns"]["age"]["bounds"] == "taken from the rows"
    assert (body["facts"]["by"], body["facts"]["on"]) == ("Ada Custodian", "2024-05-01")
    assert "Ada Custodian confirmed the schema on 2024-05-01." in page
    assert "facts taken from the private rows and accepted as they are" in page
    assert verify_bundle(tmp_path / "b").ok
    assert "drafted" not in (tmp_path / "b" / "schema.toml").read_text()


def test_the_plan_says_it_before_anything_is_spent():
    accepted = DRAFT.confirm(accept_unchanged=True, **SIGNED)
    notes = sfumato.plan(accepted, sfumato.Histogram("sex", epsilon=1)).notes
    assert any(ACCEPTED in note and note.endswith(UNCOVERED) for note in notes)
    sourced = DRAFT.confirm(sources={"*": "book"}, **SIGNED)
    assert sfumato.plan(sourced, sfumato.Histogram("sex", epsilon=1)).notes == ()


BY_HAND = Schema("t", (Column("age", "integer", bounds=(0, 120)), Column("sex", "category", values=("f", "m"))))
PAID = Purchase(
    "ledger entry 3: epsilon 0.1, delta 0 (sfumato schema buy, 2024-05-01)",
    "3" * 64,
    Event(
        kind="discrete-laplace",
        epsilon="0.1",
        method="buy",
        table="t",
        adjacency="add-remove",
        parts=(EventPart(stage="values of age", cells=9, scale=10.0),),
    ).to_json(),
)
BOUGHT = dataclasses.replace(BY_HAND.columns[0], bought=PAID.words)
INCOME = Column("income", "integer", bounds=(7, 9), from_rows=("bounds", "missing"))
MIXED = Schema(
    "t",
    (
        dataclasses.replace(BY_HAND.columns[0], from_rows=("missing",)),
        INCOME,
        dataclasses.replace(BY_HAND.columns[1], source="form 3"),
    ),
    rules=(Rule("age >= 18"),),
).confirm(accept_unchanged=True, **SIGNED)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (BY_HAND, ["the facts of the schema are public, as the custodian states, without naming a source"]),
        (
            BY_HAND.confirm(**SIGNED),
            ["the facts of the schema are public, as Ada Custodian stated on 2024-05-01, without naming a source"],
        ),
        (
            BY_HAND.confirm(sources={"age": "law", "sex": "form 3"}, **SIGNED),
            [
                "facts of the schema are public by these sources, as Ada Custodian stated on 2024-05-01: law (age); "
                "form 3 (sex)"
            ],
        ),
        (
            dataclasses.replace(BY_HAND, columns=(BOUGHT, BY_HAND.columns[1]), purchases=(PAID,)).confirm(
                sources={"*": "law"}, **SIGNED
            ),
            ["facts of the schema are public by these sources, as Ada Custodian stated on 2024-05-01: law (sex)"],
        ),
        (
            MIXED,
            [
                f"the bounds of income were taken from the private rows; {ACCEPTED}; {UNCOVERED}",
                "the written form of values (such as whether values may be missing in age and income) was read off the "
                f"private rows; {UNCOVERED}",
                "facts of the schema are public by these sources, as Ada Custodian stated on 2024-05-01: form 3 (sex)",
                "the bounds of age and the rule 'age >= 18' are public, as Ada Custodian stated on 2024-05-01, without "
                "naming a source",
            ],
        ),
    ],
    ids=["by hand", "signed", "sources", "bought", "mixed"],
)
def test_each_origin_has_a_sentence_that_is_true_of_it(schema, said):
    assert list(schema_assumptions(schema, formal=True)) == said
    assert released_words(schema) == said


def released_words(schema: Schema) -> list[str]:
    """Return the assumptions of a release, in its statement."""
    made = sfumato.plan(schema, sfumato.Histogram("sex", epsilon=1))
    lines = promised(schema, made, False).statement().splitlines()
    return [line.removeprefix("It rests on this: ").removesuffix(".") for line in lines if line.startswith("It rests")]


def test_an_exposure_names_what_the_rows_taught_and_nothing_else():
    assert schema_assumptions(BY_HAND, formal=False) == ()
    first, *_ = schema_assumptions(DRAFT, formal=False)
    assert first.endswith("the schema is a draft, and nobody accepted that; nothing bounds what they give away")
    assert "Nobody: the schema is a draft" in provenance_card(DRAFT).sentences[0]


def test_an_exposure_of_a_draft_publishes_no_fingerprint(tmp_path):
    places = pd.DataFrame({"x": [0.5, 1.5, 8.5, 9.5] * 10, "y": [1.25, 2.25, 7.25, 9.0] * 10})
    draft = dataclasses.replace(Schema.draft(places, name="p"), is_draft=False)  # a line that somebody deleted
    method = sfumato.ClusterGeometry.as_published(2, epsilon=1, columns=["x", "y"])
    made = sfumato.release(sfumato.read(places, draft), method, ledger=False)
    made.save(tmp_path / "b")
    assert "nobody accepted that; nothing bounds what they give away" in made.guarantee.statement()
    assert "drafted" not in (tmp_path / "b" / "schema.toml").read_text()
    assert verify_bundle(tmp_path / "b").problems == ()


def test_eighty_columns_make_a_short_sentence_and_a_complete_card():
    wide = Schema("t", tuple(Column(f"c{i:02}", "integer", bounds=(0, 9), from_rows=("bounds",)) for i in range(80)))
    assert len(schema_assumptions(wide, formal=True)[0]) < 300
    card = provenance_card(wide)
    assert card.groups[0].heading.startswith("80 facts") and all(
        f"c{i:02}" in card.groups[0].lines[0] for i in range(80)
    )
    assert "The custodian, who put no name" in card.sentences[0]


def test_a_bundle_that_hides_an_origin_is_found_out(tmp_path):
    released(DRAFT.confirm(accept_unchanged=True, **SIGNED)).save(tmp_path / "b")
    path = tmp_path / "b" / "release.json"
    document = ReleaseDocument.from_json(path.read_text())
    clean = document.guarantee.model_copy(update={"assumptions": ()})
    forged = document.model_copy(update={"guarantee": clean, "statement": clean.statement(), "facts": None}).sealed()
    path.write_text(forged.to_json())
    assert any("does not say where the facts" in problem for problem in verify_bundle(tmp_path / "b").problems)


def test_documents_of_older_bundles_keep_their_seal():
    document = ReleaseDocument.from_release(released(BY_HAND))
    older = document.model_copy(update={"facts": None}).sealed()
    assert '"facts"' not in older.to_json()
    assert ReleaseDocument.from_json(older.to_json()) == older == older.sealed()
