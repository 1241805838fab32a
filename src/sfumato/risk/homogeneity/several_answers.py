"""What the curves of several sensitive attributes say, in plain words."""

from __future__ import annotations

from sfumato.formatting import percent
from sfumato.risk.homogeneity.answers import Answer, listed, people_of, under_target, weighed_over
from sfumato.risk.homogeneity.several_curves import SeveralCurves


def risk_answer(curves: SeveralCurves) -> Answer:
    """Answer: how many people's sensitive values can a neighbour read off?"""
    point, people = curves.example, curves.records
    names = listed(curves.sensitive)
    question = (
        f"If I publish this cross table with epsilon {point.epsilon:g}, whose {names} can a neighbour read off who "
        f"knows their {listed(curves.identifiers)}?"
    )
    alone = "; ".join(f"{name} of {people_of(share.record, people)}" for name, share in point.each.items())
    return Answer(
        question,
        (
            f"At least one of them rightly for {people_of(point.some.record, people)} in expectation, all together for "
            f"{people_of(point.complete.record, people)}.",
            f"One by one: {alone}.",
            f"Without any noise at least one for {people_of(curves.ceiling.some.record, people)}, all together for "
            f"{people_of(curves.ceiling.complete.record, people)}.",
            f"Yardstick: naming the most common values is right for {_baselines(curves)} of the people.",
        ),
    )


def epsilon_answer(curves: SeveralCurves) -> Answer:
    """Answer: which epsilon keeps the chance of at least one right reading under the target?"""
    over = weighed_over(curves.weights)
    return under_target(
        curves.choice, f"the chance that at least one value of a person is read off rightly, averaged over {over},"
    )


def attacker(curves: SeveralCurves) -> str:
    """Say who attacks, what they know and what they do."""
    return (
        f"Goal: to learn a person's {listed(curves.sensitive)}. Knowledge: the person is in the table, and their "
        f"{listed(curves.identifiers)}. Method: look up the person's cell in the published table, keep the counts of 1 "
        "or more, and read off every column in which all of them agree."
    )


def _baselines(curves: SeveralCurves) -> str:
    return ", ".join(f"{percent(share)} ({name})" for name, share in curves.baselines.items())
