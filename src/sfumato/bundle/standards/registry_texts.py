"""The sentences of a registry entry, each of them from the document and the schema alone."""

from __future__ import annotations

from sfumato.bundle.cost_statement import cost_statement
from sfumato.bundle.description import PublicRelease, citation, page_warnings
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import counted, format_number, list_names
from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee

CENTRAL = "The custodian holds the confidential table and adds the noise before anything leaves."
STATIC = (
    "The release was computed once, from the table as it was then. Whether rows will be added later is not known to "
    "the program that wrote this entry."
)
FILES = "Readers get files. Nobody can ask the confidential table further questions through them."
NO_PROMISE = "No theorem bounds what can be learned from this release, so it is no deployment of differential privacy."
AFTER = "Everything after the noise was computed from noisy answers and public facts alone, which costs no privacy."
UNTUNED = (
    "The program tuned nothing on the confidential table. Whether a person looked at it while choosing parameters is "
    "not known to the program."
)
EXACT_NOISE = (
    "Noise on counts is drawn as whole numbers by exact samplers, without floating point, from the operating system's "
    "source of randomness."
)
NO_TIMING = "Nobody can send queries, so the time of an answer tells nothing to readers."
MOST_STAGES = 8


def domain(subject: PublicRelease) -> str:
    """Say which tables the promise speaks of."""
    schema = subject.schema
    rows = f"{format_number(schema.rows)} rows, which is public" if schema.rows is not None else "any number of rows"
    return (
        f"All tables with {rows}, whose columns have the public bounds and values that schema.toml states: "
        f"{list_names(schema.names)}."
    )


def not_covered(subject: PublicRelease) -> str:
    """Say what the promise does not cover."""
    guarantee, schema = subject.document.guarantee, subject.schema
    if not guarantee.formal:
        return f"Everything that was released. {NO_PROMISE}"
    gaps = ["The facts that schema.toml states, such as bounds and lists of values, are taken for public."]
    if schema.purchases:
        gaps = ["Facts that schema.toml states as public; those that it states as bought are covered."]
    if guarantee.takes_facts_from_rows:
        gaps = ["Facts of the schema that were taken from the confidential rows, as the statement says."]
    if guarantee.adjacency == "replace":
        gaps.append(f"The number of rows, {format_number(schema.rows or 0)}, is public.")
    if guarantee.unit.startswith(ONE_VALUE):
        gaps.append("Only that value is covered: the rest of a row is released as it is.")
    if subject.kept:
        gaps.append(f"These columns were released as they are in the table: {list_names(subject.kept)}.")
    if guarantee.uncharged:
        gaps.append(f"The choice of {guarantee.uncharged}, which was made by looking at the confidential table.")
    if subject.document.randomness.stamp:
        gaps.append("The noise came from a fixed seed: whoever knows it can remove the noise.")
    return " ".join(gaps)


def unit(guarantee: Guarantee) -> str:
    """Return the unit in the registry's manner.

    >>> unit(Guarantee(kind="pure", epsilon="1")), unit(Guarantee(kind="pure", epsilon="1", unit="person (2 rows)"))
    ('Row-level', 'Person-level (2 rows)')
    """
    if guarantee.unit.startswith(ONE_VALUE):
        return guarantee.unit[0].upper() + guarantee.unit[1:]
    noun, bracket, more = guarantee.unit.partition(" (")
    return f"{noun.capitalize()}-level{bracket}{more}"


def unit_details(subject: PublicRelease) -> str:
    """Say when two tables are neighbours."""
    guarantee, schema = subject.document.guarantee, subject.schema
    change = f"Two tables are neighbours when they differ by {guarantee.change()}."
    if schema.person is None:
        return f"{change} Someone who fills several rows is protected less."
    return (
        f"{change} The column {schema.person!r} tells people apart, and at most "
        f"{format_number(schema.rows_per_person)} rows of "
        "one of them were counted."
    )


def actors(subject: PublicRelease) -> str:
    """Say who sees what."""
    noise = "the noise" if subject.document.guarantee.formal else "the chance"
    return (
        f"The custodian sees the confidential table and is trusted with it. Everyone else sees these files alone; no "
        f"trust in readers is assumed, and they may know the method, its code and all parameters, but not {noise}."
    )


def release_schedule(subject: PublicRelease) -> str:
    """Say what is known of further releases from the same table."""
    recorded = subject.document.recorded
    if recorded is None:
        return "No ledger was given, so nobody adds up what releases of this table cost."
    return " ".join(
        ("Releases of this table share one account with a cap.", *cost_statement(subject.document).sentences[1:])
    )


def composition(document: ReleaseDocument) -> str:
    """Say how the parts of the cost add up."""
    if not document.guarantee.formal:
        return f"{NO_PROMISE} It is listed as an exposure and never added to a total."
    events = (*document.events, *document.guarantee.beside)
    kinds = list_names(list(dict.fromkeys(event.kind for event in events)))
    verb = "compose" if len(events) > 1 else "comes"
    measured = f"{counted(len(events), 'event')} of kind {kinds}, which {verb} to the stated numbers."
    return f"{measured} {cost_statement(document).sentences[0]}"


def post_processing(subject: PublicRelease) -> str:
    """Say what was done with the noisy answers."""
    if not subject.document.guarantee.formal:
        return "The method draws its rows from the confidential ones; see the description."
    rules = [rule.check for rule in subject.schema.rules]
    kept = f" Rows keep {len(rules)} public rules." if rules and subject.makes == "rows" else ""
    return f"{AFTER}{kept}"


def pre_processing(document: ReleaseDocument) -> str:
    """Say what was done with the table before, as far as the program knows."""
    chosen = document.guarantee.uncharged
    tuned = f"{chosen} was chosen by looking at the confidential table, uncharged." if chosen else UNTUNED
    if document.guarantee.selection is not None:
        tuned = f"{document.guarantee.selection.parameter} was chosen on the confidential table, and charged for."
    return " ".join(
        (tuned, *(f"The promise rests on this: {assumption}." for assumption in document.guarantee.assumptions))
    )


def mechanisms(document: ReleaseDocument) -> str:
    """Say which mechanisms were run, by which code."""
    noisy = [stage for stage in document.stages if stage.noise.endswith(("laplace", "gaussian"))]
    noises = [f"{stage.noise} noise of scale {stage.scale:.4g} on {stage.name}" for stage in noisy[:MOST_STAGES]]
    more = [f"{len(noisy) - MOST_STAGES} more stages"] if len(noisy) > MOST_STAGES else []
    measured = f"{'; '.join((*noises, *more))}." if noises else f"{document.method.summary}."
    drawn = (EXACT_NOISE,) if noises and document.randomness.mode == "secure" else ()
    method = f"Method {document.method.name} of Sfumato {document.versions['sfumato']}, with public parameters."
    return " ".join((method, measured[0].upper() + measured[1:], *drawn, NO_TIMING))


def sources(subject: PublicRelease) -> str:
    """Say where more stands."""
    return f"{citation(subject)}. release.json beside this file holds events, stages and hashes."


def notes(subject: PublicRelease) -> str:
    """Return what nobody may miss, and what this entry is."""
    formal = subject.document.guarantee.formal
    first = "" if formal else f"{NO_PROMISE} Do not hand this entry in."
    warnings = (f"{banner.heading}: {banner.text}" for banner in page_warnings(subject))
    drawn = "This draft was written from the release itself; the day is that of the release."
    return " ".join(filter(None, (first, *warnings, drawn)))
