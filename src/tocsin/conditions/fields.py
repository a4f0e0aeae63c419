"""Which fields of an event can a condition name, and what do they hold? One row each.

``derive`` works out, once, when an event is captured, those that the event does not carry as such; both engines
then read the same stored values. Next: ``conditions/parse.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.conditions import documents
from tocsin.conditions.nodes import Constant, Has, Kind, Node, Scalar
from tocsin.conditions.paths import prefixes, quoted, suffixes
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes
    ----------
    name : as conditions write it
    kind : what it holds
    meaning : one line for ``docs/conditions.md``
    attribute : the attribute of ``ChangeEvent`` it is read from; None for a derived field
    """

    name: str
    kind: Kind
    meaning: str
    attribute: str | None = None


_ROWS = (
    Field("eventType", Kind.TEXT, "what happened: `entityCreated`, `entityUpdated`, …", "event_type"),
    Field("entityType", Kind.TEXT, "type of the changed entity: `table`, `testCase`, …", "entity_type"),
    Field("entityId", Kind.TEXT, "id of the changed entity", "entity_id"),
    Field("entityFullyQualifiedName", Kind.TEXT, "its fully qualified name", "entity_fully_qualified_name"),
    Field("userName", Kind.TEXT, "name of whoever made the change", "user_name"),
    Field("userId", Kind.TEXT, "id of whoever made the change", "user_id"),
    Field("timestamp", Kind.NUMBER, "when it happened, epoch milliseconds UTC", "timestamp"),
    Field("previousVersion", Kind.NUMBER, "version before the change", "previous_version"),
    Field("currentVersion", Kind.NUMBER, "version after the change", "current_version"),
    Field("fieldsAdded", Kind.TEXTS, "paths of the fields that were added"),
    Field("fieldsUpdated", Kind.TEXTS, "paths of the fields that were updated"),
    Field("fieldsDeleted", Kind.TEXTS, "paths of the fields that were deleted"),
    Field("fieldChanged", Kind.TEXTS, "every changed path and everything above it"),
    Field("tags", Kind.TEXTS, "tags of the asset and of its columns"),
    Field("owners", Kind.TEXTS, "names of the asset's owners, people and teams"),
    Field("domains", Kind.TEXTS, "fully qualified names of the asset's domains"),
    Field("tier", Kind.TEXT, "the asset's tier tag: `Tier.Tier1`"),
    Field("service", Kind.TEXT, "name of the service the asset belongs to"),
    Field("testStatus", Kind.STATUS, "result of a test, in the event that reports one"),
    Field("pipelineStatus", Kind.STATUS, "state of a run, in the event that reports one"),
    Field("testSuites", Kind.TEXTS, "fully qualified names of the test suites a test case is in"),
    Field("testedEntityFqn", Kind.TEXT, "fully qualified name of the table a test case tests"),
    Field("isBot", Kind.BOOLEAN, "whether a bot made the change"),
)

FIELDS: dict[str, Field] = {row.name: row for row in _ROWS}
"""Every field that conditions can name."""

FQN_PATH = "fqnPath"
TESTED_NAMES = "testedNames"

CLOSURES: dict[str, str] = {FQN_PATH: "entityFullyQualifiedName", TESTED_NAMES: "testedEntityFqn"}
"""Sets that functions ask for and no condition names, each worked out from one field where it is needed:
the FQN and everything above it; the tested table's FQN and every ending of it."""

NESTED_STATUSES = frozenset({"testCaseStatus", "executionStatus", "pipelineState"})
"""Keys in documents whose values are statuses, so compared without case."""


def kind_of(name: str) -> Kind:
    """Return what the field or closure ``name`` holds."""
    return Kind.TEXTS if name in CLOSURES else FIELDS[name].kind


