"""Serialization of entities for responses: with inherited values, optional fields and label details.

Everything is looked up for a whole page at once. Next: ``server/entities/response.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.governance.labels import OF_THE_TAG, Name, derived_labels, name_of
from tocsin.catalogue.observations.pipeline_observability import OBSERVABILITY
from tocsin.catalogue.observations.reports import REPORTS
from tocsin.flow.capture import secrets
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import CHANGE_REQUESTS, EntityType
from tocsin.model.inheritance import INHERITED_KEYS, lacks, place_of, with_inherited
from tocsin.model.labels import CERTIFICATION, certification_of, label_lists
from tocsin.model.relations import BOTH_WAYS, RELATIONS, Relation
from tocsin.model.secret import SEALED, without_secrets
from tocsin.model.stored import Written
from tocsin.server.access.permissions import scopes_of, visible_references
from tocsin.server.changes.requests import standing_requests
from tocsin.server.entities.destination_status import with_statuses
from tocsin.server.entities.included_fields import SUMMARY, included_values, pipeline_observability, summaries
from tocsin.server.entities.response import DESTINATIONS, shown_references, view_of, with_addresses, with_change_texts
from tocsin.server.request import Caller
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE as ALERT

_LISTED_RUNS = 5


def views_of(
    kind: EntityType,
    documents: Sequence[Document],
    caller: Caller,
    *,
    fields: frozenset[str] | None = None,
    written: Written | None = None,
) -> list[Document]:
    """Return entities for a response; ``fields`` are the requested ones, None shows all stored keys.

    What is known of the entity that was ``written`` is not looked up again.
    """
    is_asked = (written is None or written.as_read is None) and (fields is None or fields & set(INHERITED_KEYS))
    entities = _with_heritage(kind, documents, caller) if is_asked else documents
    entities = in_tree(kind, entities, caller, fields) if kind.name in IN_TREE else entities
    extras = caller.visibility.visible_documents(requested_relations(kind, entities, caller, fields or frozenset()))
    entities = caller.visibility.visible_documents(entities)
    views = [
        view_of(kind, document, caller.root, fields=fields) | extra
        for document, extra in zip(entities, extras, strict=True)
    ]
    if kind.name == ALERT and DESTINATIONS in (fields or ()):
        views = with_statuses(views, caller)
    _describe(views, caller)
    _list_runs(kind, views, caller)
    views = _completed_views(views, caller, written.deletedness if written else {})
    if caller.actor.is_bot and secrets.parts_of(kind):
        return _with_secrets(kind, views, caller)
    return [as_permitted(kind, view, caller, document) for view, document in zip(views, documents, strict=True)]


def past(kind: EntityType, document: Document, caller: Caller) -> Document:
    """Return a current or past state of an entity for a response, without optional fields."""
    (trimmed,) = caller.visibility.visible_documents([document])
    views = [view_of(kind, trimmed, caller.root)]
    _list_runs(kind, views, caller, with_earlier=False)
    (view,) = _completed_views(views, caller, {})
    return as_permitted(kind, view, caller, document)


def as_permitted(kind: EntityType, view: Document, caller: Caller, document: Document) -> Document:
    """Return a view of ``document``: with its masks if the caller may edit it, else without them."""
    less = without_secrets(view) if SEALED & view.keys() else view
    return view if less == view or may_edit(caller, kind, document) else less


def may_edit(caller: Caller, kind: EntityType, document: Document) -> bool:
    """Return whether the caller may edit an entity as a whole; who made an alert is one of its owners.

    So may people their own addresses: they see that a secret is there.
    """
    if caller.actor.is_admin or (kind.name == "user" and document["id"] == caller.actor.id):
        return True
    subject_document = caller.parts.access.standing.as_asked(
        caller.permissions, Operation.EDIT_ALL, kind.name, document
    )
    if caller.permissions.may(Operation.EDIT_ALL, kind.name, subject_document):
        return True
    return kind.name == ALERT and caller.actor.id == caller.parts.alert_stores.events.creator_of(document["id"])


def _with_secrets(kind: EntityType, views: list[Document], caller: Caller) -> list[Document]:
    """Return connections in clear: bots have to connect."""
    if not views:
        return views
    stored_secrets = caller.parts.reports.observations.attachments([view["id"] for view in views], secrets.KIND)
    return [secrets.in_clear(kind, view, stored_secrets.get(view["id"], {})) for view in views]


def requested_relations(
    kind: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str]
) -> list[Document]:
    """Return for each document its requested relations: followers, followed assets, and more."""
    extras = included_values(kind, documents, caller.parts, fields)
    ids = [document["id"] for document in documents]
    for key, values in _of_requester(documents, caller, fields & kind.separate_keys).items():
        _add(extras, ids, key, values)
    if "followers" in fields and kind.is_asset:
        followers = caller.parts.catalogue.followers_of(ids)
        _add(extras, ids, "followers", {entity_id: followers.get(entity_id, []) for entity_id in ids})
    if "follows" in fields and kind.name == "user":
        _add(extras, ids, "follows", {entity_id: caller.parts.catalogue.follows(entity_id) for entity_id in ids})
    for key, relation in (*RELATIONS.get(kind.name, {}).items(), *BOTH_WAYS.get(kind.name, {}).items()):
        if key in fields:
            _relate(key, relation, documents, extras, caller)
    return extras


def _add(extras: Sequence[Document], ids: Sequence[str], key: str, values: Mapping[str, object]) -> None:
    for extra, entity_id in zip(extras, ids, strict=True):
        if entity_id in values:
            extra[key] = values[entity_id]


def _of_requester(
    documents: Sequence[Document], caller: Caller, fields: frozenset[str]
) -> dict[str, Mapping[str, object]]:
    """Return the values, by entity id, of the optional fields that depend on what the caller may see."""
    values_by_field: dict[str, Mapping[str, object]] = {}
    if SUMMARY in fields:
        values_by_field[SUMMARY] = summaries(caller.parts, documents, scopes_of(caller))
    if CHANGE_REQUESTS in fields:
        values_by_field[CHANGE_REQUESTS] = standing_requests([document["id"] for document in documents], caller)
    if OBSERVABILITY in fields:
        values_by_field[OBSERVABILITY] = pipeline_observability(caller.parts, documents, caller.visibility)
    return values_by_field


def _relate(
    key: str, relation: Relation, documents: Sequence[Document], extras: Sequence[Document], caller: Caller
) -> None:
    """Add to each document its related entities, as far as the caller may see them."""
    scopes = scopes_of(caller) if relation.counted else {}
    related_entities = caller.parts.catalogue.related_entities(relation, documents, scopes=scopes)
    if relation.counted:
        for extra, document in zip(extras, documents, strict=True):
            extra[key] = related_entities.get(document["id"], 0)
        return
    lists = {one: many for one, many in related_entities.items() if isinstance(many, list)}
    references = [reference for many in lists.values() for reference in many]
    visible_ids = {reference["id"] for reference in visible_references(caller, references)}
    for extra, document in zip(extras, documents, strict=True):
        own_references = document.get(key) or []
        own_ids = {reference.get("id") for reference in own_references}
        further_ids = visible_ids - own_ids
        extra[key] = [*own_references, *(one for one in lists.get(document["id"], ()) if one["id"] in further_ids)]


def _with_heritage(kind: EntityType, documents: Sequence[Document], caller: Caller) -> list[Document]:
    if kind.name == ALERT:
        return _with_owners_domains(documents, caller)
    entries = {document["id"]: place_of(kind.name, document) for document in documents if lacks(kind, document)}
    heritage = caller.parts.catalogue.heritage(entries.values()) if entries else {}
    return [
        with_inherited(kind, document, heritage.get(entries[document["id"]], {}))
        if document["id"] in entries
        else document
        for document in documents
    ]


def _with_owners_domains(alerts: Sequence[Document], caller: Caller) -> list[Document]:
    """Return alerts, each without domains with those of its owners: nothing contains an alert but its owners' teams."""
    owners = {
        alert["id"]: [one["id"] for one in alert.get("owners") or ()] for alert in alerts if not alert.get("domains")
    }
    owner_ids = sorted({owner for many in owners.values() for owner in many})
    domains = caller.parts.catalogue.domains_of(owner_ids) if owner_ids else {}
    documents_with_domains: list[Document] = []
    for alert in alerts:
        domains_by_id = {one["id"]: one for owner in owners.get(alert["id"], ()) for one in domains.get(owner, ())}
        inherited_domains = [{**one, "inherited": True} for _, one in sorted(domains_by_id.items())]
        documents_with_domains.append({**alert, "domains": inherited_domains} if inherited_domains else alert)
    return documents_with_domains


