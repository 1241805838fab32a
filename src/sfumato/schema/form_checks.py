"""Do the facts about a column's written form make sense, and those about where its facts come from?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from sfumato.schema.provenance import FACTS, WORD_FACTS

MOST_DECIMALS = 15
DATE_STEPS = ("week", "month", "quarter", "year")
"""Steps of dates: each date is the first day of one of these."""
NO_AROUND = re.compile(r"[-+\d]")
"""What would be taken for a part of the number."""
LISTED = ("category", "ordinal")
WRITTEN = {
    "decimals": ("number", "integer", "category", "ordinal"),
    "step": ("number", "integer", "date"),
    "true": ("boolean",),
    "false": ("boolean",),
    "date_format": ("date",),
    "grouped": ("number", "integer", "category", "ordinal"),
    "prefix": ("number", "integer", "category", "ordinal"),
    "suffix": ("number", "integer", "category", "ordinal"),
    "value_labels": ("category", "ordinal"),
}
"""Facts about the written form, and the kinds of columns that have them."""


def settled_form(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return lists as tuples and a mapping of labels as pairs, so that a column can be compared and hashed."""
    made: dict[str, Any] = {key: _listed(facts.get(key)) for key in ("from_rows", "from_file", "drafted")}
    labels = facts.get("value_labels")
    if isinstance(labels, Mapping):
        wanted = {str(value): value for value in facts.get("values") or ()}
        pairs = cast("Mapping[Any, Any]", labels).items()
        made["value_labels"] = tuple((wanted.get(str(key), key), words) for key, words in pairs)
    return made


def _listed(marks: Any) -> tuple[Any, ...]:
    """Return marks as a tuple; what is no list stays one odd mark, which is refused."""
    return tuple(cast("list[Any]", marks)) if isinstance(marks, list | tuple) else () if marks is None else (marks,)


def form_problems(kind: str, facts: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with decimals, steps, written forms, labels and marks of origin."""
    wrong = [
        f"{key} has no meaning for kind {kind!r}"
        for key, kinds in WRITTEN.items()
        if facts.get(key) is not None and facts[key] is not False and kind not in kinds
    ]
    if wrong:
        return wrong
    zeros, decimals, known = facts.get("trailing_zeros", False), facts.get("decimals"), (*FACTS, *WORD_FACTS)
    said = [key for key in ("decimals", "grouped", "prefix", "suffix") if facts.get(key)]
    checks = (
        (
            isinstance(zeros, bool) or (_is_count(zeros) and zeros <= (decimals or 0)),
            f"trailing_zeros needs true, false, or how many of the decimals are always written, found {zeros!r}",
        ),
        (not zeros or decimals is not None, "trailing_zeros needs decimals = how many digits"),
        (_is_count(decimals), f"decimals needs a whole number from 0 to {MOST_DECIMALS}, found {decimals!r}"),
        (_is_step(kind, facts.get("step")), _step_words(kind, facts.get("step"))),
        (
            _can_be_written(facts.get("step"), decimals),
            f"step = {facts.get('step')!r} needs more than {decimals} decimals",
        ),
        (
            kind not in LISTED or not said or _are_whole(facts.get("values")),
            f"{', '.join(said)} needs values that are numbers",
        ),
        (isinstance(facts.get("grouped", False), bool), f"grouped needs true or false, found {facts.get('grouped')!r}"),
        *(
            (all(mark in known for mark in facts[key]), f"{key} names facts, of {', '.join(known)}")
            for key in ("from_rows", "from_file")
        ),
        (all(isinstance(mark, str) for mark in facts["drafted"]), "drafted is written by a draft alone"),
    )
    return [problem for holds, problem in checks if not holds] + _around_problems(facts) + _text_problems(facts)


def _around_problems(facts: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with texts around numbers, and with the text that stands for no value."""
    from sfumato.schema.column_checks import is_text

    said = {key: facts[key] for key in ("prefix", "suffix") if facts.get(key) is not None}
    found = [
        f"{key} needs a text without digits and without + or -, found {text!r}"
        for key, text in said.items()
        if not is_text(text) or not text.strip() or NO_AROUND.search(text)
    ]
    mark = facts.get("missing_text")
    if mark is not None and not (mark == "" or is_text(mark)):
        found.append(f"missing_text needs a text, found {mark!r}")
    listed = facts.get("values")
    if mark is not None and isinstance(listed, tuple) and mark in listed:
        found.append(f"missing_text {mark!r} is one of the values")
    return found


def _text_problems(facts: Mapping[str, Any]) -> list[str]:
    from sfumato.schema.column_checks import is_text

    texts = [key for key in ("true", "false", "date_format") if facts.get(key) is not None and not is_text(facts[key])]
    found = [f"{key} needs a text, found {facts[key]!r}" for key in texts]
    true, false, labels = facts.get("true"), facts.get("false"), facts.get("value_labels")
    if (true is None) != (false is None) or (true is not None and true == false):
        found.append("a boolean that is written in words needs both, true = ... and false = ...")
    pairs = cast("tuple[Any, ...]", labels or ())
    if not isinstance(labels, tuple | None) or not all(isinstance(pair, tuple) and is_text(pair[1]) for pair in pairs):
        return [*found, "value_labels needs a text for each value that it explains"]
    unknown = [str(value) for value, _ in pairs if facts.get("values") is not None and value not in facts["values"]]
    return found + ([f"value_labels explains {', '.join(unknown[:5])}, not among the values"] if unknown else [])


def _is_count(decimals: Any) -> bool:
    if decimals is None:
        return True
    return isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= MOST_DECIMALS


def _is_step(kind: str, step: Any) -> bool:
    if step is None:
        return True
    if kind == "date":
        return step in DATE_STEPS
    number = isinstance(step, int | float) and not isinstance(step, bool) and 0 < step < float("inf")
    return number and (kind != "integer" or step == int(step))


def _can_be_written(step: Any, decimals: Any) -> bool:
    """Whether a step has no more decimals than its values may have."""
    if decimals is None or not isinstance(step, int | float) or not _is_count(decimals):
        return True
    return step == round(step, decimals)


def _are_whole(values: Any) -> bool:
    return bool(values) and all(isinstance(value, int) for value in values)


def _step_words(kind: str, step: Any) -> str:
    wanted = (
        f"one of {', '.join(DATE_STEPS)}" if kind == "date" else f"a {'whole ' * (kind == 'integer')}number above 0"
    )
    return f"step needs {wanted}, found {step!r}"
