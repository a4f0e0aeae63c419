"""Tests of the semantic changes derived from field changes."""

from __future__ import annotations

import pytest

from tocsin.conditions.changes import ASSET, ChangeOperation, EventChange, changes_of, derived_changes
from tocsin.model.change import ChangeEvent
from tocsin.model.list_identity import REFERENCE_LISTS

ADD, REMOVE, MODIFY = ChangeOperation.ADD, ChangeOperation.REMOVE, ChangeOperation.MODIFY
LISTS = {ADD: "fieldsAdded", MODIFY: "fieldsUpdated", REMOVE: "fieldsDeleted"}


def event(
    *changes: tuple[ChangeOperation, str, object], event_type: str = "entityUpdated", **keys: object
) -> ChangeEvent:
    described: dict[str, list[dict[str, object]]] = {name: [] for name in LISTS.values()}
    for operation, name, value in changes:
        key = "oldValue" if operation is REMOVE else "newValue"
        described[LISTS[operation]].append({"name": name, key: value})
    wire = {"id": "1", "eventType": event_type, "entityType": "table", "entityId": "2", "timestamp": 3, **keys}
    return ChangeEvent.model_validate({**wire, "changeDescription": described})


@pytest.mark.parametrize(
    ("operation", "name", "value", "expected"),
    [
        (ADD, "tags", [{"tagFQN": "PII.Sensitive"}], ("tag", ASSET, "PII.Sensitive")),
        (ADD, "columns.email.tags", [{"tagFQN": "PII.Sensitive"}], ("tag", "columns.email", "PII.Sensitive")),
        (REMOVE, "columns.email.tags", '[{"tagFQN": "A.b"}]', ("tag", "columns.email", "A.b")),
        (ADD, "tags", [{"tagFQN": "Shop.Order", "source": "Glossary"}], ("glossaryTerm", ASSET, "Shop.Order")),
        (ADD, "tags", [{"tagFQN": "Tier.Tier1"}], ("tier", ASSET, "Tier.Tier1")),
        (MODIFY, 'tags."PII.Sensitive"', {"tagFQN": "PII.Sensitive"}, ("tag", ASSET, "PII.Sensitive")),
        (MODIFY, 'tags."A.b"', None, ("tag", ASSET, "A.b")),
        (MODIFY, "tags", "odd", ("tag", ASSET, None)),
        (ADD, "certification", {"tagLabel": {"tagFQN": "Cert.Gold"}}, ("certification", ASSET, "Cert.Gold")),
        (ADD, "columns", [{"name": "email"}], ("schema", "columns.email", None)),
        (REMOVE, "columns", [{"name": "a.b"}], ("schema", 'columns."a.b"', None)),
        (REMOVE, "columns.at.children", [{"name": "zip"}], ("schema", "columns.at.children.zip", None)),
        (MODIFY, "columns", ["b", "a"], ("schema", ASSET, None)),
        (MODIFY, "columns.email.dataType", "TEXT", ("schema", "columns.email", None)),
        (MODIFY, "columns.email.anything", 1, ("schema", "columns.email", None)),
        (REMOVE, "columns.email", None, ("schema", "columns.email", None)),
        (MODIFY, "columns.email.description", "new", ("description", "columns.email", None)),
        (ADD, "messageSchema.schemaFields", [{"name": "x"}], ("schema", "messageSchema.schemaFields.x", None)),
        (MODIFY, "messageSchema.schemaFields.x.dataType", "INT", ("schema", "messageSchema.schemaFields.x", None)),
        (MODIFY, "messageSchema.schemaText", "{}", ("schema", ASSET, None)),
        (MODIFY, "description", "new", ("description", ASSET, None)),
        (MODIFY, "displayName", "new", ("name", ASSET, None)),
        (ADD, "owners", [{"id": "1", "type": "user", "name": "ann"}], ("owner", ASSET, "ann")),
        (ADD, "domains", [{"name": "b", "fullyQualifiedName": "a.b"}], ("domain", ASSET, "a.b")),
        (ADD, "followers", [{"id": "1", "type": "user", "name": "ben"}], ("follower", ASSET, "ben")),
        (MODIFY, "extension.costCenter", 1, ("customProperty", ASSET, "costCenter")),
        (MODIFY, "testCaseResult", {"testCaseStatus": "Failed"}, ("quality", ASSET, "Failed")),
        (MODIFY, "pipelineStatus", {"executionStatus": "Failed"}, ("run", ASSET, "Failed")),
        (MODIFY, "pipelineStatus", {"runId": "r", "pipelineState": "failed"}, ("run", ASSET, "failed")),
        (ADD, "pipelineStatus", {"runId": "r", "pipelineState": "partialSuccess"}, ("run", ASSET, "partialSuccess")),
        (MODIFY, "pipelineStatus", {"runId": "r"}, ("run", ASSET, None)),
        (MODIFY, "usageSummary", {}, ("usage", ASSET, None)),
        (MODIFY, "lineage", {}, ("lineage", ASSET, None)),
        (MODIFY, "entityStatus", "Draft", ("lifecycle", ASSET, None)),
        (MODIFY, "sourceUrl", "x", ("other", ASSET, "sourceUrl")),
        (MODIFY, 'not"a path', "x", ("other", ASSET, "not")),
    ],
)
def test_a_change_is_described_by_its_subject(
    operation: ChangeOperation, name: str, value: object, expected: tuple[str, str, str | None]
) -> None:
    category, target, name_of_value = expected
    assert changes_of(event((operation, name, value))) == [EventChange(category, operation, target, name_of_value)]


