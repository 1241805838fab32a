"""Plain-language answers from the risk curves."""

from __future__ import annotations

import math
from typing import NamedTuple

from sfumato.formatting import join_names, percent
from sfumato.privacy.exact import at_least
from sfumato.risk.homogeneity.results import EpsilonChoiceRecord, RiskCurves, RiskPoint, SeveralCurves

STEERED = (
    "Choosing epsilon by looking at these numbers makes epsilon itself data-dependent: it gives away something of the "
    "confidential rows, and no guarantee of the release covers that. To avoid it, run the same command with --pilot "
    "PILOT.csv, a public or earlier table with the same columns: then every number comes from the pilot. Otherwise "
    "declare the choice with the release."
)
PILOTED = (
    "Epsilon chosen here does not depend on the confidential table: every number comes from the pilot table {pilot!r}, "
    "and the confidential table was not read. The risk of the confidential table itself is like this only as far as "
    "the two tables are alike."
)
CONTINUOUS = "Sfumato releases discrete noise, which at the same promise carries a little more of this risk"
CERTIFIED = (
    "A release widens sigma by up to 2 % until the discrete noise itself is certified, so that its risk is a little "
    "closer to the floor than the curves say"
)
VIEWS = {
    "record": "the chance that a person's value is read off rightly",
    "conservative": "the chance that a cell shows one single value that does occur in it",
    "any": "the chance that a cell shows one single value, right or wrong",
}


AT_LEAST_ONE = "the chance that at least one value of a person is read off rightly"


class Answer(NamedTuple):
    """A question and the sentences that answer it."""

    question: str
    sentences: tuple[str, ...]


def epsilon_choice_caution(curves: RiskCurves | SeveralCurves) -> str:
    """Say what choosing epsilon by these numbers means for the guarantee."""
    return STEERED if curves.pilot is None else PILOTED.format(pilot=curves.pilot)


def all_answers(curves: RiskCurves | SeveralCurves) -> tuple[Answer, ...]:
    """Return every question that some curves answer."""
    answers = (risk_answer(curves), epsilon_answer(curves))
    return (*answers, uniqueness_answer(curves)) if isinstance(curves, RiskCurves) else answers


def risk_answer(curves: RiskCurves | SeveralCurves) -> Answer:
    """Answer: if I publish this cross table, how many people's sensitive values can a neighbour read off?"""
    if isinstance(curves, SeveralCurves):
        return _several_risk_answer(curves)
    point, people = curves.example, curves.records
    limits = curves.limits["record"]
    question = (
        f"If I publish this cross table with epsilon {point.epsilon:g}, how many people's {curves.sensitive} can a "
        "neighbour read off?"
    )
    return Answer(
        question,
        (
            f"{people_of(point.record.record, people).capitalize()} in expectation, if the neighbour knows their "
            f"{join_names(curves.identifiers)}.",
            f"The neighbour reads a value for {people_of(point.any.record, people)}; {percent(point.ppv.record, 3)} of "
            "these readings are right.",
            f"Without any noise {people_of(limits.ceiling.record, people)} could be read off. Even pure noise leaves "
            f"{percent(limits.floor.record, 3)}: where it empties all counts but one, that one is right by chance.",
            f"Yardstick: naming the most common {curves.sensitive} for everybody is right for "
            f"{percent(curves.baseline, 3)}.",
        ),
    )


def _several_risk_answer(curves: SeveralCurves) -> Answer:
    point, people = curves.example, curves.records
    names = join_names(curves.sensitive)
    question = (
        f"If I publish this cross table with epsilon {point.epsilon:g}, whose {names} can a neighbour read off who "
        f"knows their {join_names(curves.identifiers)}?"
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


def _baselines(curves: SeveralCurves) -> str:
    return ", ".join(f"{percent(share)} ({name})" for name, share in curves.baselines.items())


def epsilon_answer(curves: RiskCurves | SeveralCurves) -> Answer:
    """Answer: which epsilon keeps the risk under the target?"""
    over = weighed_over(curves.weights)
    if isinstance(curves, SeveralCurves):
        return under_target(curves.choice, f"{AT_LEAST_ONE}, averaged over {over},")
    what = f"{VIEWS[curves.view]}, averaged over {over},"
    found = under_target(curves.choice, what)
    if curves.choice is None or curves.choice.safe is None or math.isinf(curves.choice.safe[1]):
        return found
    return Answer(found.question, (*found.sentences, _others(curves), at_reference(curves.reference, curves)))


def weighed_over(weights: str) -> str:
    """Return over what a risk is averaged."""
    return "people" if weights == "record" else "cells"


def under_target(choice: EpsilonChoiceRecord | None, what: str) -> Answer:
    """Answer: which epsilon keeps ``what`` under the target? How to ask, where no target was given."""
    if choice is None:
        question = "Which epsilon keeps the risk under a target?"
        return Answer(question, (f"Add --target 0.35 to find every epsilon that keeps {what} at 35 % or less.",))
    question = f"Which epsilon keeps the risk at {percent(choice.target, 3)} or less?"
    if choice.safe is None:
        return Answer(question, (_sentence(choice.statement), f"The risk is {what[:-1]}."))
    if math.isinf(choice.safe[1]):
        return Answer(question, (f"Every epsilon: without any noise {what} is {percent(choice.ceiling, 3)}.",))
    end = at_least(choice.safe[1], 4)
    return Answer(question, (f"Every epsilon up to {end} keeps {what} at {percent(choice.target, 3)} or less.",))


def _others(curves: RiskCurves) -> str:
    rest = [] if curves.choice is None else curves.choice.intervals[1:]
    if not rest and curves.choice is not None and curves.choice.ends_with_rule(curves.rule):
        return "The classical rule is not proved beyond epsilon 1: --rule analytic looks further."
    if not rest:
        return "No larger epsilon keeps it."
    spans = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in rest)
    return f"So do epsilons from {spans}, but epsilons between are riskier: do not steer by those."


