"""Curves of a reproduction: what was printed is a yardstick, faint lines stand behind their namesakes."""

from __future__ import annotations

import re

from sfumato.papers.charts import ChartAxes, curves, line_chart
from sfumato.papers.page import page_of
from sfumato.papers.result import Part, Reproduction
from sfumato.report import to_html
from sfumato.report.charts.marks import LineMark
from sfumato.report.charts.plane import NARROW

X = (0.1, 1.0, 10.0)
PRINTED = LineMark("printed", X, (0.1, 0.2, 0.9))
OURS = LineMark("exact", X, (0.1, 0.3, 0.5))
BEHIND = LineMark("exact", X, (0.2, 0.4, 0.6), faint=True)


def test_the_first_name_is_a_yardstick_where_it_was_printed():
    drawn = curves([PRINTED, OURS])
    assert [line.yardstick for line in drawn.shown] == [True, False]
    assert not any(line.yardstick for line in curves([PRINTED, OURS], printed_first=False).shown)


def test_faint_lines_stand_behind_and_share_the_look_and_the_entry_of_their_namesake():
    drawn = curves([PRINTED, OURS, BEHIND])
    assert [line.faint for line in drawn.shown] == [True, False, False]
    assert [words for _, words in drawn.entries()] == ["printed", "exact"]
    paths = re.findall(r'class="stroke (tone-\d)( faint)?"', drawn.picture("w", NARROW, 200))
    assert paths == [("tone-1", " faint"), ("tone-1", "")]


def test_the_axis_holds_losses_and_begins_at_zero_otherwise():
    axes = ChartAxes("alpha", "gain", top=None, logarithmic=False)
    assert curves([OURS], axes).y.low == 0
    loss = curves([LineMark("a", X, (-0.5, 0.1, 0.2))], axes)
    assert loss.y.low is not None and loss.y.low < -0.5


def test_a_chart_says_its_numbers_and_one_alone_has_the_page():
    heights, rules = {"printed": PRINTED.y, "exact": OURS.y}, (("target", 0.4),)
    label = "Risk against epsilon."
    chart = line_chart("t", ("epsilon", "risk"), X, heights, label, rules=rules, muted_first=True)
    pages = (Part(name="figure 1", charts=(chart,) * count) for count in (1, 2))
    facts = {"paper": "p", "title": "t", "sfumato": "0.3", "seed": 1}
    alone, several = (to_html(page_of(Reproduction(**facts, parts=(part,)))) for part in pages)
    assert 'class="broad"' in alone and 'class="broad"' not in several and several.count("<h4>t</h4>") == 2
    words = (
        "Risk against epsilon. printed from 0.1 at 0.1 to 0.9 at 10; exact from 0.1 at 0.1 to 0.5 at 10; target 0.4."
    )
    assert f'aria-label="{words}"' in alone
