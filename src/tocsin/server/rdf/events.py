"""Linked data of change events: an event is a PROV activity that uses one version of an entity and generates another.

Next: ``entities.py``.
"""

from __future__ import annotations

from typing import Any

from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.server.rdf.entities import state_node
from tocsin.server.rdf.nodes import (
    Node,
    agent_iri,
    change_nodes,
    clean,
    iri_of,
    time_text,
    version_iri,
    version_text,
)
from tocsin.server.rdf.vocabulary import individual

_TEXTS = ("entityType", "entityId", "entityFullyQualifiedName", "userName", "userId")
SYSTEM = "system"
"""The user name and id of what Tocsin does by itself."""


def event_node(event: Document, *, by_bot: bool, reason: str | None = None) -> Node:
    """Return the node of an event in the default form, under the names of the seed's context and of its ontology.

    ``reason``, why the change was made as its author says, is its ``rdfs:comment``: neither has a name for it.
    """
    iri, entity = iri_of(event["id"]), iri_of(event["entityId"])
    at = time_text(event["timestamp"])
    event_and_change: dict[str, Any] = {  # Any: texts and nodes
        "eventType": f"om-event:{individual(event['eventType'])}",
        **{key: clean(event[key]) for key in _TEXTS if key in event},
        **{key: version_text(event[key]) for key in ("previousVersion", "currentVersion") if key in event},
        "timestamp": at,
        "affectsEntity": entity,
    }
    node: Node = {
        "@id": iri,
        "@type": ["om-event:ChangeEvent", "prov:Activity"],
        **event_and_change,
        **{f"om-event:{key}": value for key, value in event_and_change.items()},
        "startedAtTime": at,
        "endedAtTime": at,
        **_agent(event, by_bot=by_bot),
        **_versions(event, iri, entity, at),
    }
    if reason is not None:
        node["rdfs:comment"] = clean(reason)
    if event.get("changeDescription"):
        node["changeDescription"] = change_nodes(f"{iri}#changes", event["changeDescription"])
        node["om-event:hasChangeDescription"] = f"{iri}#changes"
    return node


def _agent(event: Document, *, by_bot: bool) -> Node:
    name, user_id = event.get("userName"), event.get("userId")
    if name is None and user_id is None:
        return {}
    iri = agent_iri(user_id, name)
    is_software = by_bot or SYSTEM in (name, user_id)
    agent: Node = {"@id": iri, "@type": ["prov:Agent", *(["prov:SoftwareAgent"] if is_software else [])]}
    if name is not None:
        agent |= {"label": clean(name), "alternateOf": agent_iri(None, name)}
    return {"performedBy": agent, "om-event:performedBy": iri}


def _versions(event: Document, iri: str, entity: str, at: str) -> Node:
    """Return what the event used and generated; an event that makes no version uses the current one."""
    previous, current_version = event.get("previousVersion"), event.get("currentVersion")
    is_new = (
        current_version is not None and current_version != previous and event["eventType"] != EventType.ENTITY_DELETED
    )
    used_version = previous if previous is not None else None if is_new else current_version
    node: Node = {}
    if used_version is not None:
        node["used"] = _version(entity, used_version)
    state_version = current_version if current_version is not None else previous
    if "entity" in event and state_version is not None:
        state = state_node(event["entityType"], event["entity"], version_iri(entity, state_version))
    elif is_new:
        state = {"@id": version_iri(entity, current_version), "@type": "prov:Entity"}
    else:
        state = {}
    if is_new:
        state |= {"wasGeneratedBy": iri, "generatedAtTime": at}
        if previous is not None:
            state["wasRevisionOf"] = version_iri(entity, previous)
    if event["eventType"] == EventType.ENTITY_DELETED and used_version is not None:
        node["used"] |= {"wasInvalidatedBy": iri}
    if state:
        node["entity"] = state | {"specializationOf": entity}
    return node


def _version(entity: str, version: object) -> Node:
    return {"@id": version_iri(entity, version), "@type": "prov:Entity", "specializationOf": entity}