def at_reference(point: RiskPoint, curves: RiskCurves) -> str:
    """Say how many people are read off rightly at the chosen epsilon."""
    return f"At that epsilon a neighbour reads off {people_of(point.record.record, curves.records)}."


def uniqueness_answer(curves: RiskCurves) -> Answer:
    """Answer: is a person who is alone in a cell seen to be alone, and rightly?"""
    point = curves.alone_example
    question = f"With epsilon {point.epsilon:g}, is somebody who is alone in a cell seen to be alone?"
    if not point.alone:
        return Answer(
            question, (f"Nobody is: every {join_names(curves.identifiers)} of the table has two people or more.",)
        )
    return Answer(
        question,
        (
            f"With a chance of {percent(point.seen, 3)}; of {point.alone:,.0f} people who are alone that is "
            f"{point.alone * point.seen:,.0f} in expectation. The chance depends on epsilon and on the number of "
            "values, not on the table.",
            f"The table shows {point.shown:,.0f} cells with one person; {percent(point.right, 3)} of them hold one. Of "
            f"the people in such cells {percent(point.known, 3)} are alone: so sure may a neighbour be who knows that "
            f"the person is in the table. Yardstick: {percent(point.baseline, 3)} of all people are alone.",
        ),
    )


def attacker(curves: RiskCurves | SeveralCurves) -> tuple[str, ...]:
    """Say who attacks, what they know and what they do."""
    several = isinstance(curves, SeveralCurves)
    goal = join_names(curves.sensitive) if several else curves.sensitive
    look = f"Goal: to learn a person's {goal}. Knowledge: the person is in the table, and their "
    look += f"{join_names(curves.identifiers)}. Method: look up the person's cell in the published table"
    every = f"{noise_words(curves)}. All {curves.domain:,} cells of the public domain get noise"
    if several:
        reads = "keep the counts of 1 or more, and read off every column in which all of them agree."
        return f"{look}, {reads}", f"{every}."
    reads = f"where exactly one {goal} has a count of 1 or more, read it off."
    return f"{look} and, {reads}", f"{every}, empty ones included."


def noise_words(curves: RiskCurves | SeveralCurves) -> str:
    """Say which noise every count gets, and whether it is the one that Sfumato releases."""
    kind, scale = f"(adjacency {curves.adjacency})", f"of scale {curves.sensitivity:g} / epsilon"
    if curves.mechanism == "geometric":
        return f"Every count gets discrete Laplace (geometric) noise {scale} {kind}"
    if curves.mechanism == "laplace":
        other = "use --mechanism geometric for what is really released"
        return f"Every count gets Laplace noise {scale} {kind} and is rounded. {CONTINUOUS}: {other}"
    promise = (
        f"(epsilon, {curves.delta:g})-DP by the {curves.rule} rule, L2 sensitivity {curves.sensitivity:.4g} {kind}"
    )
    if curves.mechanism == "gaussian":
        other = "use --mechanism discrete-gaussian for what is really released"
        return f"Every count gets Gaussian noise for {promise}, and is rounded. {CONTINUOUS}: {other}"
    return f"Every count gets discrete Gaussian noise for {promise}. {CERTIFIED}"


def people_of(share: float, people: int) -> str:
    """Return a share of people as a number and in per cent."""
    count = f"{share * people:,.0f}" if share * people >= 0.5 or share == 0 else "fewer than 1"
    return f"{count} of {people:,} people ({percent(share, 3)})"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
