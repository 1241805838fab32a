"""Charts: every picture of every page, as SVG that is drawn here and needs no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.charts.bars import Bars as Bars
    from sfumato.report.charts.bars import Heights as Heights
    from sfumato.report.charts.boxes import Box as Box
    from sfumato.report.charts.boxes import Boxes as Boxes
    from sfumato.report.charts.clouds import Cloud as Cloud
    from sfumato.report.charts.clouds import Clouds as Clouds
    from sfumato.report.charts.image import GreyImage as GreyImage
    from sfumato.report.charts.lines import Line as Line
    from sfumato.report.charts.lines import Lines as Lines
    from sfumato.report.charts.lines import Rule as Rule
    from sfumato.report.charts.plane import Axis as Axis
    from sfumato.report.charts.shown import Drawing as Drawing
    from sfumato.report.charts.shown import charted as charted
    from sfumato.report.charts.violins import Violin as Violin
    from sfumato.report.charts.violins import Violins as Violins

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Axis": "sfumato.report.charts.plane",
        "Bars": "sfumato.report.charts.bars",
        "Box": "sfumato.report.charts.boxes",
        "Boxes": "sfumato.report.charts.boxes",
        "Cloud": "sfumato.report.charts.clouds",
        "Clouds": "sfumato.report.charts.clouds",
        "Drawing": "sfumato.report.charts.shown",
        "GreyImage": "sfumato.report.charts.image",
        "Heights": "sfumato.report.charts.bars",
        "Line": "sfumato.report.charts.lines",
        "Lines": "sfumato.report.charts.lines",
        "Rule": "sfumato.report.charts.lines",
        "Violin": "sfumato.report.charts.violins",
        "Violins": "sfumato.report.charts.violins",
        "charted": "sfumato.report.charts.shown",
    },
)
