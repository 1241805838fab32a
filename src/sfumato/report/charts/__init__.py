"""Charts as script-free SVG: one plane, several kinds of marks, text alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.charts.category_marks import Bars as Bars
    from sfumato.report.charts.category_marks import BarSeries as BarSeries
    from sfumato.report.charts.category_marks import Boxes as Boxes
    from sfumato.report.charts.category_marks import BoxMark as BoxMark
    from sfumato.report.charts.category_marks import ViolinMark as ViolinMark
    from sfumato.report.charts.category_marks import Violins as Violins
    from sfumato.report.charts.figure import Figure as Figure
    from sfumato.report.charts.figure import figure_html as figure_html
    from sfumato.report.charts.marks import Clouds as Clouds
    from sfumato.report.charts.marks import ImageMark as ImageMark
    from sfumato.report.charts.marks import LineMark as LineMark
    from sfumato.report.charts.marks import Lines as Lines
    from sfumato.report.charts.marks import PointMark as PointMark
    from sfumato.report.charts.marks import RuleMark as RuleMark
    from sfumato.report.charts.plane import Axis as Axis

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Axis": "sfumato.report.charts.plane",
        "Bars": "sfumato.report.charts.category_marks",
        "BoxMark": "sfumato.report.charts.category_marks",
        "Boxes": "sfumato.report.charts.category_marks",
        "PointMark": "sfumato.report.charts.marks",
        "Clouds": "sfumato.report.charts.marks",
        "Figure": "sfumato.report.charts.figure",
        "ImageMark": "sfumato.report.charts.marks",
        "BarSeries": "sfumato.report.charts.category_marks",
        "LineMark": "sfumato.report.charts.marks",
        "Lines": "sfumato.report.charts.marks",
        "RuleMark": "sfumato.report.charts.marks",
        "ViolinMark": "sfumato.report.charts.category_marks",
        "Violins": "sfumato.report.charts.category_marks",
        "figure_html": "sfumato.report.charts.figure",
    },
)
