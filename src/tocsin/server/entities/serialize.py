"""Serialization of entities for responses: with inherited values, optional fields and label details.

Everything is looked up for a whole page at once. Next: ``server/entities/response.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.governance.labels import OF_THE_TAG, Name, derived_from, name_of
from tocsin.catalogue.observations.pipeline_observability import OBSERVABILITY
from tocsin.catalogue.observations.reports import REPORTS
from tocsin.flow.capture import secrets
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.inheritance import INHERITED_KEYS, lacks, place_of, with_inherited
from tocsin.model.labels import CERTIFICATION, certifying, label_lists
from tocsin.model.relations import BOTH_WAYS, RELATIONS, Relation
from tocsin.model.secret import SEALED, without_secrets
from tocsin.server.access.permissions import scopes_of, seen
from tocsin.server.entities.included_fields import SUMMARY, included, observed, summaries
from tocsin.server.entities.response import shown, shown_references, with_addresses, with_change_texts
from tocsin.server.http.request import Caller
from tocsin.store.alerts.subscriptions import ENTITY_TYPE as ALERT

_LISTED_RUNS = 5


def presented(
    row: EntityType,
    documents: Sequence[Document],
    caller: Caller,
    *,
    fields: frozenset[str] | None = None,
    with_heritage: bool = True,
) -> list[Document]:
    """Return entities for a response; ``fields`` are the requested ones, None shows all stored keys.

    Without ``with_heritage`` inherited values are not looked up: the entities hold them already.
    """
    is_asked = with_heritage and (fields is None or fields & set(INHERITED_KEYS))
    whole = _with_heritage(row, documents, caller) if is_asked else documents
    whole = in_tree(row, whole, caller, fields) if row.name in IN_TREE else whole
    extras = caller.visibility.trimmed(with_relations(row, whole, caller, fields or frozenset()))
    whole = caller.visibility.trimmed(whole)
    views = [shown(row, one, caller.root, fields=fields) | extra for one, extra in zip(whole, extras, strict=True)]
    _describe(views, caller)
    _list_runs(row, views, caller)
    views = _finished(views, caller)
    if caller.actor.is_bot and secrets.parts_of(row):
        return _with_secrets(row, views, caller)
    return [as_permitted(row, view, caller, document) for view, document in zip(views, documents, strict=True)]


def past(row: EntityType, document: Document, caller: Caller) -> Document:
    """Return a current or past state of an entity for a response, without optional fields."""
    (trimmed,) = caller.visibility.trimmed([document])
    views = [shown(row, trimmed, caller.root)]
    _list_runs(row, views, caller, with_earlier=False)
    (view,) = _finished(views, caller)
    return as_permitted(row, view, caller, document)


def as_permitted(row: EntityType, view: Document, caller: Caller, document: Document) -> Document:
    """Return a view of ``document``: with its masks if the caller may edit it, else without them."""
    less = without_secrets(view) if SEALED & view.keys() else view
    return view if less == view or may_edit(caller, row, document) else less


def may_edit(caller: Caller, row: EntityType, document: Document) -> bool:
    """Return whether the caller may edit an entity as a whole; who made an alert is one of its owners.

    So may people their own addresses: they see that a secret is there.
    """
    if caller.actor.is_admin or (row.name == "user" and document["id"] == caller.actor.id):
        return True
    asked = caller.parts.standing.as_asked(caller.permissions, Operation.EDIT_ALL, row.name, document)
    if caller.permissions.may(Operation.EDIT_ALL, row.name, asked):
        return True
    return row.name == ALERT and caller.actor.id == caller.parts.alert_stores.events.creator_of(document["id"])


def _with_secrets(row: EntityType, views: list[Document], caller: Caller) -> list[Document]:
    """Return connections in clear: bots have to connect."""
    if not views:
        return views
    known = caller.parts.observations.attachments([view["id"] for view in views], secrets.KIND)
    return [secrets.in_clear(row, view, known.get(view["id"], {})) for view in views]


def with_relations(
    row: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str]
) -> list[Document]:
    """Return for each document its requested relations: followers, followed assets, and more."""
    extras = included(row, documents, caller.parts, fields)
    ids = [document["id"] for document in documents]
    for key, values in _of_requester(documents, caller, fields & row.separate_keys).items():
        _add(extras, ids, key, values)
    if "followers" in fields and row.is_followable:
        followers = caller.parts.catalogue.followers_of(ids)
        for extra, one in zip(extras, ids, strict=True):
            extra["followers"] = followers.get(one, [])
    if "follows" in fields and row.name == "user":
        for extra, one in zip(extras, ids, strict=True):
            extra["follows"] = caller.parts.catalogue.follows(one)
    for key, relation in RELATIONS.get(row.name, {}).items():
        if key in fields:
            _relate(key, relation, documents, extras, caller)
    for key, relation in BOTH_WAYS.get(row.name, {}).items():
        if key in fields:
            _relate(key, relation, documents, extras, caller)
    return extras


def _add(extras: Sequence[Document], ids: Sequence[str], key: str, values: Mapping[str, object]) -> None:
    for extra, one in zip(extras, ids, strict=True):
        if one in values:
            extra[key] = values[one]


def _of_requester(
    documents: Sequence[Document], caller: Caller, fields: frozenset[str]
) -> dict[str, Mapping[str, object]]:
    """Return the values, by entity id, of the optional fields that depend on what the caller may see."""
    found: dict[str, Mapping[str, object]] = {}
    if SUMMARY in fields:
        found[SUMMARY] = summaries(caller.parts, documents, scopes_of(caller))
    if OBSERVABILITY in fields:
        found[OBSERVABILITY] = observed(caller.parts, documents, caller.visibility)
    return found


def _relate(
    key: str, relation: Relation, documents: Sequence[Document], extras: Sequence[Document], caller: Caller
) -> None:
    """Add to each document its related entities, as far as the caller may see them."""
    scopes = scopes_of(caller) if relation.counted else {}
    found = caller.parts.catalogue.related_entities(relation, documents, scopes=scopes)
    if relation.counted:
        for extra, document in zip(extras, documents, strict=True):
            extra[key] = found.get(document["id"], 0)
        return
    lists = {one: many for one, many in found.items() if isinstance(many, list)}
    visible = {one["id"] for one in seen(caller, [reference for many in lists.values() for reference in many])}
    for extra, document in zip(extras, documents, strict=True):
        own = document.get(key) or []
        known = {reference.get("id") for reference in own}
        others = (one for one in lists.get(document["id"], ()) if one["id"] in visible and one["id"] not in known)
        extra[key] = [*own, *others]


def _with_heritage(row: EntityType, documents: Sequence[Document], caller: Caller) -> list[Document]:
    if row.name == ALERT:
        return _with_owners_domains(documents, caller)
    entries = {one["id"]: place_of(row.name, one) for one in documents if lacks(row, one)}
    found = caller.parts.catalogue.heritage(entries.values()) if entries else {}
    return [
        with_inherited(row, one, found.get(entries[one["id"]], {})) if one["id"] in entries else one
        for one in documents
    ]


def _with_owners_domains(alerts: Sequence[Document], caller: Caller) -> list[Document]:
    """Return alerts, each without domains with those of its owners: nothing contains an alert but its owners' teams."""
    owners = {
        alert["id"]: [one["id"] for one in alert.get("owners") or ()] for alert in alerts if not alert.get("domains")
    }
    named = sorted({owner for many in owners.values() for owner in many})
    domains = caller.parts.catalogue.domains_of(named) if named else {}
    found: list[Document] = []
    for alert in alerts:
        every = {one["id"]: one for owner in owners.get(alert["id"], ()) for one in domains.get(owner, ())}
        inherited = [{**one, "inherited": True} for _, one in sorted(every.items())]
        found.append({**alert, "domains": inherited} if inherited else alert)
    return found


