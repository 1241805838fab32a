"""Page on blended rows: risk and model accuracy against the weight of the private rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.papers.two_stage.blend_curves import BLEND_RISKS, BlendCurves
from sfumato.report.blocks import Card, Cards, ChartBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, RuleMark, describe_ends, lines
from sfumato.report.page import to_html
from sfumato.version import __version__

HEIGHT = 300
MEASURED = (
    "LID: people with a released value within {tolerance} of the column's range of their own. Linked: an attacker who "
    "holds the true inputs finds the person's own row as the nearest, or among the ten nearest. Membership: the chance "
    "that a person who was in lies nearer to the release than one who was not; 0.5 is guessing."
)
LEAD = (
    "Two-stage synthesis as published, a heuristic without a guarantee: what a release gives away and what it is good "
    "for, as the weight alpha of the true rows grows. Target: {target}; inputs: {inputs}{kept}."
)


def blend_page(curves: BlendCurves) -> str:
    """Return the page as HTML."""
    kept = f"; kept as they are: {', '.join(curves.kept)}" if curves.kept else ""
    stages = f"first stage {curves.first}, matching {curves.matching}, hybrid {curves.hybrid}, second stage"
    page = Page(
        curves.table,
        LEAD.format(target=curves.target, inputs=", ".join(curves.inputs), kept=kept),
        (custodian_banner(),),
        tuple(_sections(curves)),
        kicker="Sfumato risk, custodian's copy",
        footer=f"{curves.rows:,} rows released, {stages} {curves.second}. sfumato {__version__}.",
        tab=f"{curves.table}: blending",
    )
    return to_html(page)


def _sections(curves: BlendCurves) -> Iterator[Section]:
    trade_off = Card("The trade-off", "", (Paragraphs(tuple(curves.statement().splitlines())),))
    measured = Card("What is measured", "", (Paragraphs((MEASURED.format(tolerance=curves.tolerance),)),))
    yield Section("answer", "The answer in short", (Cards((trade_off, measured)),), "The answer")
    risk = ChartBlock("", (), _chart(curves, _risks(curves), Axis("risk", 0.0)), (risk_grid(curves),))
    yield Section("risk", "What it gives away", (risk,), "Risk")
    scores = f"Table of values: {'accuracy' if curves.classes else 'mean squared error'}"
    use = ChartBlock("", (_use_words(curves),), _use(curves), (score_grid(curves),), scores)
    yield Section("use", "What models learn from it", (use,), "Use")


def custodian_banner() -> Banner:
    """Return the warning across the top."""
    text = "Every number is measured on the private rows, without noise, and guarantees nothing."
    return Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)


def risk_grid(curves: BlendCurves) -> TableBlock:
    """Return the risks as a table."""
    known = [key for key in BLEND_RISKS if key in curves.points[0].risks]
    rows = tuple((f"{p.alpha:g}", *(f"{p.risks[key]:.3f}" for key in known)) for p in curves.points)
    return TableBlock(("alpha", *(BLEND_RISKS[key] for key in known)), rows, tuple(range(len(known) + 1)))


def score_grid(curves: BlendCurves) -> TableBlock:
    """Return the scores as a table, with what true rows and no inputs give."""
    models = list(curves.true_rows)
    rows = [(f"{p.alpha:g}", *(f"{p.scores[m]:.4g}" for m in models)) for p in curves.points]
    rows.append(("true rows", *(f"{curves.true_rows[m]:.4g}" for m in models)))
    rows.append(("no input", *(f"{curves.guess:.4g}" for _ in models)))
    return TableBlock(("alpha", *models), tuple(rows), tuple(range(1, len(models) + 1)))


def _risks(curves: BlendCurves) -> dict[str, list[float]]:
    return {
        BLEND_RISKS[key]: [p.risks[key] for p in curves.points] for key in BLEND_RISKS if key in curves.points[0].risks
    }


def _use(curves: BlendCurves) -> Markup:
    items = {model: [curves.loss(point, model) for point in curves.points] for model in curves.true_rows}
    title = "accuracy over that on true rows" if curves.classes else "error over that on true rows"
    return _chart(curves, items, Axis(title), (RuleMark("as good as true rows", 1.0),))


def _use_words(curves: BlendCurves) -> str:
    better = "accuracy, larger is better" if curves.classes else "error, smaller is better"
    return (
        f"Models were trained on each release and tested on {curves.test_rows:,} true rows that no release has seen. "
        f"Drawn: {better}, over that of the same model trained on the true rows; at the line nothing is lost."
    )


def _chart(
    curves: BlendCurves, named: Mapping[str, Sequence[float]], y: Axis, rules: Sequence[RuleMark] = ()
) -> Markup:
    """Return points with straight lines between them against the weight of the true rows."""
    alphas = [point.alpha for point in curves.points]
    items = [LineMark(name, alphas, heights) for name, heights in named.items()]
    x = Axis("alpha: weight of the true row", 0.0, 1.0)
    return lines(items, x, y, describe_ends(items, x, y), rules=rules, height=HEIGHT)
