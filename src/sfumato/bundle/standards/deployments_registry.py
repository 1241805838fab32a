"""registry.yaml: a draft entry for the OpenDP Deployments Registry.

The classes spell the registry's own layout, so that an entry that can be made can be handed in. What no program knows
is left as a blank that names itself: who publishes, for what, in which region, and why this budget.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field

from sfumato.bundle.description import PublicRelease, citation, cost_statement, description, page_warnings, title
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.ledger_record import DocumentPart
from sfumato.bundle.standards.fields import unique_slugs
from sfumato.formatting import counted, format_number, list_names
from sfumato.privacy.accounting.guarantee import ONE_VALUE, Guarantee
from sfumato.privacy.exact import at_most, fraction_to_text

INDENT = "  "
TAKEN = ("true", "false", "null")


def yaml_text(value: Mapping[str, Any]) -> str:
    r"""Return nested mappings, lists, texts and numbers as YAML; no text of them can be taken for anything else.

    >>> print(yaml_text({"names": ["no", "a: b\n- c"], "epsilon": 0.5, "nothing": {}}), end="")
    names:
      - "no"
      - "a: b\n- c"
    epsilon: 0.5
    nothing: {}
    """
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, margin: str) -> Iterator[str]:
    pairs = cast("Mapping[str, Any]", value).items() if isinstance(value, Mapping) else None
    if pairs is not None:
        for key, item in pairs:
            yield from _entry(f"{margin}{_key(key)}:", item, margin)
    else:
        for item in cast("Sequence[Any]", value):
            yield from _entry(f"{margin}-", item, margin)


def _entry(head: str, item: Any, margin: str) -> Iterator[str]:
    if isinstance(item, Mapping | list | tuple):
        if not item:
            yield f"{head} {'{}' if isinstance(item, Mapping) else '[]'}"
            return
        yield head
        yield from _lines(item, margin + INDENT)
    else:
        yield f"{head} {_scalar(item)}"


def _key(name: str) -> str:
    """Return a key; a short word may mean true, false or nothing to a reader of YAML."""
    return name if re.fullmatch(r"[a-z_]{4,}", name) and name not in TAKEN else _quoted(name)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, allow_nan=False)


def _number(value: float) -> str:
    """Return a number with a point: readers of YAML 1.1 take 1e-09 for a text.

    >>> _number(1e-09), _number(3.0)
    ('1.0e-09', '3.0')
    """
    text = json.dumps(value, allow_nan=False)
    whole, sign, power = text.partition("e")
    return f"{whole}.0{sign}{power}" if sign and "." not in whole else text


def _quoted(text: str) -> str:
    return '"' + "".join(_letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    """Return a letter inside double quotes: escaped unless every reader prints it."""
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in named:
        return named[letter]
    if letter.isprintable() and letter != "\ufeff":
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


BLANK = "TO BE FILLED IN"
"""How a blank begins."""
CURATOR = (
    f'{BLANK} by the custodian: who publishes this (custodian = "..." under [table] in the schema, or --custodian)'
)
USE = f'{BLANK} by the custodian: what it is meant for (use = "..." under [table] in the schema, or --use)'
REGION = (
    f'{BLANK} by the custodian: which region it describes (region = "..." under [table] in the schema, or --region)'
)
WHY = f"{BLANK} by the custodian: why this method, these columns and this privacy budget were chosen, and by whom"
AUTHOR = f"{BLANK} by the custodian: who hands in this entry"
FINGERPRINT_DIGITS = 12
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
Variant = Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"]
Product = Literal[
    "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"
]


class BasicInformation(DocumentPart):
    """What every entry says."""

    name: str
    data_curators: tuple[str, ...] = Field(min_length=1)
    intended_use: str
    data_product_type: Product
    data_product_region: str
    description: str
    publication_date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


class DpVariant(DocumentPart):
    """Which promise it is, on which tables, and what it leaves out."""

    variant_name: Variant | None = None
    data_domain: str
    unprotected_quantities: str


class Parameters(DocumentPart):
    """The numbers of the promise."""

    epsilon: float
    delta: float | None = None


class PrivacyLoss(DocumentPart):
    """Whom the promise is about, and how strong it is."""

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: Parameters | None = None
    privacy_parameters_details: str


class DeploymentModel(DocumentPart):
    """Who sees what, and how often."""

    model_name: Literal["Local", "Central", "Shuffle", "Federated", "Varies"] = "Central"
    model_name_details: str = CENTRAL
    actors: str
    release_type: Literal["One release", "Many releases"] = "One release"
    release_type_details: str
    data_source_type: Literal["Static", "Dynamic"] = "Static"
    data_source_type_details: str = STATIC
    access_type: Literal["Interactive", "Non-interactive"] = "Non-interactive"
    access_type_details: str = FILES


class Accounting(DocumentPart):
    """How the cost adds up, and what was done after the noise."""

    post_processing: str
    composition: str


class Implementation(DocumentPart):
    """What was run."""

    preprocessing_and_hyperparameter_tuning: str
    mechanisms: str
    justification: str = WHY


class Administrative(DocumentPart):
    """Where more stands, and who wrote the entry."""

    sources: str
    notes: str
    registry_authors: tuple[str, ...] = Field(default=(AUTHOR,), min_length=1)


class Deployment(DocumentPart):
    """All parts of a deployment."""

    basic: BasicInformation
    dp_variant: DpVariant
    privacy_loss: PrivacyLoss
    deployment_model: DeploymentModel
    accounting: Accounting
    implementation: Implementation
    administrative: Administrative


class RegistryEntry(DocumentPart):
    """The content of registry.yaml."""

    url_slug: str
    status: Literal["Draft"] = "Draft"
    tier: Literal[1, 2, 3]
    deployment: Deployment

    @classmethod
    def of(cls, subject: PublicRelease) -> RegistryEntry:
        """Return the entry of a release; one without a promise is no deployment of that kind, and says so."""
        name = next(unique_slugs([subject.schema.name], "table"))
        return cls(
            url_slug=f"{name}-{subject.document.fingerprint[:FINGERPRINT_DIGITS]}",
            tier=3 if subject.document.guarantee.formal else 1,
            deployment=_deployment(subject),
        )

    def to_yaml(self) -> str:
        """Return the entry as YAML; what was not said is left out."""
        return yaml_text(self.model_dump(mode="json", exclude_none=True))


def _deployment(subject: PublicRelease) -> Deployment:
    document = subject.document
    # as the numbers are stated: other kinds are converted, which the details tell
    stated: Variant = "Approximate DP" if document.guarantee.exact_delta else "Pure DP"
    return Deployment(
        basic=_basic(subject),
        dp_variant=DpVariant(
            variant_name=stated if document.guarantee.formal else None,
            data_domain=domain(subject),
            unprotected_quantities=not_covered(subject),
        ),
        privacy_loss=_loss(subject),
        deployment_model=DeploymentModel(actors=actors(subject), release_type_details=release_schedule(subject)),
        accounting=Accounting(post_processing=post_processing(subject), composition=composition(document)),
        implementation=Implementation(
            preprocessing_and_hyperparameter_tuning=pre_processing(document),
            mechanisms=mechanisms(document),
        ),
        administrative=Administrative(
            sources=f"{citation(subject)}. release.json beside this file holds events, stages and hashes.",
            notes=notes(subject),
            registry_authors=(subject.schema.custodian or AUTHOR,),
        ),
    )


def _basic(subject: PublicRelease) -> BasicInformation:
    schema = subject.schema
    stamp = "NOT FOR RELEASE: " if subject.document.randomness.stamp else ""
    return BasicInformation(
        name=stamp + title(subject),
        data_curators=(schema.custodian or CURATOR,),
        intended_use=schema.use or USE,
        data_product_type="Synthetic data" if subject.makes == "rows" else "Summary statistics",
        data_product_region=schema.region or REGION,
        description=description(subject),
        publication_date=subject.document.created_at[:10],
    )


def _loss(subject: PublicRelease) -> PrivacyLoss:
    guarantee = subject.document.guarantee
    delta = float(at_most(guarantee.exact_delta, 15)) if guarantee.exact_delta else None
    stated = Parameters(epsilon=float(at_most(guarantee.exact_epsilon, 15)), delta=delta) if guarantee.formal else None
    exactly = f"Epsilon is {fraction_to_text(guarantee.exact_epsilon)} exactly. " if guarantee.formal else ""
    return PrivacyLoss(
        privacy_unit=unit(guarantee),
        privacy_unit_details=unit_details(subject),
        privacy_parameters=stated,
        privacy_parameters_details=exactly + subject.document.statement,
    )


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


def notes(subject: PublicRelease) -> str:
    """Return what nobody may miss, and what this entry is."""
    formal = subject.document.guarantee.formal
    first = "" if formal else f"{NO_PROMISE} Do not hand this entry in."
    warnings = (f"{banner.heading}: {banner.text}" for banner in page_warnings(subject))
    drawn = "This draft was written from the release itself; the day is that of the release."
    return " ".join(filter(None, (first, *warnings, drawn)))
