"""Every kind of page in a browser: on a phone and on a desk, in light and in dark, with search, order and index."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.browser import WIDTHS, Seen, looked_at
from report.comparisons import comparison
from report.every_page import bundles, other_pages

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages in a browser")]
SCHEMES = {"light": WIDTHS, "dark": WIDTHS[:1]}
"""What is looked at: colours are those of the scheme, whatever the width."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return bundles(folder) | other_pages(folder)


@pytest.fixture(scope="module", params=SCHEMES)
def seen(
    pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> list[Seen]:
    return looked_at(pages, tmp_path_factory.mktemp("browser"), request.param, SCHEMES[request.param])


def test_nothing_is_cut_or_covered_or_pale_and_everything_has_words(seen, pages):
    widths = SCHEMES["dark" if seen[0].dark else "light"]
    assert [(each.name, each.width) for each in seen] == [(name, width) for name in pages for width in widths]
    assert {f"{each.name} {each.width}": each.wrong for each in seen if each.wrong} == {}


def test_charts_are_drawn_and_nothing_leaves_the_file(seen):
    for each in seen:
        assert each.left == () and each.words > 40, each.name
        assert each.pictures > 0 or "README" in each.name, each.name


def test_search_order_and_index_work(seen):
    """Whatever has a search finds a column by its name in capitals, and a link of the index shows its card again."""
    used = [each for each in seen if each.used]
    assert {"comparison", "rows report", "counts report", "hostile report"} <= {each.name for each in used}
    for each in used:
        found = each.used
        assert found["none"] == 0 and found["after"] == len(found["all"]) and found["reached"], each
        assert all(name.lower().find(found["searched"]["name"].lower()) >= 0 for name in found["searched"]["shown"][0])
        assert found["searched"]["said"].split(" of ")[1].startswith(str(len(found["all"])))
        assert {tuple(sorted(order)) for order in found["sorted"].values()} <= {tuple(sorted(found["all"]))}


def test_columns_are_set_in_the_order_that_is_asked_for(seen):
    made = comparison()
    for each in seen:
        if each.name == "comparison":
            names = [column.name for column in made.columns]
            worst = [column.name for column in sorted(made.columns, key=lambda column: -column.tvd)]
            by_name = sorted(names, key=lambda name: name.lower())
            assert each.used["sorted"] == {"place": names, "worst": worst, "name": by_name}
            assert each.used["said"] == "8 columns, 6 relations"


def test_a_foreign_script_does_not_run(pages, tmp_path):
    """The content policy names the page's own script by its hash; the look itself says what was logged."""
    text = pages["comparison"].read_text(encoding="utf-8")
    evil = '<script>document.querySelector("h1").textContent = "taken"</script>'
    (tmp_path / "evil.html").write_text(text.replace("</main>", f"{evil}</main>"), encoding="utf-8")
    with pytest.raises(AssertionError, match="Content Security Policy"):
        looked_at({"evil": tmp_path / "evil.html"}, tmp_path, "light", widths=(1280,))
