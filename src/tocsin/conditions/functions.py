"""Which functions does a condition have, and what does each ask for? One row per function.

Names and arguments are upstream's where upstream has the function (``AlertsRuleEvaluator.java``); where its
behaviour is an accident we do what the name says (``docs/conditions.md`` lists the differences). To add one, add
a row. Next: ``conditions/check.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.conditions.fields import FQN_PATH, TESTED_NAMES, has
from tocsin.conditions.nodes import Compare, Kind, Literals, Node, Operator, PathValue, Root, conjoined, disjoined
from tocsin.conditions.paths import quoted

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """One function: what its arguments are called (each a list of texts), what it asks for, one line of meaning."""

    parameters: tuple[str, ...]
    asks: Callable[..., Node]
    meaning: str


def _any_of(field: str) -> Callable[[Texts], Node]:
    return lambda values: has(field, values)


def _entity_fqn(names: Texts) -> Node:
    return disjoined(has(FQN_PATH, names), has("testSuites", names))


def _entity_id(ids: Texts) -> Node:
    return has("entityId", tuple(one.lower() for one in ids))


def _of_type(entity_type: str, field: str) -> Callable[[Texts], Node]:
    return lambda values: conjoined(has("entityType", (entity_type,)), has(field, values))


def _column_change(columns: Texts) -> Node:
    return has("fieldChanged", tuple(f"columns.{quoted(column)}" for column in columns))


def _status_in_suite(statuses: Texts, suites: Texts) -> Node:
    return conjoined(has("testStatus", statuses), has("testSuites", suites))


def _named(entity_type: str) -> Callable[[Texts], Node]:
    """Return what asks for an ancestor of this type by name or FQN, or for the entity itself being it."""

    def asks(names: Texts) -> Node:
        paths = [(entity_type, key) for key in ("name", "fullyQualifiedName")]
        wanted = Literals(Kind.TEXT, tuple(sorted(set(names))))
        above = [Compare(Operator.EQ, PathValue(Root.ENTITY, path), wanted) for path in paths]
        own = [Compare(Operator.EQ, PathValue(Root.ENTITY, (path[1],)), wanted) for path in paths]
        return disjoined(*above, conjoined(has("entityType", (entity_type,)), disjoined(*own)))

    return asks


FUNCTIONS: dict[str, Function] = {
    "matchAnySource": Function(("types",), _any_of("entityType"), "the entity is of one of these types"),
    "matchAnyOwnerName": Function(("names",), _any_of("owners"), "one of these people or teams owns the asset"),
    "matchAnyEntityFqn": Function(
        ("fqns",), _entity_fqn, "the entity is one of these or lies under one; a test case also by its suites"
    ),
    "matchAnyEntityId": Function(("ids",), _entity_id, "the entity has one of these ids"),
    "matchAnyEventType": Function(("types",), _any_of("eventType"), "the event is of one of these types"),
    "matchTestResult": Function(("statuses",), _any_of("testStatus"), "the event reports one of these test results"),
    "filterByTableNameTestCaseBelongsTo": Function(
        ("tables",), _any_of(TESTED_NAMES), "a test case tests one of these tables, named in full or by its last parts"
    ),
    "getTestCaseStatusIfInTestSuite": Function(
        ("statuses", "suites"), _status_in_suite, "a test case of one of these suites reports one of these results"
    ),
    "matchUpdatedBy": Function(("users",), _any_of("userName"), "one of these users made the change"),
    "changedBy": Function(("users",), _any_of("userName"), "the same as `matchUpdatedBy`"),
    "isBot": Function((), lambda: has("isBot", (True,)), "a bot made the change"),
    "matchIngestionPipelineState": Function(
        ("states",),
        _of_type("ingestionPipeline", "pipelineStatus"),
        "an ingestion pipeline reports one of these states",
    ),
    "matchPipelineState": Function(
        ("states",), _of_type("pipeline", "pipelineStatus"), "a pipeline reports one of these states"
    ),
    "matchAnyFieldChange": Function(
        ("paths",), _any_of("fieldChanged"), "one of these fields, or one under it, changed"
    ),
    "matchAnyColumnChange": Function(("columns",), _column_change, "one of these columns came, went or changed"),
    "matchAnyDomain": Function(("domains",), _any_of("domains"), "the asset is in one of these domains"),
    "matchAnyTag": Function(("tags",), _any_of("tags"), "the asset, or a column of it, has one of these tags"),
    "matchAnyTier": Function(("tiers",), _any_of("tier"), "the asset is of one of these tiers"),
    "matchAnyService": Function(("services",), _any_of("service"), "the asset belongs to one of these services"),
    "matchAnyDatabase": Function(
        ("databases",), _named("database"), "the asset is, or lies in, one of these databases"
    ),
    "matchAnySchema": Function(("schemas",), _named("databaseSchema"), "the same for database schemas"),
}
"""Every function that holds or not, by name; ``oldValue`` and ``newValue`` return values and live in ``check``."""

LATER = frozenset({"matchConversationUser", "matchStatusTransition", "olderThan"})
"""Functions that the language will have and this version has not."""

RELATIONS: dict[str, str] = {
    "follows": "a destination of the category Followers",
    "owns": "a destination of the category Owners",
    "isMemberOf": "a destination of the category Teams",
}
"""Relations between a person and the event, ``user.follows(entity)``, and what says the same in an alert."""
