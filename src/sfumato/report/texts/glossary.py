"""The glossary of pages and documentation; its terms are in glossary.toml.

docs/glossary.md is made from it, and :mod:`~sfumato.report.page` links each word at its first use on a page.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means in a sentence or two, and other forms of it that are linked as well."""

    name: str
    meaning: str
    others: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The name of its anchor.

        >>> Term("Cramér's V", "").place
        'word-cramers-v'
        """
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode().replace("'", "")
        return f"word-{re.sub(r'[^a-z0-9]+', '-', plain.lower()).strip('-')}"


terms = (
    Term(
        "adjacency",
        "What counts as one person's difference: two tables are neighbours if one has a row that the other lacks "
        "(add or remove), or if one row is replaced by another. The promise is about neighbours.",
        ("neighbouring tables", "add-remove", "replace-one"),
    ),
    Term(
        "area under the curve",
        "How often a model ranks a case above one that is none: 1 is always, 0.5 is guessing.",
        ("AUC",),
    ),
    Term("attacker", "Somebody who tries to learn about one person from what was published, and what that one knows."),
    Term(
        "attribute inference",
        "Guessing a person's secret value from a release and from what is known about the person. What is guessed as "
        "well for people who are not in the table, the release taught about everybody.",
    ),
    Term(
        "budget",
        "What may be learned about one person from all releases of a table together. Every release spends some of it, "
        "and nothing gives it back.",
        ("privacy budget",),
    ),
    Term("bundle", "The folder of a release: data, schema, report, and release.json, which says how it was made."),
    Term("cap", "The largest budget that the custodian allows for a table. A release above it is refused."),
    Term(
        "cell",
        "One level, one range of a number, or one combination of them: the rows of a table fall into cells, and a "
        "count belongs to each.",
        ("cells",),
    ),
    Term(
        "correlation",
        "How nearly two numbers lie on a line: 1 rising, -1 falling, 0 no line. A rank correlation asks the same of "
        "their order.",
        ("correlations", "rank correlation", "rank correlations"),
    ),
    Term("Cramér's V", "How strongly two columns with levels go together: 0 not at all, 1 one determines the other."),
    Term(
        "cross table",
        "Counts of every combination of two or more columns.",
        ("cross tables", "contingency table", "contingency tables", "pair table", "pair tables"),
    ),
    Term(
        "custodian",
        "Whoever keeps the confidential table and answers for it. A custodian's copy holds true numbers and is never "
        "published.",
        ("custodian's copy",),
    ),
    Term(
        "delta",
        "The part of the promise that may fail: with this small probability epsilon does not bound what is learned.",
        ("δ",),
    ),
    Term(
        "differential privacy",
        "A promise about how a release is made: whether one person is in the table or not changes the chance of any "
        "result by a factor of at most e to the power of epsilon. It holds whatever else an attacker knows.",
        ("differentially private",),
    ),
    Term(
        "epsilon",
        "The size of the promise. At 0.1 nobody learns much about a person; at 1 a guess that was right half of the "
        "time is right at most 74 % of the time; at 10 the promise says next to nothing.",
        ("ε", "epsilons"),
    ),
    Term(
        "equivalent rows",
        "How large a random sample of real rows would be that is as near to the whole table as the synthetic rows are.",
    ),
    Term(
        "event",
        "One use of noise on the private table, with its kind and scale: what an accountant adds up to the promise.",
        ("events",),
    ),
    Term(
        "expected error",
        "How far a number of the release lies from the truth on average. Half of the time or more it is nearer.",
        ("expected errors",),
    ),
    Term(
        "exposure",
        "Something that was published with no bound on what it says about a person, such as true counts. It is on "
        "record, and no budget covers it.",
    ),
    Term(
        "false alarm",
        "Somebody who is not in the table and whom an attacker names all the same. Hits, people in the table who are "
        "named, count only as far as they exceed false alarms.",
        ("false alarms",),
    ),
    Term(
        "fingerprint",
        "A short form of the SHA-256 sum of a release: paper that shows the same one belongs to the same files.",
    ),
    Term(
        "forecast",
        "What errors the noise of this plan makes on average, computed from public facts before anything is spent.",
    ),
    Term(
        "guarantee",
        "What is proved about a release whatever an attacker knows: its kind, its parameters, and a statement in "
        "words.",
    ),
    Term("holdout", "Real rows that were kept out of the table before a release, to measure what real rows reach."),
    Term(
        "homogeneity attack",
        "Reading off a person's value where a published cell shows a single value for all people who fit a "
        "description.",
    ),
    Term(
        "interval",
        "A range that holds the true number in 95 of 100 such cases, if nothing else is said.",
        ("intervals", "95 % interval", "confidence interval"),
    ),
    Term("ledger", "The book of what every release of a table has cost. Its entries are chained, so none can vanish."),
    Term("level", "One of the values that a category may take.", ("levels",)),
    Term("linkage", "Joining records about the same person through a release.", ("linkability",)),
    Term(
        "marginal",
        "Counts of one column alone, or of a few columns together, summed over all others.",
        ("marginals",),
    ),
    Term("mechanism", "The step that adds noise to a true number.", ("mechanisms",)),
    Term("median", "The value in the middle: half of the rows lie below it."),
    Term(
        "membership",
        "Whether a person is in the table at all. An attack on membership tries to find out.",
    ),
    Term("method", "How a release is made, with all choices: which columns, which budget, which model."),
    Term("model", "What a method fitted to noisy answers. Rows can be drawn from it again and again, at no cost."),
    Term(
        "noise",
        "Random numbers that were added on purpose, so that no count tells of a single person. Their size is known, "
        "and therefore so is the error that they make.",
    ),
    Term("pilot", "A public or old table of the same kind, on which choices are made without looking at the real one."),
    Term("plan", "What a method would cost and need, computed without looking at the data."),
    Term(
        "positive predictive value",
        "Of all readings that an attacker makes, the share that is right.",
        ("PPV",),
    ),
    Term("propensity", "How well a model tells synthetic rows from real ones: the worse it does, the better they are."),
    Term(
        "provenance", "Where a fact of the schema comes from: known before, said by somebody, or taken from the rows."
    ),
    Term("quantile", "The value below which a given share of the rows lies.", ("quantiles",)),
    Term(
        "record risk",
        "The chance that an attacker reads off a random person's value, and rightly.",
    ),
    Term("release", "What came out and is published, with its events and its guarantee.", ("releases",)),
    Term("schema", "What is known of the columns before anybody looks: kinds, levels, bounds, rules, and who says so."),
    Term(
        "second real sample",
        "The yardstick: how far one sample of real rows lies from another by chance. No release needs to be nearer.",
        ("yardstick", "yardsticks"),
    ),
    Term("seed", "A number that fixes all noise, for tests: whoever knows it can take the noise away.", ("seeded",)),
    Term("SHA-256", "A sum over all bytes of a file. Two files with the same sum are the same."),
    Term(
        "singling out",
        "Stating conditions that exactly one person of the table fulfils. Luck alone succeeds in up to 37 % of tries, "
        "so it counts only as far as it exceeds what it reaches among people who are not in the table.",
    ),
    Term(
        "stage",
        "One part of a release that looks at the private table, with its share of the budget.",
        ("stages",),
    ),
    Term(
        "standard deviation",
        "How far values lie from their mean, typically: two thirds of a bell curve lie within one of them.",
        ("standard deviations",),
    ),
    Term(
        "synthetic rows",
        "Rows that a model made. No row is a person; together they resemble the table.",
        ("synthetic",),
    ),
    Term(
        "total-variation distance",
        "The share of rows that would have to change for two tables to agree: 0 is equal, 1 has nothing in common.",
        ("TVD", "distance of marginals", "total variation"),
    ),
    Term(
        "zero-concentrated differential privacy",
        "A way to count the budget that adds up better for many steps; it is turned into epsilon and delta at the end.",
        ("zCDP", "rho"),
    ),
)
"""Every term, by its name."""


def as_markdown() -> str:
    """Return docs/glossary.md; docs/make_glossary.py writes it."""
    lead = "The words of the reports and of these pages. Every report explains those that it uses at its end."
    lines = ["# Glossary", "", lead, "", "## Words"]
    for term in terms:
        also = f" Also: {', '.join(term.others)}." if term.others else ""
        lines += ["", f"### {term.name}", "", f"{term.meaning}{also}"]
    return "\n".join([*lines, ""])
