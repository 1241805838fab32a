"""Charts as script-free SVG: one plane, several kinds of marks, text alternatives."""

from sfumato.report.charts.axis import Axis
from sfumato.report.charts.category_marks import Bars, BarSeries, Boxes, BoxMark, ViolinMark, Violins
from sfumato.report.charts.marks import Clouds, LineMark, Lines, PointMark, RuleMark
from sfumato.report.charts.plane import Figure, figure_html
from sfumato.report.charts.svg import ImageMark

__all__ = [
    "Axis",
    "BarSeries",
    "Bars",
    "BoxMark",
    "Boxes",
    "Clouds",
    "Figure",
    "ImageMark",
    "LineMark",
    "Lines",
    "PointMark",
    "RuleMark",
    "ViolinMark",
    "Violins",
    "figure_html",
]
