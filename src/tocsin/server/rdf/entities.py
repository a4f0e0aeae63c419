"""Linked data of entities and their lineage: the answer that JSON would give, as nodes of upstream's vocabulary.

References are links, named members (columns, tasks) and labels are nodes of their own, and what has no vocabulary, such
as a connection, is an ``rdf:JSON`` literal. What an asset was derived from is said as PROV says it.
Next: ``alerts.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tocsin.model.entity import Document
from tocsin.model.pointers import is_reference
from tocsin.server.rdf.nodes import (
    Node,
    agent_iri,
    clean,
    iri_of,
    json_literal,
    literal_of,
    part_iri,
    time_literal,
    time_text,
    typed_literal,
    version_iri,
    version_text,
)
from tocsin.server.rdf.vocabulary import NAME, individual

_APART = frozenset({"id", "version", "updatedBy", "changeDescription", "incrementalChangeDescription"})
_FREE = frozenset({"extension", "connection", "sourceConfig", "votes", "lifeCycle", "usageSummary", "joins", "profile"})
"""Keys whose values are literals, whatever they hold."""
_URLS = frozenset({"href", "sourceUrl", "endpointURL", "pipelineUrl", "dashboardUrl", "chartUrl", "taskUrl"})
"""Keys whose texts are addresses; as users wrote some of them, they are literals."""
_LABEL = "tagFQN"
ALERT = "eventsubscription"


def entity_node(entity_type: str, view: Document) -> Node:
    """Return the node of an entity as it is answered, with its current version."""
    iri = iri_of(view["id"])
    node = state_node(entity_type, view, iri)
    if "version" in view:
        version_node: Node = {"@id": version_iri(iri, view["version"]), "@type": "prov:Entity", "specializationOf": iri}
        if isinstance(view.get("updatedAt"), int):
            version_node["generatedAtTime"] = time_text(view["updatedAt"])
        if isinstance(view.get("updatedBy"), str):
            version_node["wasAttributedTo"] = name_agent(view["updatedBy"])
        previous = (view.get("changeDescription") or {}).get("previousVersion")
        if previous is not None and previous != view["version"]:
            version_node["wasRevisionOf"] = version_iri(iri, previous)
        node["hasVersion"] = version_node
    return node


def state_node(entity_type: str, view: Document, iri: str) -> Node:
    """Return what a document says, as statements about ``iri``."""
    node: Node = {"@id": iri, "@type": types_of(entity_type, view)}
    for key, value in view.items():
        if key not in _APART and NAME.fullmatch(key) and (rdf_value := _value(iri, key, value)) is not None:
            node[key] = rdf_value
    if "version" in view:
        node["version"] = typed_literal(version_text(view["version"]), "xsd:decimal")
    if isinstance(view.get("updatedBy"), str):
        node["updatedBy"] = clean(view["updatedBy"])
    if entity_type == "user" and isinstance(view.get("name"), str):
        node["alternateOf"] = agent_iri(None, view["name"])
    if view.get("changeDescription"):
        node["changeDescription"] = json_literal(view["changeDescription"])
    return node


def types_of(entity_type: str, view: Document) -> list[str]:
    """Return the classes of an entity: its own, and what it is to PROV."""
    own_class = class_of(entity_type)
    if entity_type == "user":
        return [own_class, "prov:Agent", "prov:SoftwareAgent" if view.get("isBot") else "prov:Person"]
    if entity_type == "team":
        return [own_class, "prov:Agent", "prov:Organization"]
    return [own_class, "prov:Entity"]


def class_of(entity_type: str) -> str:
    """Return upstream's class of the entities of a type."""
    if entity_type == ALERT:
        return "omo:EventSubscription"
    return f"omo:{individual(entity_type)}" if NAME.fullmatch(entity_type) else "omo:Entity"


def name_agent(name: str) -> Node:
    """Return the node of an agent of which no more than the name is known."""
    return {"@id": agent_iri(None, name), "@type": "prov:Agent", "label": clean(name)}


def reference_node(reference: Document) -> Node:
    """Return the node of what a reference points to."""
    node: Node = {"@id": iri_of(reference["id"]), "@type": class_of(reference["type"])}
    for key in ("name", "displayName", "fullyQualifiedName"):
        if isinstance(reference.get(key), str):
            node[key] = clean(reference[key])
    return node


def lineage_nodes(graph: Document) -> list[Node]:
    """Return a node for each asset of a lineage graph as it is answered."""
    sources: dict[str, set[str]] = defaultdict(set)
    for edge in (*graph["upstreamEdges"], *graph["downstreamEdges"]):
        sources[edge["toEntity"]].add(iri_of(edge["fromEntity"]))
    return [_derived_node(one, sorted(sources[one["id"]])) for one in (graph["entity"], *graph["nodes"])]


def _derived_node(reference: Document, sources: list[str]) -> Node:
    node = reference_node(reference)
    return node | ({"wasDerivedFrom": sources, "upstream": sources} if sources else {})


def _value(iri: str, key: str, value: object) -> Any:  # Any: literals, nodes and lists of them; None where none is
    if value is None or value == []:
        return None
    if key in _FREE:
        return json_literal(value)
    if key == "updatedAt":
        return time_literal(value)
    if key in _URLS and isinstance(value, str):
        return typed_literal(clean(value), "xsd:anyURI")
    if isinstance(value, dict):
        return _object(iri, key, value)
    if isinstance(value, list | tuple):
        return _list(iri, key, value)
    return literal_of(value)


def _object(iri: str, key: str, value: Document) -> Node:
    if is_reference(value):
        return reference_node(value)
    if isinstance(value.get(_LABEL), str):
        return _label(iri, value)
    return json_literal(value)


def _list(iri: str, key: str, values: Sequence[Any]) -> Any:  # Any: as above
    if not any(isinstance(one, dict | list) for one in values):
        return [literal_of(one) for one in values]
    if all(isinstance(one, dict) for one in values):
        if all(is_reference(one) for one in values):
            return [reference_node(one) for one in values]
        if all(isinstance(one.get(_LABEL), str) for one in values):
            return [_label(iri, one) for one in values]
        if all(isinstance(one.get("name"), str) for one in values):
            return list(_members(iri, key, values))
    return json_literal(values)


def _label(iri: str, label: Document) -> Node:
    return {"@id": part_iri(iri, "tags", label[_LABEL]), "@type": "omo:TagLabel", **_statements(iri, label)}


def _members(iri: str, key: str, members: Sequence[Document]) -> Iterator[Node]:
    """Yield a node for each named member, with its place in the list; names that are there twice have it in the IRI."""
    names: set[str] = set()
    for place, member in enumerate(members, start=1):
        step = member["name"] if member["name"] not in names else f"{member['name']}~{place}"
        names.add(member["name"])
        own_iri = part_iri(iri, key, step)
        yield {"ordinalPosition": literal_of(place), **_statements(own_iri, member), "@id": own_iri}


def _statements(iri: str, part: Document) -> Node:
    values = ((key, _value(iri, key, value)) for key, value in part.items() if NAME.fullmatch(key))
    return {key: value for key, value in values if value is not None}
