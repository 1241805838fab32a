"""The printed report: every sheet has its number, the day and the fingerprint; 200 columns stay light and quick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

import sfumato
from report.browser import looked_at, started
from report.every_page import household_table
from sfumato import Marginals, Schema
from sfumato.bundle.document import ReleaseDocument
from sfumato.schema.column import Column

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages in a browser")]
HEAVIEST, MOST_ELEMENTS = 5_000_000, 120_000


def test_every_sheet_of_paper_can_be_filed(tmp_path):
    folder = sfumato.release(household_table(), Marginals(1.0), rows=50, ledger=False).save(tmp_path / "bundle")
    document = ReleaseDocument.from_json((folder / "release.json").read_text(encoding="utf-8"))
    file = tmp_path / "report.pdf"
    started((folder / "report.html").as_uri(), tmp_path, [f"print-to-pdf={file}", "no-pdf-header-footer"])
    sheets = [" ".join(sheet.extract_text().split()) for sheet in PdfReader(file).pages]
    assert len(sheets) > 2
    for number, sheet in enumerate(sheets, 1):
        assert f"page {number} of {len(sheets)}" in sheet
        assert f"fingerprint {document.fingerprint[:16]}" in sheet
        assert document.created_at[:10] in sheet and "Sfumato release: households" in sheet
    assert document.fingerprint in "".join(sheets[-1].split()), "the last sheet has all of the fingerprint"
    assert "Signature" in sheets[-1] and "Type a column" not in "".join(sheets)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of 200 columns: numbers, levels, many levels and gaps."""
    generator, rows = np.random.default_rng(3), 400
    columns, values = [], {}
    for i in range(200):
        name = f"column {i}"
        if i % 3:
            columns.append(Column(name, "number", bounds=(0, 100), bins=40, missing=True))
            values[name] = np.where(generator.random(rows) < 0.1, np.nan, generator.gamma(3, 9, rows).clip(0, 99))
        else:
            levels = tuple(f"level {j}" for j in range(3 + i))
            columns.append(Column(name, "category", values=levels))
            values[name] = generator.choice(levels, rows)
    table = sfumato.read(pd.DataFrame(values), Schema("wide", tuple(columns)))
    made = sfumato.release(table, Marginals(3.0, pairs=[]), rows=rows, ledger=False)
    return made.save(tmp_path_factory.mktemp("wide") / "bundle") / "report.html"


def test_two_hundred_columns_stay_light(wide):
    """How long it takes to open is measured by benchmarks/report.py: a busy machine would decide it here."""
    text = wide.read_text(encoding="utf-8")
    assert len(text.encode()) < HEAVIEST and text.count("<") < MOST_ELEMENTS


def test_two_hundred_columns_are_found_by_index_and_search(wide, tmp_path):
    (desk,) = looked_at({"wide": wide}, tmp_path, "light", widths=(1280,))
    assert desk.wrong == () and desk.used is not None
    assert len(desk.used["all"]) == 200 and desk.used["none"] == 0 and desk.used["reached"]
