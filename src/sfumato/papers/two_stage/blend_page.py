"""Page on blended rows: risk and model accuracy against the weight of the private rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.papers.two_stage.blend_curves import BLEND_RISKS, BlendCurves
from sfumato.report.blocks import TableBlock
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, RuleMark, describe_ends, lines
from sfumato.report.page import render_page
from sfumato.version import __version__

TEMPLATE = "blend.html.j2"
HEIGHT = 300


def blend_page(found: BlendCurves) -> str:
    """Return the page as HTML."""
    return render_page(
        TEMPLATE,
        risk_chart=_chart(found, _risks(found), Axis("risk", 0.0)),
        use_chart=_use(found),
        version=__version__,
        found=found,
        banners=(custodian_banner(),),
        answer=found.statement().splitlines(),
        use=_use_words(found),
        risks=risk_grid(found),
        scores=score_grid(found),
    )


def custodian_banner() -> Banner:
    """Return the warning across the top."""
    text = "Every number is measured on the private rows, without noise, and guarantees nothing."
    return Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)


def risk_grid(found: BlendCurves) -> TableBlock:
    """Return the risks as a table."""
    known = [key for key in BLEND_RISKS if key in found.points[0].risks]
    rows = tuple((f"{p.alpha:g}", *(f"{p.risks[key]:.3f}" for key in known)) for p in found.points)
    return TableBlock(("alpha", *(BLEND_RISKS[key] for key in known)), rows, tuple(range(len(known) + 1)))


def score_grid(found: BlendCurves) -> TableBlock:
    """Return the scores as a table, with what true rows and no inputs give."""
    models = list(found.true_rows)
    rows = [(f"{p.alpha:g}", *(f"{p.scores[m]:.4g}" for m in models)) for p in found.points]
    rows.append(("true rows", *(f"{found.true_rows[m]:.4g}" for m in models)))
    rows.append(("no input", *(f"{found.guess:.4g}" for _ in models)))
    return TableBlock(("alpha", *models), tuple(rows), tuple(range(1, len(models) + 1)))


def _risks(found: BlendCurves) -> dict[str, list[float]]:
    return {
        BLEND_RISKS[key]: [p.risks[key] for p in found.points] for key in BLEND_RISKS if key in found.points[0].risks
    }


def _use(found: BlendCurves) -> Markup:
    items = {model: [found.loss(point, model) for point in found.points] for model in found.true_rows}
    title = "accuracy over that on true rows" if found.classes else "error over that on true rows"
    return _chart(found, items, Axis(title), (RuleMark("as good as true rows", 1.0),))


def _use_words(found: BlendCurves) -> str:
    better = "accuracy, larger is better" if found.classes else "error, smaller is better"
    return (
        f"Models were trained on each release and tested on {found.test_rows:,} true rows that no release has seen. "
        f"Drawn: {better}, over that of the same model trained on the true rows; at the line nothing is lost."
    )


def _chart(found: BlendCurves, named: Mapping[str, Sequence[float]], y: Axis, rules: Sequence[RuleMark] = ()) -> Markup:
    """Return points with straight lines between them against the weight of the true rows."""
    alphas = [point.alpha for point in found.points]
    items = [LineMark(name, alphas, heights) for name, heights in named.items()]
    x = Axis("alpha: weight of the true row", 0.0, 1.0)
    return lines(items, x, y, describe_ends(items, x, y), rules=rules, height=HEIGHT)
