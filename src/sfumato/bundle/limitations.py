"""Limitations of a release in sentences: conclusions that the data do not support."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease, noise_by_stage
from sfumato.formatting import format_number, list_names

MOST_NAMED = 12
NOBODY = (
    "A row is not a person. That a row is here does not mean that such a person exists, and that none is here does not "
    "mean that nobody is like that."
)
NO_JOINS = (
    "Do not join the rows to other tables, by a number, a name or a combination of columns: no row belongs to anybody, "
    "so every match is wrong."
)
EXTREMES = (
    "The smallest and the largest value here say nothing about those of the table: they follow from the bounds that "
    "schema.toml states."
)
AS_IF_REAL = (
    "Standard errors and p-values that a program computes as if the rows were real are too small: they do not know of "
    "the noise."
)
WEAKER = "Relations between columns are weaker here than in the table. A coefficient is the least that there is."
ORDER = "The order of the rows means nothing."
NO_COUNT = "The number of rows here is not that of the table: it was chosen, or carries noise."
BELOW_ZERO = (
    "Counts below 0 are no mistake: noise was added to every cell. Do not set them to 0 before you add up, or every "
    "sum comes out too large."
)
LIFTED = "Counts below 0 were set to 0, so cells that are nearly empty are too large on average, and so are their sums."
FINER = (
    "A sum carries the noise of all its cells: that of 100 cells is ten times as wide as that of one. Take the table "
    "with the fewest columns that has your number."
)
DISAGREE = "The tables do not quite agree with each other: each has noise of its own."
REAL_ROWS = "Do not look anybody up: values of real rows may be among these, and the promise does not cover them."
ASK_FIRST = "Do not pass these files on before the custodian has agreed: nobody has proved what they may give away."
TESTS_ONLY = "This is for tests only: whoever knows the seed can take the noise away. Do not publish any number of it."


def limitations(subject: PublicRelease) -> Iterator[str]:
    """Yield the warnings in sentences, the weightiest first."""
    if subject.document.randomness.stamp:
        yield TESTS_ONLY
    if not subject.document.guarantee.formal:
        yield ASK_FIRST
    look = {"rows": _of_rows, "counts": _of_counts, "values": _of_values}[subject.makes]
    yield from look(subject)


def _of_rows(subject: PublicRelease) -> Iterator[str]:
    invented = subject.document.guarantee.formal and not subject.kept
    yield from (NOBODY, NO_JOINS) if invented else (REAL_ROWS,)
    yield from _small_groups(subject)
    yield from _relations(subject)
    yield from _columns_lost_in_noise(subject)
    yield from (EXTREMES, AS_IF_REAL, ORDER)
    if subject.schema.adjacency == "add-remove" and invented:
        yield NO_COUNT


def _small_groups(subject: PublicRelease) -> Iterator[str]:
    """Yield from which size on a group is more than noise, as far as a forecast knows it."""
    forecast = subject.forecast
    if forecast is None or forecast.rows is None or forecast.share_error is None:
        yield "Small groups are mostly noise. Look how sure a number is before you tell it."
        return
    least = math.ceil(2 * forecast.share_error * subject.first.rows)
    rows = format_number(float(f"{least:.2g}"))
    yield (
        f"Small groups are noise: a share is off by {100 * forecast.share_error:.2g} percentage points in a typical "
        f"case, so a level with fewer than about {rows} of these rows may not exist at all, and a group that is cut by "
        "two or three columns is less sure still."
    )


def _relations(subject: PublicRelease) -> Iterator[str]:
    forecast = subject.forecast
    smallest = None if forecast is None else forecast.smallest_relation
    if smallest is None:
        yield WEAKER
    elif smallest >= 1:
        yield "Do not look for relations between columns: the noise hides all of them."
    else:
        yield (
            f"That two columns look unrelated proves nothing: a correlation below about {smallest:.2g} is lost in the "
            f"noise. {WEAKER}"
        )


def _columns_lost_in_noise(subject: PublicRelease) -> Iterator[str]:
    names = () if subject.forecast is None else subject.forecast.drowned
    if names:
        named = list_names(names, MOST_NAMED)
        yield f"These columns tell nothing, because the noise on them is as large as what they hold: {named}."


def _of_counts(subject: PublicRelease) -> Iterator[str]:
    widths = noise_half_widths(subject)
    if widths:
        low, high = (format_number(float(f"{end:.3g}")) for end in (min(widths.values()), max(widths.values())))
        within = low if low == high else f"{low} to {high}, by table,"
        yield f"A cell within {within} of 0 may be empty: 95 of 100 cells are off by no more than that, and 5 are."
    yield LIFTED if subject.document.method.parameters.get("nonnegative") else BELOW_ZERO
    yield FINER
    if len(subject.tables) > 1:
        yield DISAGREE
    yield "A count is about the table, not about a person in it: do not look for somebody in a cell of one."


def noise_half_widths(subject: PublicRelease) -> dict[str, float]:
    """Return how far 95 % of the noise on a count reaches, by table."""
    noise = noise_by_stage(subject.document)
    named = (" x ".join(table.columns) for table in subject.tables)
    return {name: noise[name].half_width() for name in named if name in noise}


def _of_values(subject: PublicRelease) -> Iterator[str]:
    yield "Two numbers that lie nearer to each other than their noise are not different as far as anybody can tell."
    yield "The numbers are about the table as a whole, not about a person in it."
    if subject.first.rows > 1:
        yield "Neighbouring points of a curve share their noise: a smooth bump may be noise alone."