def mark_deleted(lists: Sequence[list[Document]], caller: Caller) -> None:
    """Say of those who are deleted softly that they are, in lists of references."""
    reference_ids = {one["id"] for references in lists for one in references if isinstance(one, dict) and "id" in one}
    deleted_ids = caller.parts.catalogue.deleted_ids_among(reference_ids) if reference_ids else frozenset()
    for references in lists if deleted_ids else ():
        references[:] = [{**one, "deleted": True} if one.get("id") in deleted_ids else one for one in references]


def _list_runs(kind: EntityType, views: Sequence[Document], caller: Caller, *, with_earlier: bool = True) -> None:
    """Show the latest runs of ingestion pipelines in a list, as OpenMetadata does since 2.0; until then, the last."""
    report_kind = REPORTS[kind.name] if kind.name == "ingestionPipeline" else None
    if report_kind is None or not caller.parts.settings.is_api_since(2):
        return
    reported = [view for view in views if report_kind.held_as in view]
    ids = [view["id"] for view in reported]
    runs = caller.parts.reports.observations.newest(ids, report_kind.name, _LISTED_RUNS) if ids and with_earlier else {}
    for view in reported:
        view[report_kind.held_as] = runs.get(view["id"]) or [view[report_kind.held_as]]


def _completed_views(views: Sequence[Document], caller: Caller, deletedness: Mapping[str, bool]) -> list[Document]:
    """Return views as they are answered: references with an address and whether they point to what is deleted."""
    reference_ids = {reference["id"] for view in views for reference in shown_references(view)}
    open_ids = reference_ids - deletedness.keys()
    deleted_ids = caller.parts.catalogue.deleted_ids_among(open_ids) if open_ids else frozenset()
    deleted_ids |= {one for one, is_deleted in deletedness.items() if is_deleted}
    finished = [with_addresses(view, caller.root, deleted_ids) for view in views]
    if caller.parts.settings.event_format != "openmetadata":
        return finished
    return [with_change_texts(view) for view in finished]


