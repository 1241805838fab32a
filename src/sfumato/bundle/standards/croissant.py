"""croissant.json: the release as a Croissant 1.0 data set.

Fields are those of the Parquet files, which carry types. Levels stand in record sets of their own, with their labels.
Bounds, units and the kind of a column are told by schema.org's words, which Croissant builds on and whose readers may
pass over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sfumato.bundle.description import PublicRelease, citation, describe_file, description, title
from sfumato.bundle.document import Tables
from sfumato.bundle.ledger_record import LAYOUT
from sfumato.bundle.limitations import limitations
from sfumato.bundle.standards.fields import Field, ReleasedFile, drop_empty, json_value, released_files, unique_slugs

CONFORMS = "http://mlcommons.org/croissant/1.0"
TYPES = {"text": "sc:Text", "whole": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean", "date": "sc:Date"}
MEDIA = {".parquet": "application/x-parquet", ".csv": "text/csv"}
ROWS = {
    "rows": "{lines} released rows.",
    "counts": "{lines} cells of a table of counts with noise.",
    "values": "{lines} numbers with noise.",
}
FINGERPRINT_DIGITS = 12
CROISSANT_TERMS = (
    *("citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes"),
    *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "separator", "source", "subField", "transform", "equivalentProperty", "samplingRate"),
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in CROISSANT_TERMS},
}
"""What the words of the format mean: readers need nothing from a network for it."""


def croissant(subject: PublicRelease, tables: Tables) -> str:
    """Return the text of croissant.json."""
    files = released_files(subject, tables)
    listed = {field.name: field for table in files for field in table.fields if field.column and field.levels}
    places = dict(zip(listed, unique_slugs((f"levels-{name}" for name in listed), "levels"), strict=True))
    sets = [*(_record_set(table, places) for table in files), *(_levels(places[name], listed[name]) for name in listed)]
    body = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        **_about(subject),
        "distribution": list(_files(subject, files)),
        "recordSet": sets,
    }
    return LAYOUT.text(body)


def _about(subject: PublicRelease) -> dict[str, Any]:
    """Return what is said about the release as a whole."""
    schema, document = subject.schema, subject.document
    stamp = "NOT FOR RELEASE: " if document.randomness.stamp else ""
    return drop_empty(
        {
            "name": stamp + title(subject),
            "description": f"{description(subject)} {document.guarantee.headline()}",
            "datePublished": document.created_at[:10],
            "version": f"1.0.0+{document.fingerprint[:FINGERPRINT_DIGITS]}",
            "citeAs": citation(subject),
            "license": schema.licence,
            "creator": drop_empty({"@type": "sc:Organization", "name": schema.custodian}) if schema.custodian else None,
            "isBasedOn": schema.name,
            "keywords": ["differential privacy" if document.guarantee.formal else "no formal privacy guarantee"],
            "rai:personalSensitiveInformation": document.statement.splitlines(),
            "rai:dataLimitations": list(limitations(subject)),
            "rai:dataUseCases": [schema.use] if schema.use else None,
        }
    )


def _files(subject: PublicRelease, files: Sequence[ReleasedFile]) -> Iterator[dict[str, Any]]:
    """Yield the data files with their hashes."""
    for table in files:
        for path in (table.listed.parquet, table.listed.csv):
            record = subject.document.files_without_pages[path]
            yield {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "description": describe_file(path),
                "contentUrl": path,
                "contentSize": f"{record.bytes} B",
                "encodingFormat": MEDIA[PurePosixPath(path).suffix],
                "sha256": record.sha256,
            }


def _record_set(table: ReleasedFile, places: Mapping[str, str]) -> dict[str, Any]:
    """Return the record set of one released table."""
    names = unique_slugs((field.name for field in table.fields), "column")
    fields = zip(names, table.fields, strict=True)
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": ROWS[table.listed.kind].format(lines=f"{table.listed.rows:,}"),
        "field": [_field(f"{table.name}/{name}", field, table, places.get(field.name)) for name, field in fields],
    }


def _field(place: str, field: Field, table: ReleasedFile, levels: str | None) -> dict[str, Any]:
    low, high = field.column.bounds if field.column and field.column.bounds else (None, None)
    facts = {
        "@type": "cr:Field",
        "@id": place,
        "name": field.name,
        "description": _words(field),
        "disambiguatingDescription": "cells into which the values were cut" if field.is_cell else None,
        "dataType": TYPES[field.type],
        "source": {"fileObject": {"@id": table.listed.parquet}, "extract": {"column": field.name}},
        "valueReference": {"@id": levels} if levels and field.column and field.levels else None,
        "additionalType": field.column.kind if field.column else None,
        "minValue": json_value(low),
        "maxValue": json_value(high),
        "unitText": field.column.unit if field.column else None,
        "valueRequired": None if field.column is None else not field.missing,
    }
    return drop_empty(facts)


def _words(field: Field) -> str:
    """Return what a column is, in words."""
    if field.column is None:
        return "made by the method"
    return field.label or ""


def _levels(place: str, field: Field) -> dict[str, Any]:
    """Return the record set that lists the levels of a column, with what they mean."""
    labels = dict(field.column.value_labels or ()) if field.column and not field.is_cell else {}
    value = {"@type": "cr:Field", "@id": f"{place}/value", "name": "value", "dataType": TYPES[field.type]}
    meaning = {"@type": "cr:Field", "@id": f"{place}/label", "name": "label", "dataType": "sc:Text"}
    lines = [{f"{place}/value": json_value(level)} for level in field.levels or ()]
    labelled = [
        {**line, f"{place}/label": str(labels.get(level, level))}
        for line, level in zip(lines, field.levels or (), strict=True)
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": place,
        "name": place,
        "description": f"The values that {field.name!r} may have, in their order.",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{place}/value"},
        "field": [value, meaning] if labels else [value],
        "data": labelled if labels else lines,
    }
