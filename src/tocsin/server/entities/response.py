"""Response fields of an entity: the keys of its type, those requested with ``fields=``, and absolute URLs.

OpenMetadata's client rejects a response with an unknown key, so keys outside the type's schema are removed.
Next: ``server/routes/entities/crud.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tocsin.delivery.wording.event_formats import with_texts
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import CHANGE_REQUESTS, FOLLOWERS, EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.member_fqn import with_member_names
from tocsin.model.phrases import suggestion_for, with_article
from tocsin.model.pointers import is_reference, references_in
from tocsin.model.runbook import RUNBOOK
from tocsin.model.subscription import with_destination_defaults, without_destination_names
from tocsin.server.http.paths import API
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE as ALERT

_OF_ALERTS = frozenset({"severity", RUNBOOK, "expires", "toMeOnly", "search"})
"""Own fields of alerts, and of tests, that OpenMetadata's clients refuse."""

ON_REQUEST = frozenset(
    {
        "owners",
        "tags",
        "followers",
        "domains",
        "extension",
        "teams",
        "users",
        "parents",
        "tests",
        "follows",
        "triggers",
        "dependsOn",
        *_OF_ALERTS,
    }
)
"""What a read leaves out unless ``fields=`` names it; an answer to a write holds what the entity holds."""

ALL = "*"
_WHOLE_CHANGE = "changeDescription"


_ONLY_BY_NAME = FOLLOWERS.keys() | {"incidentStatus", CHANGE_REQUESTS, *_OF_ALERTS}
"""Fields that strict clients of OpenMetadata do not know of every type: ``*`` leaves them out."""


DESTINATIONS = "destinations"
"""The field of alerts that is always answered: asked for by its name, with names and status of the destinations."""


def parse_fields(kind: EntityType, text: str | None) -> frozenset[str]:
    """Return the fields asked for: a comma list of names, or ``*`` for all that OpenMetadata's clients can read.

    Raises
    ------
    InvalidInput : one of them is no field of this type
    """
    names = frozenset(name.strip() for name in (text or "").split(",") if name.strip())
    if ALL in names:
        return kind.keys - (kind.added.keys() & _ONLY_BY_NAME) - {DESTINATIONS} | (names & kind.keys)
    unknown_names = sorted(names - kind.keys)
    if unknown_names:
        name = unknown_names[0]
        message = f"{with_article(kind.name)} has no field {name!r}; {suggestion_for(name, sorted(kind.keys))}"
        raise InvalidInput(message, field="fields")
    return names


_ON_WRITES = frozenset({"owners", "domains", "tags", "dataProducts", "reviewers"})
"""Lists that an answer to a write shows even if they are empty, as upstream's do."""

_WRITTEN_KEYS = {name: ENTITY_TYPES[name].keys - {RUNBOOK} for name in ("testCase", "testDefinition")}
"""What answers to writes show where that is not every key: connectors write tests, and refuse keys of ours."""

_CHANGES = ("changeDescription", "incrementalChangeDescription")
_WITHOUT_REFERENCES = frozenset({*_CHANGES, "connection", "sourceConfig", "columns", "pipelineObservability"})
"""Keys of an entity whose values are not searched for references: what they hold stays as it was sent."""

_EXTENSION = "extension"


def view_of(kind: EntityType, document: Document, root: str, *, fields: frozenset[str] | None = None) -> Document:
    """Return the document as it is answered; ``root`` is the server's address, ``fields`` None shows everything."""
    keys = _WRITTEN_KEYS.get(kind.name, kind.keys) if fields is None else kind.keys - (ON_REQUEST - fields)
    view = {key: value for key, value in with_member_names(kind, document).items() if key in keys}
    for key in (fields or frozenset()) & (kind.keys - kind.added.keys()) & ON_REQUEST & _LISTS:
        view.setdefault(key, [])
    for key in _ON_WRITES & (kind.keys - kind.added.keys()) if fields is None else ():
        view.setdefault(key, [])
    if kind.name == ALERT:
        is_named = fields is None or DESTINATIONS in fields
        view = with_destination_defaults(view if is_named else without_destination_names(view))
    if _WHOLE_CHANGE in view:  # of a version that is one change
        view.setdefault("incrementalChangeDescription", view[_WHOLE_CHANGE])
    if "testSuites" in view:  # as suites, which have no type, not as references
        view["testSuites"] = [_without_key(suite, "type") for suite in view["testSuites"]]
    if kind.name == "policy" and "rules" in view:  # as they were sent
        view["rules"] = [_without_key(rule, "fullyQualifiedName") for rule in view["rules"]]
    view["href"] = href(kind, document["id"], root)
    return view


def shown_references(view: Document) -> Iterator[Document]:
    """Yield the references in a view that ``with_addresses`` completes."""
    for key, value in view.items():
        if key == _EXTENSION:
            yield from references_in(list(_reference_properties(value).values()))
        elif key not in _WITHOUT_REFERENCES:
            yield from references_in(value)


def with_addresses(view: Document, root: str, deleted_ids: Collection[str]) -> Document:
    """Return a view whose references have an address and say whether they point to what is deleted softly."""
    return {key: _completed_value(key, value, root, deleted_ids) for key, value in view.items()}


def _completed_value(key: str, value: Any, root: str, deleted_ids: Collection[str]) -> Any:  # Any: as below
    if key == _EXTENSION:
        pointing = _reference_properties(value).items()
        return value | {name: _with_addresses(inner, root, deleted_ids) for name, inner in pointing}
    return value if key in _WITHOUT_REFERENCES else _with_addresses(value, root, deleted_ids)


def _reference_properties(extension: Document) -> Document:
    """Return the values of custom properties that are references or lists of them; rows of tables are neither."""
    return {
        name: value
        for name, value in extension.items()
        if isinstance(value, list) or (isinstance(value, dict) and is_reference(value))
    }


def _with_addresses(value: Any, root: str, deleted_ids: Collection[str]) -> Any:  # Any: whatever an entity holds
    if isinstance(value, list):
        return [_with_addresses(one, root, deleted_ids) for one in value]
    if not isinstance(value, dict):
        return value
    if is_reference(value):
        return with_address(value, root) | {"deleted": value["id"] in deleted_ids}
    return {key: _with_addresses(inner, root, deleted_ids) for key, inner in value.items()}


def with_change_texts(view: Document) -> Document:
    """Return a view whose changes have lists and objects as JSON texts, as upstream's do."""
    return view | {key: with_texts(view[key]) for key in _CHANGES if key in view}


def href(kind: EntityType, entity_id: str, root: str) -> str:
    """Return the absolute address of an entity."""
    return f"{root}{API}/{kind.collection}/{entity_id}"


def with_address(reference: Document, root: str) -> Document:
    """Return a reference with the absolute address of what it points to."""
    return {**reference, "href": href(ENTITY_TYPES[reference["type"]], reference["id"], root)}


def _without_key(document: Document, key: str) -> Document:
    return {name: value for name, value in document.items() if name != key}


_LISTS = ON_REQUEST - {"extension", *_OF_ALERTS}