def _describe(views: Sequence[Document], caller: Caller) -> None:
    """Update every label from its current tag or term, and append the labels derived from terms."""
    lists = [labels for view in views for labels in label_lists(view) if labels]
    certified_views = [(view, label) for view in views if (label := certification_of(view)) is not None]
    names = {name_of(label) for labels in lists for label in labels} | {name_of(label) for _, label in certified_views}
    if not names:
        return
    tags = caller.parts.catalogue.labels(names)
    derived_names = {name_of(label) for labels in lists for label in _derived_labels(labels, tags)}
    tags |= caller.parts.catalogue.labels(derived_names - tags.keys()) if derived_names - tags.keys() else {}
    own_lists = [[label for label in labels if label.get("labelType") != "Derived"] for labels in lists]
    whole_lists = [{"tags": [*labels, *_derived_labels(labels, tags)]} for labels in own_lists]
    for labels, visible in zip(lists, caller.visibility.visible_documents(whole_lists), strict=True):
        labels[:] = [_with_tag_details(label, tags) for label in visible["tags"]]
    for view, label in certified_views:
        view[CERTIFICATION] = view[CERTIFICATION] | {"tagLabel": _with_tag_details(label, tags)}


def _derived_labels(labels: Sequence[Document], tags: Mapping[Name, Document]) -> list[Document]:
    given_fqns = {label["tagFQN"] for label in labels if label.get("labelType") != "Derived"}
    labels_by_fqn = {
        derived_label["tagFQN"]: derived_label
        for label in labels
        if label.get("source") == "Glossary" and label.get("labelType") != "Derived"
        for derived_label in derived_labels(label, tags.get(name_of(label), {}), given_fqns)
    }
    return list(labels_by_fqn.values())


def _with_tag_details(label: Document, tags: Mapping[Name, Document]) -> Document:
    tag = tags.get(name_of(label), {})
    return label | {key: tag[key] for key in OF_THE_TAG if key in tag}


_ABOVE = {"team": "parents", "user": "teams"}
IN_TREE = frozenset(_ABOVE)
"""The types that have a place in it."""


def in_tree(
    kind: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str] | None
) -> list[Document]:
    """Return teams or people with the domains of their teams, and those that are in no team with the Organization."""
    entities = list(documents)
    if fields is None or "domains" in fields:
        bare = [one["id"] for one in entities if not one.get("domains")]
        domains = caller.parts.catalogue.team_domains(bare) if bare else {}
        entities = [one | _inherited_domains(domains[one["id"]]) if one["id"] in domains else one for one in entities]
    parent_key = _ABOVE[kind.name]
    if (fields is None or parent_key in fields) and any(_is_top(one, parent_key) for one in entities):
        root = caller.parts.catalogue.root_team()
        entities = [one | {parent_key: [root]} if root and _is_top(one, parent_key) else one for one in entities]
    return entities


def _inherited_domains(domains: Sequence[Document]) -> Document:
    return {"domains": [{**domain, "inherited": True} for domain in domains]}


def _is_top(entity: Document, above: str) -> bool:
    return not entity.get(above) and not (above == "parents" and entity["name"] == ORGANIZATION)
