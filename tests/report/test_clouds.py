"""Clouds of points: one path for each, told apart by shape, marks and bounds named."""

from __future__ import annotations

import re

from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import Clouds, PointMark, common_axis
from sfumato.report.charts.plane import NARROW

A = PointMark("a", (0.0, 1.0), (0.0, 2.0))
B = PointMark("b", (1.0,), (1.0,))


def test_a_cloud_is_one_path_with_every_point_inside_the_axes():
    clouds = Clouds((A, B), Axis("x1"), Axis("x2"))
    paths = re.findall(r'class="tone-(\d) cloud" d="([^"]*)"', clouds.picture("w", NARROW, 240))
    assert [(tone, path.count("M")) for tone, path in paths] == [("1", 2), ("2", 1)]
    places = [tuple(map(float, place)) for _, path in paths for place in re.findall(r"M([\d.]+) ([\d.]+)", path)]
    assert all(0 < x < NARROW and 0 < y < 240 for x, y in places) and places[0][0] < places[1][0]
    shapes = [re.sub(r"tone-\d", "", mark) for mark, _ in clouds.entries()]
    assert len(set(shapes)) == 2
    assert clouds.spoken() == "a: 2 points, x1 0 to 1, x2 0 to 2; b: 1 points, x1 1 to 1, x2 1 to 1."


def test_marks_and_bounds_have_the_legend():
    clouds = Clouds((A,), Axis("x1"), Axis("x2"), marks=(B,), bounds=(-2.0, 3.0))
    assert [name for _, name in clouds.entries()] == ["b", "bounds of x1"]
    drawn = clouds.picture("w", NARROW, 240)
    left, right = (float(x) for x in re.findall(r'class="rule dash-2" d="M([\d.]+)', drawn))
    assert left < right and 'class="marks"' in drawn


def test_pictures_that_share_an_axis_keep_it():
    x = common_axis("x1", [0.0, 100.0])
    near, far = (Clouds((PointMark("a", (place,), (0.0,)),), x, Axis("x2", -1, 1)) for place in (10.0, 90.0))
    at = [float(re.search(r'cloud" d="M([\d.]+)', each.picture("w", NARROW, 240))[1]) for each in (near, far)]
    assert at[0] < NARROW / 2 < at[1]
