"""Tests of derived event fields, for every form of document."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.conditions.fields import CLOSURES, STORED, Provenance, derive
from tocsin.model.change import LATE, RECORDED, STATE_AT_SCHEDULE, ChangeEvent
from tocsin.model.entity import Document


def derived_fields(*, is_bot: bool = False, **keys: Any) -> Document:
    wire = {"id": "1", "eventType": "entityUpdated", "entityType": "table", "entityId": "2", "timestamp": 3, **keys}
    return derive(ChangeEvent.model_validate(wire), actor_is_bot=is_bot)


def update_of(name: str, old: object = None, new: object = None) -> dict[str, Any]:
    return {"changeDescription": {"fieldsUpdated": [{"name": name, "oldValue": old, "newValue": new}]}}


def test_every_derived_field_is_there_even_when_the_event_says_nothing() -> None:
    assert derived_fields() == {
        "fieldsAdded": [],
        "fieldsUpdated": [],
        "fieldsDeleted": [],
        "fieldChanged": [],
        "tags": [],
        "owners": [],
        "domains": [],
        "tier": None,
        "service": None,
        "testStatus": None,
        "pipelineStatus": None,
        "reportedAt": None,
        "testSuites": [],
        "isBot": False,
        "isBreaking": False,
        "isAnnounced": False,
        "changeRequest": [],
        "openAnswers": None,
        "unchangedFor": None,
        "testedEntityFqn": None,
        "threadType": None,
        "mentions": [],
        "changeCategory": [],
        "changeOperation": [],
        "changeTarget": [],
        "changes": [],
    }


def test_a_changed_path_brings_everything_above_it() -> None:
    assert derived_fields(**update_of("columns.email.description"))["fieldChanged"] == [
        "columns",
        "columns.email",
        "columns.email.description",
    ]


def test_quotes_keep_a_part_with_dots_together() -> None:
    assert derived_fields(**update_of('columns."a.b".tags'))["fieldChanged"] == [
        "columns",
        'columns."a.b"',
        'columns."a.b".tags',
    ]


def test_a_column_that_came_or_went_counts_as_changed_by_its_name() -> None:
    change = {
        "fieldsAdded": [{"name": "columns", "newValue": [{"name": "id"}, {"name": "a.b"}]}],
        "fieldsDeleted": [{"name": "columns", "oldValue": '[{"name": "old"}]'}],
    }
    assert derived_fields(changeDescription=change)["fieldChanged"] == [
        "columns",
        "columns.id",
        'columns."a.b"',
        "columns.old",
    ]


def test_an_owner_who_came_is_no_path() -> None:
    change = {"fieldsAdded": [{"name": "owners", "newValue": [{"name": "ann"}]}]}
    assert derived_fields(changeDescription=change)["fieldChanged"] == ["owners"]


def test_tags_are_those_of_the_asset_and_its_nested_members_once() -> None:
    column = {"name": "a", "tags": [{"tagFQN": "B"}], "children": [{"name": "b", "tags": [{"tagFQN": "C"}]}]}
    document = {"tags": [{"tagFQN": "A"}, {"tagFQN": "Tier.Tier2"}], "columns": [column, column]}
    fields = derived_fields(entity=document)
    assert fields["tags"] == ["A", "Tier.Tier2", "B", "C"]
    assert fields["tier"] == "Tier.Tier2"


def test_an_event_without_its_document_has_the_tags_it_gives() -> None:
    change = {"fieldsAdded": [{"name": "tags", "newValue": [{"tagFQN": "PII.Sensitive"}]}]}
    assert derived_fields(changeDescription=change)["tags"] == ["PII.Sensitive"]


@pytest.mark.parametrize("key", ["owners", "owner"])
def test_owners_are_names_in_either_form(key: str) -> None:
    owner = {"type": "user", "name": "ann"}
    assert derived_fields(entity={key: [owner] if key == "owners" else owner})["owners"] == ["ann"]


def test_domains_are_full_names_where_there_are_any() -> None:
    domains = [{"name": "Retail", "fullyQualifiedName": "Business.Retail"}, {"name": "Ops"}]
    assert derived_fields(entity={"domains": domains})["domains"] == ["Business.Retail", "Ops"]


def test_a_service_is_named_by_reference_or_by_the_full_name() -> None:
    assert derived_fields(entity={"service": {"name": "shop"}})["service"] == "shop"
    assert derived_fields(entityFullyQualifiedName='"my.shop".sales.public.t')["service"] == "my.shop"
    assert derived_fields(entityType="databaseService", entity={"name": "shop"})["service"] == "shop"
    assert derived_fields(entityType="team", entityFullyQualifiedName="Finance")["service"] is None


def test_a_test_result_counts_only_in_the_event_that_reports_it() -> None:
    case = {"testCaseResult": {"testCaseStatus": "Failed"}}
    reported = update_of("testCaseResult", {"testCaseStatus": "Success"}, {"testCaseStatus": "Failed"})
    assert derived_fields(entityType="testCase", entity=case, **reported)["testStatus"] == "Failed"
    assert derived_fields(entityType="testCase", entity=case, **update_of("description"))["testStatus"] is None
    assert derived_fields(entityType="testCase", entity=case, eventType="testCaseFailure")["testStatus"] == "Failed"


def test_a_failure_that_comes_late_is_one_though_the_newest_result_is_a_success() -> None:
    case = {"testCaseResult": {"timestamp": 2000, "testCaseStatus": "Success"}}
    late = update_of("testCaseResult", case["testCaseResult"], {"timestamp": 1000, "testCaseStatus": "Failed"})
    assert (
        derived_fields(entityType="testCase", entity=case, eventType="testCaseFailure", **late)["testStatus"]
        == "Failed"
    )


@pytest.mark.parametrize(
    "value", [{"executionStatus": "Failed"}, '{"executionStatus": "Failed"}', {"pipelineState": "Failed"}, "Failed"]
)
def test_a_run_is_reported_in_any_form(value: object) -> None:
    assert (
        derived_fields(entityType="pipeline", **update_of("pipelineStatus", None, value))["pipelineStatus"] == "Failed"
    )


@pytest.mark.parametrize(
    "document",
    [
        {"entityLink": "<#E::table::s.d.c.t>"},
        {"entityLink": "<#E::table::s.d.c.t::columns::email>"},
        {"entityFQN": "s.d.c.t.email"},
    ],
)
def test_the_tested_table_is_known_from_link_or_name(document: Document) -> None:
    assert derived_fields(entityType="testCase", entity=document)["testedEntityFqn"] == "s.d.c.t"


def test_the_one_who_derives_says_whether_a_bot_acted() -> None:
    assert derived_fields(is_bot=True)["isBot"] is True


def test_an_asset_that_changed_before_has_an_age_and_a_new_one_has_none() -> None:
    event = ChangeEvent.model_validate(
        {"id": "1", "eventType": "entityUpdated", "entityType": "table", "entityId": "2", "timestamp": 5_000}
    )
    assert derive(event, actor_is_bot=False, last_changed_ms=2_000)["unchangedFor"] == 3_000
    assert derive(event, actor_is_bot=False, last_changed_ms=9_000)["unchangedFor"] == 0
    assert derive(event, actor_is_bot=False)["unchangedFor"] is None


def test_the_table_says_of_every_field_where_its_value_comes_from() -> None:
    attributes = {name: row.attribute for name, row in STORED.items() if row.attribute}
    assert {name: ChangeEvent.model_fields[one].alias for name, one in attributes.items()} == {n: n for n in attributes}
    captured = {name for name, row in STORED.items() if row.provenance is Provenance.CAPTURE}
    assert captured == {*derived_fields(), RECORDED, LATE, STATE_AT_SCHEDULE}
    assert set(CLOSURES.values()) <= set(STORED)
