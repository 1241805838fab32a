"""registry.yaml: the release as a draft entry of the OpenDP Deployments Registry.

The classes spell the registry's own layout, so that an entry that can be made can be handed in. What no program knows
is left as a blank that names itself: who publishes, for what, in which region, and why this budget.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sfumato.privacy.exact import at_most, text
from sfumato.privacy.ledger.recorded import Record
from sfumato.report.standards import registry_words as words
from sfumato.report.standards.fields import safe_names
from sfumato.report.standards.plain_yaml import yaml_text
from sfumato.report.users import about
from sfumato.report.users.subject import Subject

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


class Basic(Record):
    """What every entry says."""

    name: str
    data_curators: tuple[str, ...] = Field(min_length=1)
    intended_use: str
    data_product_type: Product
    data_product_region: str
    description: str
    publication_date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


class DpVariant(Record):
    """Which promise it is, on which tables, and what it leaves out."""

    variant_name: Variant | None = None
    data_domain: str
    unprotected_quantities: str


class Parameters(Record):
    """The numbers of the promise."""

    epsilon: float
    delta: float | None = None


class PrivacyLoss(Record):
    """Whom the promise is about, and how strong it is."""

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: Parameters | None = None
    privacy_parameters_details: str


class DeploymentModel(Record):
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


class Accounting(Record):
    """How the cost adds up, and what was done after the noise."""

    post_processing: str
    composition: str


class Implementation(Record):
    """What was run."""

    preprocessing_and_hyperparameter_tuning: str
    mechanisms: str
    justification: str = WHY


class Administrative(Record):
    """Where more stands, and who wrote the entry."""

    sources: str
    notes: str
    registry_authors: tuple[str, ...] = Field(default=(AUTHOR,), min_length=1)


class Deployment(Record):
    """All parts of a deployment."""

    basic: Basic
    dp_variant: DpVariant
    privacy_loss: PrivacyLoss
    deployment_model: DeploymentModel
    accounting: Accounting
    implementation: Implementation
    administrative: Administrative


class RegistryEntry(Record):
    """The content of registry.yaml."""

    url_slug: str
    status: Literal["Draft"] = "Draft"
    tier: Literal[1, 2, 3]
    deployment: Deployment

    @classmethod
    def of(cls, subject: Subject) -> RegistryEntry:
        """Return the entry of a release; one without a promise is no deployment of that kind, and says so."""
        name = next(safe_names([subject.schema.name], "table"))
        return cls(
            url_slug=f"{name}-{subject.document.fingerprint[:FINGERPRINT_DIGITS]}",
            tier=3 if subject.document.guarantee.formal else 1,
            deployment=_deployment(subject),
        )

    def to_yaml(self) -> str:
        """Return the entry as YAML; what was not said is left out."""
        return yaml_text(self.model_dump(mode="json", exclude_none=True))


def _deployment(subject: Subject) -> Deployment:
    document = subject.document
    return Deployment(
        basic=_basic(subject),
        dp_variant=DpVariant(
            variant_name=_variant(subject),
            data_domain=words.domain(subject),
            unprotected_quantities=words.unprotected(subject),
        ),
        privacy_loss=_loss(subject),
        deployment_model=DeploymentModel(actors=words.actors(subject), release_type_details=words.once(subject)),
        accounting=Accounting(post_processing=words.post_processing(subject), composition=words.composition(document)),
        implementation=Implementation(
            preprocessing_and_hyperparameter_tuning=words.before(document), mechanisms=words.mechanisms(document)
        ),
        administrative=Administrative(
            sources=words.sources(subject),
            notes=words.notes(subject),
            registry_authors=(subject.schema.custodian or AUTHOR,),
        ),
    )


def _basic(subject: Subject) -> Basic:
    schema = subject.schema
    stamp = "NOT FOR RELEASE: " if subject.document.randomness.stamp else ""
    return Basic(
        name=stamp + about.title(subject),
        data_curators=(schema.custodian or CURATOR,),
        intended_use=schema.use or USE,
        data_product_type="Synthetic data" if subject.makes == "rows" else "Summary statistics",
        data_product_region=schema.region or REGION,
        description=words.description(subject),
        publication_date=subject.document.created_at[:10],
    )


def _variant(subject: Subject) -> Variant | None:
    """Return the promise as its numbers are stated: other kinds are converted, which the details tell."""
    guarantee = subject.document.guarantee
    if not guarantee.formal:
        return None
    return "Approximate DP" if guarantee.exact_delta else "Pure DP"


def _loss(subject: Subject) -> PrivacyLoss:
    guarantee = subject.document.guarantee
    delta = float(at_most(guarantee.exact_delta, 15)) if guarantee.exact_delta else None
    stated = Parameters(epsilon=float(at_most(guarantee.exact_epsilon, 15)), delta=delta) if guarantee.formal else None
    exactly = f"Epsilon is {text(guarantee.exact_epsilon)} exactly. " if guarantee.formal else ""
    return PrivacyLoss(
        privacy_unit=words.unit(guarantee),
        privacy_unit_details=words.unit_details(subject),
        privacy_parameters=stated,
        privacy_parameters_details=exactly + subject.document.statement,
    )
