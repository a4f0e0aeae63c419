"""Linked data of alerts: event subscriptions under the names of the seed's context and of its ontology.

Next: ``answers.py``.
"""

from __future__ import annotations

from typing import Any

from tocsin.model.entity import Document
from tocsin.server.rdf.entities import name_agent, reference_node
from tocsin.server.rdf.nodes import (
    Node,
    change_nodes,
    clean,
    iri_of,
    json_literal,
    literal_of,
    part_iri,
    time_text,
    version_iri,
    version_text,
)
from tocsin.server.rdf.vocabulary import BRIDGES, NAME

_TEXTS = ("id", "className", "name", "fullyQualifiedName", "displayName", "description", "provider", "href")
_NUMBERS = ("batchSize", "retries", "pollInterval")
_REFERENCES = ("owners", "domains", "followers", "triggers", "dependsOn")
_OPEN = ("input", "config", "extension", "tags")
_CHANGES = ("changeDescription", "incrementalChangeDescription")
_OF_EVENTS = "om-events:"


def alert_node(view: Document) -> Node:
    """Return the node of an alert as it is answered."""
    iri = iri_of(view["id"])
    node: Node = {
        "@id": iri,
        "@type": ["om:EventSubscription", f"{_OF_EVENTS}EventSubscription", "prov:Entity"],
        **{key: clean(view[key]) for key in _TEXTS if isinstance(view.get(key), str)},
        **{key: str(view[key]) for key in _NUMBERS if isinstance(view.get(key), int)},
        **{key: [reference_node(one) for one in view[key]] for key in _REFERENCES if view.get(key)},
        **{key: json_literal(view[key]) for key in _OPEN if view.get(key)},
        **_settings(view, iri),
        **_history(view, iri),
    }
    return node | _second_names(node)


def _second_names(node: Node) -> Node:
    """Return the values of the names that the ontology has in another namespace; nodes are named, not repeated."""
    names = (name for name in BRIDGES["eventSubscription"] if name in node)
    return {f"{_OF_EVENTS}{name}": _links_to(node[name]) for name in names}


def _links_to(value: Any) -> Any:  # Any: texts, flags, nodes and lists of them
    if isinstance(value, list):
        return [_links_to(one) for one in value]
    return value["@id"] if isinstance(value, dict) else value


def _settings(view: Document, iri: str) -> Node:
    node: Node = {}
    if isinstance(view.get("alertType"), str) and NAME.fullmatch(view["alertType"]):
        node["alertType"] = f"{_OF_EVENTS}{view['alertType']}"
    if isinstance(view.get("enabled"), bool):
        node["enabled"] = view["enabled"]
    if view.get("trigger"):
        node["trigger"] = _part(part_iri(iri, "trigger"), "TriggerConfig", view["trigger"], ("triggerType",))
    if view.get("filteringRules"):
        node["filteringRules"] = _part(part_iri(iri, "filteringRules"), "FilteringRules", view["filteringRules"])
    if view.get("destinations"):
        node["destinations"] = [_destination(iri, place, one) for place, one in enumerate(view["destinations"])]
    if view.get("notificationTemplate"):
        node["notificationTemplate"] = reference_node(view["notificationTemplate"])
    return node


def _destination(iri: str, place: int, destination: Document) -> Node:
    own_iri = part_iri(iri, "destinations", str(destination.get("id", place)))
    return _part(own_iri, "SubscriptionDestination", destination, ("category", "type"))


def _history(view: Document, iri: str) -> Node:
    """Return who made the current version, and when; the seed has the name as text, where PROV wants an agent."""
    node: Node = {}
    if isinstance(view.get("updatedAt"), int):
        node["updatedAt"] = time_text(view["updatedAt"])
    if "version" in view:
        node["version"] = version_text(view["version"])
        node["hasVersion"] = {"@id": version_iri(iri, view["version"]), "@type": "prov:Entity", "specializationOf": iri}
    if isinstance(view.get("updatedBy"), str):
        node["updatedBy"] = clean(view["updatedBy"])
        node["wasAttributedTo"] = name_agent(view["updatedBy"])
    for key in _CHANGES:
        if view.get(key):
            node[key] = change_nodes(part_iri(iri, key), view[key])
    return node


def _part(iri: str, class_name: str, part: Document, individuals: tuple[str, ...] = ()) -> Node:
    """Return the node of a part of an alert; these keys of it name individuals of the ontology."""
    node: Node = {"@id": iri, "@type": f"{_OF_EVENTS}{class_name}"}
    for key, value in part.items():
        name = "isEnabled" if key == "enabled" else key  # the ontology has ``enabled`` of alerts only
        if key in individuals and isinstance(value, str):
            node[key] = _OF_EVENTS + value if NAME.fullmatch(value) else {"@value": clean(value)}
        elif key in ("config", "statusDetails"):
            node[key] = json_literal(value)
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            node[name] = [clean(one) for one in value]
        elif value is not None:
            node[name] = literal_of(value)
    return node