def mark_deleted(lists: Sequence[list[Document]], caller: Caller) -> None:
    """Say of those who are deleted softly that they are, in lists of references."""
    named = {one["id"] for references in lists for one in references if isinstance(one, dict) and "id" in one}
    gone = caller.parts.catalogue.deleted_ids_among(named) if named else frozenset()
    for references in lists if gone else ():
        references[:] = [{**one, "deleted": True} if one.get("id") in gone else one for one in references]


def _list_runs(row: EntityType, views: Sequence[Document], caller: Caller, *, with_earlier: bool = True) -> None:
    """Show the latest runs of ingestion pipelines in a list, as OpenMetadata does since 2.0; until then, the last."""
    kind = REPORTS[row.name] if row.name == "ingestionPipeline" else None
    if kind is None or not caller.parts.settings.is_api_since(2):
        return
    reported = [view for view in views if kind.held_as in view]
    ids = [view["id"] for view in reported]
    runs = caller.parts.observations.newest(ids, kind.name, _LISTED_RUNS) if ids and with_earlier else {}
    for view in reported:
        view[kind.held_as] = runs.get(view["id"]) or [view[kind.held_as]]


def _finished(views: Sequence[Document], caller: Caller) -> list[Document]:
    """Return views as they are answered: references with an address and whether they point to what is deleted."""
    named = {reference["id"] for view in views for reference in shown_references(view)}
    gone = caller.parts.catalogue.deleted_ids_among(named) if named else frozenset()
    finished = [with_addresses(view, caller.root, gone) for view in views]
    if caller.parts.settings.event_format != "openmetadata":
        return finished
    return [with_change_texts(view) for view in finished]


