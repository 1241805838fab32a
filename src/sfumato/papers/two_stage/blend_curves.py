"""Risk and model error of the published two-stage release as the blend weight alpha varies, and the page of both.

A quarter of the rows is held out. Of the others a release as published is made at every alpha, with the same synthetic
rows and pairs, and its risks are those that the method itself measures, for it alone knows which row was made from
which. The models of the public are trained on each release and on the true rows, and tested on the rows held out, which
no release has seen. All of it is measured on confidential rows, for the custodian.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from sfumato.bundle.description import Banner
from sfumato.errors import RiskError
from sfumato.papers.two_stage.prediction_task import PUBLIC_MODELS, Sample
from sfumato.papers.two_stage.published.method import TwoStageAsPublished
from sfumato.papers.two_stage.published.run import TwoStageOutput, require_two_stage, run_two_stage
from sfumato.papers.two_stage.train_synthetic_test_real import HELD_OUT, PredictionTask, Score
from sfumato.report.blocks import Card, Cards, ChartBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, Lines, RuleMark
from sfumato.report.page import to_html
from sfumato.table import Table
from sfumato.table.rows import column_arrays
from sfumato.version import __version__

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
MOST_ROWS = 5000
"""Rows that are looked at, at most: a sample where there are more."""
BLEND_RISKS = {
    "lid": "LID",
    "linkage_top_1": "linked, nearest",
    "linkage_top_10": "linked, among ten",
    "membership_auc": "membership AUC",
}
"""What is measured of each release, and what it is called."""
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


class BlendPoint(BaseModel):
    """One alpha: its risks, and what models reach that were trained on the release."""

    model_config = ConfigDict(frozen=True)

    alpha: float
    risks: dict[str, float]
    scores: dict[str, float]
    """Mean squared error of a number, or accuracy of levels, by model."""


class BlendCurves(BaseModel):
    """Risks and usefulness against alpha."""

    model_config = ConfigDict(frozen=True)

    table: str
    target: str
    inputs: tuple[str, ...]
    kept: tuple[str, ...]
    """Inputs of levels, which the method keeps as they are."""
    classes: bool
    """Whether scores are accuracies, where larger is better."""
    first: str
    second: str
    matching: str
    hybrid: str
    tolerance: float
    rows: int
    test_rows: int
    true_rows: dict[str, float]
    """Scores of models that were trained on the true rows."""
    guess: float
    """Score without any input."""
    points: tuple[BlendPoint, ...]

    def loss(self, point: BlendPoint, model: str) -> float:
        """Return the error on the release over that on true rows; of levels the accuracy that is kept."""
        return point.scores[model] / self.true_rows[model] if self.true_rows[model] > 0 else float("nan")

    def statement(self) -> str:
        """Return the trade-off in plain words."""
        low, high = self.points[0], self.points[-1]
        risks = [
            f"{name} {low.risks[key]:.2f} to {high.risks[key]:.2f}"
            for key, name in BLEND_RISKS.items()
            if key in low.risks
        ]
        what = "accuracy, as a share of that on true rows" if self.classes else "error over that on true rows"
        losses = [f"{model} {self.loss(low, model):.2f} to {self.loss(high, model):.2f}" for model in low.scores]
        return (
            f"From alpha {low.alpha:g} to {high.alpha:g}: {', '.join(risks)}.\n"
            f"{what[0].upper()}{what[1:]}: {', '.join(losses)}."
        )


def blend_curves(
    table: Table,
    method: TwoStageAsPublished,
    alphas: Sequence[float] = ALPHAS,
    models: Sequence[str] = PUBLIC_MODELS,
    seed: int | None = None,
) -> BlendCurves:
    """Release three quarters of the rows at every alpha, and measure each release; nothing is published or spent."""
    layout = method.layout(table.schema)
    asked, target = _alphas(alphas, method), layout.targets[0].name
    if len(layout.targets) > 1:
        raise RiskError("the page shows one target", next_step="name one target")
    values, generator = column_arrays(table, layout.names), np.random.default_rng(seed)
    order = generator.permutation(len(next(iter(values.values()))))[:MOST_ROWS]
    cut = round(HELD_OUT * len(order))
    held, rows = ({name: each[part] for name, each in values.items()} for part in (order[:cut], order[cut:]))
    settings = replace(method.settings(), alpha=0.5, max_lid=None)
    require_two_stage(layout, rows, settings, table.schema.name)
    task = PredictionTask.of(table.schema, target, [c.name for c in (*layout.inputs, *layout.levels)])
    test, true = _sample(task, held), _sample(task, rows)
    run_seed = int(generator.integers(1 << 62))
    points: list[BlendPoint] = []
    for alpha in asked:
        again = np.random.default_rng(run_seed)
        made = run_two_stage(layout, rows, replace(settings, alpha=alpha), table.schema, again)
        points.append(_point(alpha, made, task, test, models, run_seed))
    return BlendCurves(
        table=table.schema.name,
        target=target,
        inputs=tuple(c.name for c in layout.inputs),
        kept=tuple(c.name for c in layout.levels),
        classes=layout.classes,
        first=method.first,
        second=method.second,
        matching=method.matching,
        hybrid=method.hybrid,
        tolerance=settings.tolerance,
        rows=len(np.asarray(true[0])),
        test_rows=len(np.asarray(test[0])),
        true_rows={model: _score(task.score(model, true, test, run_seed)) for model in models},
        guess=_score(task.guess(true, test)),
        points=tuple(points),
    )


def _alphas(alphas: Sequence[float], method: TwoStageAsPublished) -> list[float]:
    problems = [f"alpha {alpha:g} is not between 0 and 1" for alpha in alphas if not 0 <= alpha <= 1]
    problems += [] if len(set(alphas)) > 1 else ["two alphas are the least"]
    if method.blend is not None or method.max_lid is not None:
        problems.append("blend and max_lid are what is varied: leave them out")
    if problems:
        raise RiskError("the blends cannot be compared", problems, "use for example 0,0.2,0.4,0.6,0.8,0.9,1")
    return sorted(set(alphas))


def _sample(task: PredictionTask, values: dict[str, NDArray[Any]]) -> Sample:
    count = len(values[task.target.name])
    return task.design.matrix(values, count), np.asarray(values[task.target.name], float)


def _point(
    alpha: float, made: TwoStageOutput, task: PredictionTask, test: Sample, models: Sequence[str], seed: int
) -> BlendPoint:
    released, _ = task.read(made.table, f"the release at alpha {alpha:g}")
    risks = {key: float(made.measured[key]) for key in BLEND_RISKS if np.isfinite(made.measured.get(key, np.nan))}
    scores = {model: _score(task.score(model, released, test, seed)) for model in models}
    return BlendPoint(alpha=alpha, risks=risks, scores=scores)


def _score(found: Score) -> float:
    return float(found.error if found.error is not None else found.accuracy or 0.0)


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
    chart = Lines(items, x, y, rules)
    return chart.html(chart.described(), HEIGHT)