@pytest.mark.parametrize("operation", [ADD, REMOVE])
@pytest.mark.parametrize("key", ["dataLength", "constraint", "arrayDataType"])
def test_what_a_column_gains_or_loses_of_its_type_modifies_it(key: str, operation: ChangeOperation) -> None:
    retyped = event((MODIFY, "columns.note.dataType", "TEXT"), (operation, f"columns.note.{key}", 100))
    assert changes_of(retyped) == [EventChange("schema", MODIFY, "columns.note")]


@pytest.mark.parametrize("key", REFERENCE_LISTS)
@pytest.mark.parametrize("operation", [ADD, REMOVE])
def test_what_a_list_of_references_gains_or_loses_is_named(key: str, operation: ChangeOperation) -> None:
    first, two = ({"id": name, "type": "x", "name": name, "fullyQualifiedName": f"bi.{name}"} for name in ("a", "b"))
    changes = changes_of(event((operation, key, [first, two])))
    assert [change.value for change in changes] in (["a", "b"], ["bi.a", "bi.b"])
    assert {(change.operation, change.target) for change in changes} == {(operation, ASSET)}
    assert {change.category for change in changes} != {"other"}


def test_a_chart_is_called_by_its_fqn() -> None:
    gained = event((ADD, "charts", [{"fullyQualifiedName": "bi.total"}]))
    assert changes_of(gained) == [EventChange("schema", ADD, ASSET, "bi.total")]


def test_a_column_brings_its_tags_and_its_own_columns() -> None:
    column = {"name": "at", "tags": [{"tagFQN": "A.b"}], "children": [{"name": "zip", "tags": [{"tagFQN": "C.d"}]}]}
    assert changes_of(event((ADD, "columns", [column]))) == [
        EventChange("schema", ADD, "columns.at"),
        EventChange("tag", ADD, "columns.at", "A.b"),
        EventChange("schema", ADD, "columns.at.children.zip"),
        EventChange("tag", ADD, "columns.at.children.zip", "C.d"),
    ]


def test_a_schema_brings_its_fields() -> None:
    schema = {"schemaText": "{}", "schemaFields": [{"name": "x"}]}
    assert changes_of(event((ADD, "messageSchema", schema))) == [
        EventChange("schema", ADD, ASSET),
        EventChange("schema", ADD, "messageSchema.schemaFields.x"),
    ]


def test_a_tier_that_goes_while_one_comes_is_modified() -> None:
    moved = event((REMOVE, "tags", [{"tagFQN": "Tier.Tier1"}]), (ADD, "tags", [{"tagFQN": "Tier.Tier2"}]))
    assert changes_of(moved) == [EventChange("tier", MODIFY, ASSET, "Tier.Tier2")]


@pytest.mark.parametrize(
    ("event_type", "operation", "fate"),
    [
        ("entityCreated", ADD, "created"),
        ("entitySoftDeleted", REMOVE, "softDeleted"),
        ("entityRestored", ADD, "restored"),
        ("entityDeleted", REMOVE, "deleted"),
    ],
)
def test_the_fate_of_an_asset_is_one_change(event_type: str, operation: ChangeOperation, fate: str) -> None:
    notified = event((MODIFY, "deleted", True), (REMOVE, "entity", {}), event_type=event_type)
    assert changes_of(notified) == [EventChange("lifecycle", operation, ASSET, fate)]


def test_what_happens_to_a_thread_is_conversation() -> None:
    posted = event((ADD, "posts", [{"message": "a"}]), event_type="postCreated", entityType="thread")
    assert changes_of(posted) == [EventChange("conversation", ADD, ASSET)]
    begun = event(event_type="threadCreated", entityType="thread")
    assert changes_of(begun) == [EventChange("conversation", ADD, ASSET)]


def test_targets_are_kept_with_everything_above_them() -> None:
    assert derived_changes(event((ADD, "columns.a.tags", [{"tagFQN": "A\tb"}]))) == {
        "changeCategory": ["tag"],
        "changeOperation": ["add"],
        "changeTarget": ["columns", "columns.a"],
        "changes": ["tag\tadd\tcolumns\tA b", "tag\tadd\tcolumns.a\tA b"],
    }
