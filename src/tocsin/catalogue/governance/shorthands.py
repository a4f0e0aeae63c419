"""Expansion of short forms in create requests: a query without a name, a related term by its name.

Source: OpenMetadata's ``QueryRepository`` and ``GlossaryTermRepository``. Next: ``flow/capture/prepare.py``.
"""

from __future__ import annotations

import hashlib

from tocsin.catalogue.governance.custom_properties import kind_of
from tocsin.flow.capture.references import Resolver
from tocsin.model.entity import Document
from tocsin.model.list_identity import target_of


def with_query_name(entity_type: str, request: Document) -> Document:
    """Return a request to create or to put; a query that has no name is called by its checksum."""
    if entity_type == "query" and isinstance(request.get("query"), str):
        return {"name": _checksum(request["query"]), **request}
    return request


def expand(entity_type: str, resolver: Resolver, document: Document, old: Document) -> Document:
    """Return a document whose shorthands are spelled out. ``NotFound`` if a term or a kind is not there."""
    if entity_type == "query" and isinstance(document.get("query"), str):
        return document | {"checksum": _checksum(document["query"])}
    if entity_type == "glossaryTerm" and isinstance(document.get("relatedTerms"), list):
        terms = {target_of(one["term"]): one["term"] for one in old.get("relatedTerms") or ()}
        return document | {"relatedTerms": [_relation(resolver, one, terms) for one in document["relatedTerms"]]}
    if entity_type == "type" and isinstance(document.get("customProperties"), list):
        return document | {"customProperties": [_property(resolver, one) for one in document["customProperties"]]}
    return document


def _property(resolver: Resolver, definition: object) -> object:
    """Return a custom property with a whole reference to its kind; what is none is refused with the whole document."""
    if not isinstance(definition, dict) or not isinstance(definition.get("propertyType"), dict):
        return definition
    return {**definition, "propertyType": kind_of(resolver, definition)}


def _relation(resolver: Resolver, value: object, terms: dict[str, Document]) -> object:
    """Return a relation to a term, given as such, as a reference or by the term's name."""
    relation = value if isinstance(value, dict) and "term" in value else {"term": value}
    term = relation["term"]
    if isinstance(term, dict) and target_of(term) in terms:
        return {"relationType": "relatedTo", **relation, "term": terms[target_of(term)]}
    return {"relationType": "relatedTo", **relation, "term": resolver.one("glossaryTerm", term)}


def _checksum(query: str) -> str:
    return hashlib.md5(query.encode(), usedforsecurity=False).hexdigest()
