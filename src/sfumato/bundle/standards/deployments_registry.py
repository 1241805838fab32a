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

from sfumato.bundle.description import PublicRelease, description, title
from sfumato.bundle.ledger_record import DocumentPart
from sfumato.bundle.standards import registry_texts as words
from sfumato.bundle.standards.fields import unique_slugs
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
    model_name_details: str = words.CENTRAL
    actors: str
    release_type: Literal["One release", "Many releases"] = "One release"
    release_type_details: str
    data_source_type: Literal["Static", "Dynamic"] = "Static"
    data_source_type_details: str = words.STATIC
    access_type: Literal["Interactive", "Non-interactive"] = "Non-interactive"
    access_type_details: str = words.FILES


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
    return Deployment(
        basic=_basic(subject),
        dp_variant=DpVariant(
            variant_name=_variant(subject),
            data_domain=words.domain(subject),
            unprotected_quantities=words.not_covered(subject),
        ),
        privacy_loss=_loss(subject),
        deployment_model=DeploymentModel(
            actors=words.actors(subject), release_type_details=words.release_schedule(subject)
        ),
        accounting=Accounting(post_processing=words.post_processing(subject), composition=words.composition(document)),
        implementation=Implementation(
            preprocessing_and_hyperparameter_tuning=words.pre_processing(document),
            mechanisms=words.mechanisms(document),
        ),
        administrative=Administrative(
            sources=words.sources(subject),
            notes=words.notes(subject),
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


def _variant(subject: PublicRelease) -> Variant | None:
    """Return the promise as its numbers are stated: other kinds are converted, which the details tell."""
    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return None
    return "Approximate DP" if guarantee.exact_delta else "Pure DP"


def _loss(subject: PublicRelease) -> PrivacyLoss:
    guarantee = subject.document.guarantee
    delta = float(at_most(guarantee.exact_delta, 15)) if guarantee.exact_delta else None
    stated = Parameters(epsilon=float(at_most(guarantee.exact_epsilon, 15)), delta=delta) if guarantee.formal else None
    exactly = f"Epsilon is {fraction_to_text(guarantee.exact_epsilon)} exactly. " if guarantee.formal else ""
    return PrivacyLoss(
        privacy_unit=words.unit(guarantee),
        privacy_unit_details=words.unit_details(subject),
        privacy_parameters=stated,
        privacy_parameters_details=exactly + subject.document.statement,
    )
