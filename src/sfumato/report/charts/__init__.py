"""Charts: how they look, what is drawn of counts, values, models, risk and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.charts.figures import Figure as Figure
    from sfumato.report.charts.figures import Panel as Panel
    from sfumato.report.charts.look import MOST_DOTS as MOST_DOTS
    from sfumato.report.charts.look import PAGE as PAGE
    from sfumato.report.charts.look import PAPER as PAPER
    from sfumato.report.charts.look import Axis as Axis
    from sfumato.report.charts.look import Palette as Palette
    from sfumato.report.charts.look import Spec as Spec
    from sfumato.report.charts.look import axis_of as axis_of
    from sfumato.report.charts.look import bars as bars
    from sfumato.report.charts.look import config as config
    from sfumato.report.charts.look import finished as finished
    from sfumato.report.charts.look import heat as heat
    from sfumato.report.charts.look import static_spec as static_spec

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Axis": "sfumato.report.charts.look",
        "Figure": "sfumato.report.charts.figures",
        "MOST_DOTS": "sfumato.report.charts.look",
        "PAGE": "sfumato.report.charts.look",
        "PAPER": "sfumato.report.charts.look",
        "Palette": "sfumato.report.charts.look",
        "Panel": "sfumato.report.charts.figures",
        "Spec": "sfumato.report.charts.look",
        "axis_of": "sfumato.report.charts.look",
        "bars": "sfumato.report.charts.look",
        "config": "sfumato.report.charts.look",
        "finished": "sfumato.report.charts.look",
        "heat": "sfumato.report.charts.look",
        "static_spec": "sfumato.report.charts.look",
    },
)
