"""Code books of the five tables that were never used for tuning, written by hand as a custodian would.

Bounds are round numbers that anyone who knows the subject could name; nothing was fitted to the rows. Values beyond
them are clamped, as top-coding does. In the ACS table four columns are left out: INDP (its list of 271 codes is not in
the dictionary; INDP_CAT is its public grouping), DENSITY (a fact about the area, not about the person) and the two
sampling weights.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Facts:
    """Where a table is, how it writes missing values, what is predicted, and its public code book."""

    file: str
    target: str
    positive: Any
    codebook: str
    missing: tuple[str, ...] = ("",)


def data_folder() -> Path:
    """Return the folder of the data; stop politely where it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SFUMATO_DATA", beside))
    if not folder.is_dir():
        raise SystemExit(
            "the benchmark's data are not here: set SFUMATO_DATA to the folder that holds adult_coded.csv.gz, "
            "adult_coded_domain.json and the other tables"
        )
    return folder


def _codebook(name: str, **columns: str) -> str:
    sections = [f'[table]\nname = "{name}"\nadjacency = "add-remove"']
    sections += [f"[columns.{column}]\n{facts}" for column, facts in columns.items()]
    return "\n\n".join(sections)


def _numbers(kind: str, low: float, high: float, missing: bool) -> str:
    cast = float if kind == "number" else int
    text = f'kind = "{kind}"\nbounds = [{cast(low)}, {cast(high)}]\noutside = "clamp"'
    return text + ("\nmissing = true" if missing else "")


def whole(low: int, high: int, missing: bool = False) -> str:
    return _numbers("integer", low, high, missing)


def real(low: float, high: float, missing: bool = False) -> str:
    return _numbers("number", low, high, missing)


def levels(*values: str | int, kind: str = "category", missing: bool = False) -> str:
    listed = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
    return f'kind = "{kind}"\nvalues = [{listed}]' + ("\nmissing = true" if missing else "")


def ranked(*values: str | int, missing: bool = False) -> str:
    return levels(*values, kind="ordinal", missing=missing)


YES_NO = levels("no", "yes")
CODED_PAIR = levels(1, 2)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
JOBS = (
    "admin.",
    "blue-collar",
    "entrepreneur",
    "housemaid",
    "management",
    "retired",
    "self-employed",
    "services",
    "student",
    "technician",
    "unemployed",
    "unknown",
)

BANK = _codebook(
    "bank_marketing",
    age=whole(16, 100),
    job=levels(*JOBS),
    marital=levels("divorced", "married", "single"),
    education=ranked("unknown", "primary", "secondary", "tertiary"),
    default=YES_NO,
    balance=whole(-10_000, 100_000),
    housing=YES_NO,
    loan=YES_NO,
    contact=levels("cellular", "telephone", "unknown"),
    day=whole(1, 31),
    month=ranked(*MONTHS),
    duration=whole(0, 3600),
    campaign=whole(1, 60),
    pdays=whole(-1, 999),
    previous=whole(0, 50),
    poutcome=levels("failure", "other", "success", "unknown"),
    y=YES_NO,
)
DIAMONDS = _codebook(
    "diamonds",
    carat=real(0, 6),
    cut=ranked("Fair", "Good", "Very Good", "Premium", "Ideal"),
    color=ranked("D", "E", "F", "G", "H", "I", "J"),
    clarity=ranked("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
    depth=real(40, 80),
    table=real(40, 100),
    price=whole(0, 20_000),
    x=real(0, 12),
    y=real(0, 12),
    z=real(0, 8),
)
HMEQ = _codebook(
    "hmeq",
    BAD=levels(0, 1),
    LOAN=whole(0, 100_000),
    MORTDUE=real(0, 400_000, missing=True),
    VALUE=real(0, 500_000, missing=True),
    REASON=levels("DebtCon", "HomeImp", missing=True),
    JOB=levels("Mgr", "Office", "Other", "ProfExe", "Sales", "Self", missing=True),
    YOJ=real(0, 50, missing=True),
    DEROG=whole(0, 15, missing=True),
    DELINQ=whole(0, 20, missing=True),
    CLAGE=real(0, 600, missing=True),
    NINQ=whole(0, 20, missing=True),
    CLNO=whole(0, 80, missing=True),
    DEBTINC=real(0, 100, missing=True),
)
ACS = _codebook(
    "acs_ma2019",
    PUMA=levels("25-00503", "25-00703", "25-01000", "25-01300", "25-02800"),
    AGEP=whole(0, 99),
    SEX=CODED_PAIR,
    MSP=levels(*range(1, 7), missing=True),
    HISP=levels(*range(5)),
    RAC1P=levels(*range(1, 10)),
    NOC=whole(0, 19, missing=True),
    NPF=whole(2, 20, missing=True),
    HOUSING_TYPE=levels(1, 2, 3),
    OWN_RENT=levels(0, 1, 2),
    INDP_CAT=levels(*range(19), missing=True),
    EDU=ranked(*range(1, 13), missing=True),
    PINCP=whole(-10_000, 400_000, missing=True),
    PINCP_DECILE=ranked(*range(10), missing=True),
    POVPIP=whole(0, 501, missing=True),
    DVET=levels(*range(1, 7), missing=True),
    DREM=levels(1, 2, missing=True),
    DPHY=levels(1, 2, missing=True),
    DEYE=CODED_PAIR,
    DEAR=CODED_PAIR,
)
CALIFORNIA = _codebook(
    "california_housing",
    longitude=real(-125, -114),
    latitude=real(32, 43),
    housing_median_age=whole(0, 60),
    total_rooms=whole(0, 20_000),
    total_bedrooms=whole(0, 5000, missing=True),
    population=whole(0, 20_000),
    households=whole(0, 5000),
    median_income=real(0, 16),
    median_house_value=whole(0, 510_000),
    ocean_proximity=levels("<1H OCEAN", "INLAND", "ISLAND", "NEAR BAY", "NEAR OCEAN"),
)

TABLES = {
    "bank_marketing": Facts("bank_marketing.csv.gz", "y", "yes", BANK),
    "diamonds": Facts("diamonds.csv.gz", "price", None, DIAMONDS),
    "hmeq": Facts("hmeq.csv", "BAD", 1, HMEQ),
    "acs_ma2019": Facts("acs_ma2019.csv", "OWN_RENT", 2, ACS, missing=("", "N")),
    "california_housing": Facts("california_housing.csv.gz", "median_house_value", None, CALIFORNIA),
}
