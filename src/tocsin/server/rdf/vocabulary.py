"""Namespaces and JSON-LD contexts of linked data: the seeds' contexts as they are printed, each with a supplement.

The seeds' contexts and ontologies name the same properties in different namespaces, so documents hold both names.
Contexts are always part of the document: nobody needs to fetch one.
*Source:* seeds/001 and 002; OpenMetadata's ``rdf/contexts/base.jsonld`` for entities. Next: ``nodes.py``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import orjson

from tocsin.model.entity import Document

OM = "https://open-metadata.org/schema/"
OM_EVENT = f"{OM}type/changeEvent/"
OM_EVENTS = f"{OM}events/"
OMO = "https://open-metadata.org/ontology/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DCTERMS = "http://purl.org/dc/terms/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PROV = "http://www.w3.org/ns/prov#"

PREFIXES = {
    "om": OM,
    "om-event": OM_EVENT,
    "om-events": OM_EVENTS,
    "omo": OMO,
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
    "dcterms": DCTERMS,
    "skos": SKOS,
    "prov": PROV,
    "sh": "http://www.w3.org/ns/shacl#",
}
"""Prefixes of Turtle, and of the supplements."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,99}")
"""What may be the name of a property or an individual; free keys of users never are."""

_NAMESPACES = {key: PREFIXES[key] for key in ("om-event", "om-events", "omo", "rdf", "rdfs", "xsd", "dcterms", "prov")}


def _link_term(name: str) -> Document:
    return {"@id": name, "@type": "@id"}


def _value_term(name: str, datatype: str) -> Document:
    return {"@id": name, "@type": f"xsd:{datatype}"}


_PROVENANCE = {
    "used": _link_term("prov:used"),
    "wasGeneratedBy": _link_term("prov:wasGeneratedBy"),
    "wasInvalidatedBy": _link_term("prov:wasInvalidatedBy"),
    "wasRevisionOf": _link_term("prov:wasRevisionOf"),
    "specializationOf": _link_term("prov:specializationOf"),
    "wasAttributedTo": _link_term("prov:wasAttributedTo"),
    "alternateOf": _link_term("prov:alternateOf"),
    "generatedAtTime": _value_term("prov:generatedAtTime", "dateTime"),
    "startedAtTime": _value_term("prov:startedAtTime", "dateTime"),
    "endedAtTime": _value_term("prov:endedAtTime", "dateTime"),
    "label": "rdfs:label",
}

ENTITY_CONTEXT: Document = {
    "@vocab": OMO,
    **_NAMESPACES,
    **_PROVENANCE,
    "name": "rdfs:label",
    "displayName": "skos:prefLabel",
    "skos": SKOS,
    "description": "dcterms:description",
    "updatedAt": "dcterms:modified",
    "updatedBy": "dcterms:contributor",
    "href": "rdfs:seeAlso",
    "deleted": "omo:isDeleted",
    "disabled": "omo:isDisabled",
    "provider": "dcterms:publisher",
    "sourceUrl": "dcterms:source",
    "owners": "omo:hasOwner",
    "experts": "omo:hasExpert",
    "followers": "omo:hasFollower",
    "reviewers": "omo:hasReviewer",
    "tags": "omo:hasTag",
    "domains": "omo:hasDomains",
    "dataProducts": "omo:hasDataProduct",
    "children": "omo:hasChild",
    "extension": "omo:hasExtension",
    "votes": "omo:hasVotes",
    "lifeCycle": "omo:hasLifeCycle",
    "changeDescription": "omo:hasChangeDescription",
    "certification": "omo:hasCertification",
    "columns": "omo:hasColumn",
    "database": "omo:belongsToDatabase",
    "databaseSchema": "omo:belongsToSchema",
    "service": "omo:belongsToService",
    "serviceType": "omo:hasServiceType",
    "tableType": "omo:hasTableType",
    "hasVersion": _link_term("dcterms:hasVersion"),
    "wasDerivedFrom": _link_term("prov:wasDerivedFrom"),
    "upstream": _link_term("omo:upstream"),
}
"""The context of entities: upstream's names, every literal with its datatype beside it."""

BRIDGES: dict[str, tuple[str, ...]] = {
    "changeEvent": (
        "eventType",
        "entityType",
        "entityId",
        "entityFullyQualifiedName",
        "previousVersion",
        "currentVersion",
        "timestamp",
        "userName",
        "userId",
        "hasChangeDescription",
        "affectsEntity",
    ),
    "eventSubscription": (
        "alertType",
        "enabled",
        "trigger",
        "filteringRules",
        "destinations",
        "batchSize",
        "retries",
        "pollInterval",
    ),
}
"""By seed, the names that its context has in ``om:`` and its ontology in ``om-event:`` or ``om-events:``."""

_LINKS = frozenset(
    {"eventType", "hasChangeDescription", "affectsEntity", "alertType", "trigger", "filteringRules", "destinations"}
)
_DATATYPES = {
    "previousVersion": "decimal",
    "currentVersion": "decimal",
    "timestamp": "dateTime",
    "enabled": "boolean",
    "batchSize": "integer",
    "retries": "integer",
    "pollInterval": "integer",
}


def _second_names(seed: str, prefix: str) -> Document:
    """Return the terms of a seed's ontology, typed as its context types its own."""
    terms: Document = {}
    for name in BRIDGES[seed]:
        term = f"{prefix}:{name}"
        if name in _LINKS:
            terms[term] = _link_term(term)
        elif name in _DATATYPES:
            terms[term] = _value_term(term, _DATATYPES[name])
    return terms


_EVENT_SUPPLEMENT: Document = {
    **_NAMESPACES,
    **_PROVENANCE,
    **_second_names("changeEvent", "om-event"),
    "om-event:performedBy": _link_term("om-event:performedBy"),
    "name": "om-event:fieldName",
    "entity": {"@id": "om:currentState", "@type": "@id", "@context": ENTITY_CONTEXT},
}
_ALERT_SUPPLEMENT: Document = {
    **_NAMESPACES,
    **_PROVENANCE,
    **_second_names("eventSubscription", "om-events"),
    "triggerType": _link_term("om-events:triggerType"),
    "category": _link_term("om-events:category"),
    "type": _link_term("om-events:type"),
    "hasVersion": _link_term("dcterms:hasVersion"),
    **{
        key: _link_term(f"om:{key}") | {"@context": {"@vocab": OM_EVENT, "name": "om-event:fieldName"}}
        for key in ("changeDescription", "incrementalChangeDescription")
    },
}


@cache
def published_text(name: str) -> str:
    """Return a file that a seed prints, as it is printed."""
    return (files(__package__) / "published" / name).read_text()


@cache
def seed_context(seed: str) -> Document:
    """Return the context that a seed prints: of ``changeEvent`` or ``eventSubscription``."""
    context: Document = orjson.loads(published_text(f"{seed}.jsonld"))["@context"]
    return context


@cache
def event_context() -> list[Document]:
    """Return the context of change events."""
    return [seed_context("changeEvent"), _EVENT_SUPPLEMENT]


@cache
def alert_context() -> list[Document]:
    """Return the context of event subscriptions."""
    return [seed_context("eventSubscription"), _ALERT_SUPPLEMENT]


def individual(word: str) -> str:
    """Return the name of an individual: ``entityUpdated`` is ``EntityUpdated``."""
    return word[:1].upper() + word[1:]