def canonical(name: str, value: Scalar) -> str:
    """Return ``value`` as facts about the field ``name`` write it: a status in lower case, a truth value as a word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).lower() if kind_of(name) is Kind.STATUS else str(value)


def has(name: str, values: tuple[Scalar, ...]) -> Node:
    """Return the node "the field ``name`` equals, or holds, one of ``values``"."""
    wanted = tuple(sorted({canonical(name, value) for value in values}))
    return Has(name, wanted) if wanted else Constant(False)


def values_of(name: str, logged: LoggedEvent) -> tuple[Scalar, ...]:
    """Return the values that the field or closure ``name`` has in an event: none when it is missing."""
    if name in CLOSURES:
        close = prefixes if name == FQN_PATH else suffixes
        return tuple(inner for one in values_of(CLOSURES[name], logged) if one for inner in close(str(one)))
    attribute = FIELDS[name].attribute
    value = getattr(logged.event, attribute) if attribute else logged.derived.get(name)
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(value)
    return (float(value),) if FIELDS[name].kind is Kind.NUMBER else (value,)


def derive(event: ChangeEvent, *, actor_is_bot: bool) -> Document:
    """Return the derived fields of ``event`` as JSON, to be stored beside it."""
    change = event.change_description or ChangeDescription()
    document = event.entity or {}
    tag_names = list(dict.fromkeys(_tags(event, change)))
    domains = documents.references(document, "domains", "domain", full=True)
    return {
        "fieldsAdded": [c.name for c in change.fields_added],
        "fieldsUpdated": [c.name for c in change.fields_updated],
        "fieldsDeleted": [c.name for c in change.fields_deleted],
        "fieldChanged": _closure(event.entity_type, change),
        "tags": tag_names,
        "owners": list(dict.fromkeys(documents.references(document, "owners", "owner", full=False))),
        "domains": list(dict.fromkeys(domains if event.entity is not None else event.domains or ())),
        "tier": next((tag for tag in tag_names if tag.startswith(documents.TIER_PREFIX)), None),
        "service": documents.service(event.entity_type, event.entity_fully_qualified_name, document),
        "testStatus": _test_status(event, change),
        "pipelineStatus": _pipeline_status(event, change),
        "testSuites": list(dict.fromkeys(documents.references(document, "testSuites", "testSuite", full=True))),
        "isBot": actor_is_bot,
        "testedEntityFqn": documents.tested_table(document) if event.entity_type == "testCase" else None,
    }


def _tags(event: ChangeEvent, change: ChangeDescription) -> Iterator[str]:
    """Yield the asset's tags; without a document, those the change says were given."""
    if event.entity is not None:
        yield from documents.tags(event.entity)
        return
    for given in (*change.fields_added, *change.fields_updated):
        if given.name == "tags" or given.name.endswith(".tags"):
            yield from documents.tag_names(_decoded(given.new_value))


def _closure(entity_type: str, change: ChangeDescription) -> list[str]:
    """Return every changed path and every path above one, a member that came or went by its name."""
    row = ENTITY_TYPES.get(entity_type)
    children = row.children if row else None
    paths = list(change.paths())
    for moved in (*change.fields_added, *change.fields_deleted):
        if children and moved.name == children:
            paths += [f"{children}.{quoted(name)}" for name in _member_names(moved)]
    return list(dict.fromkeys(prefix for path in paths for prefix in prefixes(path)))


def _member_names(moved: FieldChange) -> Iterator[str]:
    for value in (moved.old_value, moved.new_value):
        yield from documents.texts(member.get("name") for member in documents.members(_decoded(value)))


def _test_status(event: ChangeEvent, change: ChangeDescription) -> str | None:
    """Return the result this event reports, not the one the test case happens to have."""
    document = event.entity or {}
    stored = (document.get("testCaseResult"), document.get("testCaseStatus"))
    if event.event_type is EventType.TEST_CASE_FAILURE:
        return _status(stored, "testCaseStatus")
    reported = _new_values(change, "testCaseResult", "testCaseResult.testCaseStatus", "testCaseStatus")
    return _status((*reported, *stored), "testCaseStatus") if reported else None


def _pipeline_status(event: ChangeEvent, change: ChangeDescription) -> str | None:
    """Return the state of the run this event reports."""
    reported = _new_values(change, "pipelineStatus", "pipelineStatus.executionStatus", "pipelineStatus.pipelineState")
    stored = (event.entity or {}).get("pipelineStatus")
    return _status((*reported, stored), "executionStatus", "pipelineState") if reported else None


def _new_values(change: ChangeDescription, *names: str) -> tuple[object, ...]:
    given = (*change.fields_updated, *change.fields_added)
    return tuple(_decoded(one.new_value) for name in names for one in given if one.name == name)


def _status(values: tuple[object, ...], *keys: str) -> str | None:
    """Return the first status in ``values``: a text as it is, an object's by one of ``keys``."""
    found = (value.get(key) if isinstance(value, dict) else value for value in values for key in keys)
    return next(documents.texts(found), None)


def _decoded(value: object) -> object:
    """Return ``value``, or what it spells: upstream writes old and new values as JSON text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