def _describe(views: Sequence[Document], caller: Caller) -> None:
    """Update every label from its current tag or term, and append the labels derived from terms."""
    lists = [labels for view in views for labels in label_lists(view) if labels]
    certified = [(view, label) for view in views if (label := certifying(view)) is not None]
    names = {name_of(label) for labels in lists for label in labels} | {name_of(label) for _, label in certified}
    if not names:
        return
    known = caller.parts.catalogue.labels(names)
    brought = {name_of(label) for labels in lists for label in _brought(labels, known)}
    known |= caller.parts.catalogue.labels(brought - known.keys()) if brought - known.keys() else {}
    for labels in lists:
        given = [label for label in labels if label.get("labelType") != "Derived"]
        labels[:] = [_described(label, known) for label in (*given, *_brought(given, known))]
    for view, label in certified:
        view[CERTIFICATION] = view[CERTIFICATION] | {"tagLabel": _described(label, known)}


def _brought(labels: Sequence[Document], known: Mapping[Name, Document]) -> list[Document]:
    given = {label["tagFQN"] for label in labels if label.get("labelType") != "Derived"}
    found = {
        one["tagFQN"]: one
        for label in labels
        if label.get("source") == "Glossary" and label.get("labelType") != "Derived"
        for one in derived_from(label, known.get(name_of(label), {}), given)
    }
    return list(found.values())


def _described(label: Document, known: Mapping[Name, Document]) -> Document:
    tag = known.get(name_of(label), {})
    return label | {key: tag[key] for key in OF_THE_TAG if key in tag}


_ABOVE = {"team": "parents", "user": "teams"}
IN_TREE = frozenset(_ABOVE)
"""The types that have a place in it."""


def in_tree(
    row: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str] | None
) -> list[Document]:
    """Return teams or people with the domains of their teams, and those that are in no team with the Organization."""
    whole = list(documents)
    if fields is None or "domains" in fields:
        bare = [one["id"] for one in whole if not one.get("domains")]
        found = caller.parts.catalogue.team_domains(bare) if bare else {}
        whole = [one | _inherited(found[one["id"]]) if one["id"] in found else one for one in whole]
    above = _ABOVE[row.name]
    if (fields is None or above in fields) and any(_is_top(one, above) for one in whole):
        root = caller.parts.catalogue.root_team()
        whole = [one | {above: [root]} if root and _is_top(one, above) else one for one in whole]
    return whole


def _inherited(domains: Sequence[Document]) -> Document:
    return {"domains": [{**domain, "inherited": True} for domain in domains]}


def _is_top(one: Document, above: str) -> bool:
    return not one.get(above) and not (above == "parents" and one["name"] == ORGANIZATION)
