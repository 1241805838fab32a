"""Plain-language answers from the curves of homogeneity risk."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sfumato.formatting import capitalize_first, join_names, percent
from sfumato.privacy.exact import at_least
from sfumato.report.texts import Texts
from sfumato.risk.homogeneity.results import RiskCurves, SeveralCurves

say = Texts("homogeneity_answers")


class Answer(NamedTuple):
    """A question and the sentences that answer it."""

    question: str
    sentences: tuple[str, ...]

    @classmethod
    def of(cls, texts: dict[str, Any], **facts: Any) -> Answer:
        """Return texts with facts in them."""
        return cls(texts["question"].format(**facts), tuple(text.format(**facts) for text in texts["sentences"]))


def all_answers(curves: RiskCurves | SeveralCurves) -> tuple[Answer, ...]:
    """Return every question that some curves answer."""
    answers = (risk_answer(curves), epsilon_answer(curves))
    return (*answers, uniqueness_answer(curves)) if isinstance(curves, RiskCurves) else answers


def epsilon_choice_caution(curves: RiskCurves | SeveralCurves) -> str:
    """Say what choosing epsilon by these numbers means for the guarantee."""
    return say("steered") if curves.pilot is None else say("piloted", pilot=curves.pilot)


def risk_answer(curves: RiskCurves | SeveralCurves) -> Answer:
    """Answer: if I publish this cross table, how many people's sensitive values can a neighbour read off?"""
    facts: dict[str, Any] = {"epsilon": curves.example.epsilon, "known": join_names(curves.identifiers)}
    if isinstance(curves, SeveralCurves):
        point, ceiling = curves.example, curves.ceiling
        return Answer.of(
            say.table("several"),
            **facts,
            sensitive=join_names(curves.sensitive),
            some=_people(point.some.record, curves),
            complete=_people(point.complete.record, curves),
            each="; ".join(f"{name} of {_people(share.record, curves)}" for name, share in point.each.items()),
            ceiling_some=_people(ceiling.some.record, curves),
            ceiling_complete=_people(ceiling.complete.record, curves),
            baselines=", ".join(f"{percent(share)} ({name})" for name, share in curves.baselines.items()),
        )
    point, limits = curves.example, curves.limits["record"]
    return Answer.of(
        say.table("one"),
        **facts,
        sensitive=curves.sensitive,
        right=_people(point.record.record, curves).capitalize(),
        read=_people(point.any.record, curves),
        ppv=percent(point.ppv.record, 3),
        ceiling=_people(limits.ceiling.record, curves),
        floor=percent(limits.floor.record, 3),
        baseline=percent(curves.baseline, 3),
    )


def _people(share: float, curves: RiskCurves | SeveralCurves) -> str:
    """Return a share of people as a number and in per cent."""
    expected = share * curves.records
    count = f"{expected:,.0f}" if expected >= 0.5 or share == 0 else "fewer than 1"
    return say("people", count=count, people=curves.records, share=percent(share, 3))


def epsilon_answer(curves: RiskCurves | SeveralCurves) -> Answer:
    """Answer: which epsilon keeps the risk under the target? How to ask, where no target was given."""
    choice, units = curves.choice, "people" if curves.weights == "record" else "cells"
    risk = say(f"risk.{curves.view if isinstance(curves, RiskCurves) else 'several'}", units=units)
    what = f"{risk},"
    if choice is None:
        return Answer.of(say.table("untargeted"), what=what)
    target = percent(choice.target, 3)
    if choice.safe is None:
        return Answer.of(say.table("unsafe"), target=target, statement=capitalize_first(choice.statement), risk=risk)
    if math.isinf(choice.safe[1]):
        return Answer.of(say.table("unlimited"), target=target, what=what, ceiling=percent(choice.ceiling, 3))
    found = Answer.of(say.table("safe"), target=target, what=what, end=at_least(choice.safe[1], 4))
    if isinstance(curves, SeveralCurves):
        return found
    reference = say("larger.reference", people=_people(curves.reference.record.record, curves))
    return Answer(found.question, (*found.sentences, _larger_epsilons(curves), reference))


def _larger_epsilons(curves: RiskCurves) -> str:
    choice = curves.choice
    rest = [] if choice is None else choice.intervals[1:]
    if rest:
        return say("larger.some", spans=", ".join(f"{low:.4g} to {high:.4g}" for low, high in rest))
    return say("larger.classical" if choice and choice.ends_with_rule(curves.rule) else "larger.none")


def uniqueness_answer(curves: RiskCurves) -> Answer:
    """Answer: is a person who is alone in a cell seen to be alone, and rightly?"""
    point = curves.alone_example
    if not point.alone:
        return Answer.of(say.table("nobody_alone"), epsilon=point.epsilon, identifiers=join_names(curves.identifiers))
    shares = {name: percent(getattr(point, name), 3) for name in ("seen", "right", "known", "baseline")}
    found = point.alone * point.seen
    return Answer.of(
        say.table("alone"), epsilon=point.epsilon, alone=point.alone, found=found, shown=point.shown, **shares
    )


def attacker(curves: RiskCurves | SeveralCurves) -> tuple[str, ...]:
    """Say who attacks, what they know and what they do."""
    one = isinstance(curves, RiskCurves)
    goal = curves.sensitive if one else join_names(curves.sensitive)
    look = say("attacker.look", goal=goal, known=join_names(curves.identifiers))
    reads = say("attacker.one" if one else "attacker.several", goal=goal)
    noise = say(
        f"noise.{curves.mechanism}",
        adjacency=curves.adjacency,
        sensitivity=curves.sensitivity,
        delta=curves.delta,
        rule=curves.rule,
    )
    every = say("attacker.domain", noise=noise, domain=curves.domain)
    return look + reads, f"{every}, empty ones included." if one else f"{every}."
