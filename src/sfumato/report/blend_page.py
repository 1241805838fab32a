"""One self-contained page: what a blend of true and synthetic rows gives away, and what models learn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from sfumato.report.card import Banner
from sfumato.report.charts.look import PAGE, Palette, Spec, finished
from sfumato.report.page import render
from sfumato.report.risk_page import Grid
from sfumato.risk.blend import RISKS, BlendCurves
from sfumato.version import __version__

TEMPLATE = "blend.html.j2"
HEIGHT = 280


def blend_page(found: BlendCurves) -> str:
    """Return the page as HTML."""
    charts = {"chart-risk": _chart(found, _risks(found), "risk", None), "chart-use": _use(found)}
    return render(
        TEMPLATE,
        charts,
        version=__version__,
        found=found,
        banners=(banner(),),
        answer=found.statement().splitlines(),
        use=_use_words(found),
        risks=risk_grid(found),
        scores=score_grid(found),
    )


def banner() -> Banner:
    """Return the warning across the top."""
    text = "Every number is measured on the private rows, without noise, and guarantees nothing."
    return Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)


def risk_grid(found: BlendCurves) -> Grid:
    """Return the risks as a table."""
    known = [key for key in RISKS if key in found.points[0].risks]
    rows = tuple((f"{p.alpha:g}", *(f"{p.risks[key]:.3f}" for key in known)) for p in found.points)
    return Grid(("alpha", *(RISKS[key] for key in known)), rows, tuple(range(len(known) + 1)))


def score_grid(found: BlendCurves) -> Grid:
    """Return the scores as a table, with what true rows and no inputs give."""
    models = list(found.true_rows)
    rows = [(f"{p.alpha:g}", *(f"{p.scores[m]:.4g}" for m in models)) for p in found.points]
    rows.append(("true rows", *(f"{found.true_rows[m]:.4g}" for m in models)))
    rows.append(("no input", *(f"{found.guess:.4g}" for _ in models)))
    return Grid(("alpha", *models), tuple(rows), tuple(range(1, len(models) + 1)))


def _risks(found: BlendCurves) -> dict[str, list[float]]:
    return {RISKS[key]: [p.risks[key] for p in found.points] for key in RISKS if key in found.points[0].risks}


def _use(found: BlendCurves) -> Spec:
    lines = {model: [found.loss(point, model) for point in found.points] for model in found.true_rows}
    title = "accuracy over that on true rows" if found.classes else "error over that on true rows"
    return _chart(found, lines, title, 1.0)


def _use_words(found: BlendCurves) -> str:
    better = "accuracy, larger is better" if found.classes else "error, smaller is better"
    return (
        f"Models were trained on each release and tested on {found.test_rows:,} true rows that no release has seen. "
        f"Drawn: {better}, over that of the same model trained on the true rows; at the line nothing is lost."
    )


def _chart(
    found: BlendCurves,
    lines: Mapping[str, Sequence[float]],
    title: str,
    level: float | None,
    palette: Palette = PAGE,
) -> Spec:
    """Return points with straight lines between them, one colour each, and a level line where there is one."""
    alphas = [point.alpha for point in found.points]
    rows = [{"s": n, "x": x, "y": round(y, 6)} for n, ys in lines.items() for x, y in zip(alphas, ys, strict=True)]
    names = list(lines)
    scale = alt.Scale(domain=names, range=list(palette.series[: len(names)]))
    hints = [alt.Tooltip(f, title=t) for f, t in (("s:N", "line"), ("x:Q", "alpha"), ("y:Q", title))]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title="alpha: weight of the true row",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(grid=False, tickCount=6),
        ),
        y=alt.Y("y:Q", title=title, scale=alt.Scale(zero=level is None)),
        color=alt.Color("s:N", sort=names, scale=scale, legend=alt.Legend(title=None, orient="top", columns=2)),
        tooltip=hints,
    )
    layers = [base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=45, opacity=1)]
    if level is not None:
        rule = alt.Chart(alt.InlineData(values=[{"v": level}])).mark_rule(strokeDash=[2, 3], color=palette.muted)
        layers.append(rule.encode(y="v:Q"))
    return finished(alt.layer(*layers), HEIGHT)
