"""Tests that each event has exactly its kinds of change, and each category at least one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.conditions.changes import CATEGORIES, KNOWN_CATEGORIES
from tocsin.conditions.event_kinds import BY_EVENT_TYPE, BY_FIELD, kinds_in_category, kinds_of
from tocsin.conditions.fields import derive
from tocsin.model.change import OWN_FIELDS, ChangeDescription, ChangeEvent, EventType, FieldChange, describe
from tocsin.model.change_kinds import CHANGE_KINDS, EventKind
from tocsin.model.thread import THREAD

EVERY_FIELD = sorted({key for keys in CATEGORIES.values() for key in keys} | OWN_FIELDS)
REPORTS = {"testCaseResult", "testCaseStatus", "summary", "pipelineStatus"}


def event_of(event_type: str, change: ChangeDescription | None = None, **fields: Any) -> ChangeEvent:
    fields = {"entity_type": "table", "entity": {"name": "orders"}} | fields
    return ChangeEvent(
        id="e", event_type=EventType(event_type), entity_id="t", timestamp=1, change_description=change, **fields
    )


def names_of(event: ChangeEvent, *, by_bot: bool = False) -> list[str]:
    return [one.kind for one in kinds_of(event.event_type, derive(event, actor_is_bot=by_bot))]


def kinds_of_update(name: str, *, old: Any = None, new: Any = None, **fields: Any) -> list[str]:
    return names_of(event_of("entityUpdated", describe(name, old=old, new=new), **fields))


@pytest.mark.parametrize("event_type", sorted(EventType))
def test_an_event_type_of_a_kind_gives_it_whatever_changed(event_type: str) -> None:
    kind = BY_EVENT_TYPE.get(event_type)
    names = set(names_of(event_of(event_type, describe("description", old="a", new="b"))))
    assert names == {kind} if kind else "description" in names


def test_a_new_asset_is_of_one_kind_whatever_it_has_in_each_category_of_that() -> None:
    """Whoever never wants new assets does not hear of them because each has a name."""
    change = ChangeDescription(
        fields_added=[
            FieldChange(name="name", new_value="orders"),
            FieldChange(name="columns", new_value=[{"name": "id"}]),
        ]
    )
    kinds = kinds_of("entityCreated", derive(event_of("entityCreated", change), actor_is_bot=False))
    assert {one.kind for one in kinds} == {"creation"}
    assert {"lifecycle", "name", "schema"} <= {one.category for one in kinds}


@pytest.mark.parametrize(
    ("event_type", "kind"),
    [
        ("entityCreated", "creation"),
        ("entitySoftDeleted", "softDeletion"),
        ("entityRestored", "restoration"),
        ("entityDeleted", "deletion"),
    ],
)
def test_what_becomes_of_the_asset_as_a_whole_is_a_kind(event_type: str, kind: str) -> None:
    assert names_of(event_of(event_type)) == [kind]


@pytest.mark.parametrize("field", [one for one in EVERY_FIELD if one not in REPORTS])
def test_each_field_has_one_kind_of_its_category(field: str) -> None:
    category = next((name for name, keys in CATEGORIES.items() if field in keys), "other")
    (kind,) = kinds_of_update(field, old="a", new="b")
    remaining = {"schema": "columns", "lifecycle": "deprecation", "quality": "test"}.get(category, category)
    assert kind == BY_FIELD.get(field, remaining)
    assert kind in kinds_in_category(category)


@pytest.mark.parametrize(
    ("field", "status", "kind"),
    [
        ("testCaseResult", {"testCaseStatus": "Failed"}, "testFailure"),
        ("testCaseResult", {"testCaseStatus": "Aborted"}, "testFailure"),
        ("testCaseResult", {"testCaseStatus": "Success"}, "recovery"),
        ("testCaseResult", {"testCaseStatus": "Queued"}, "test"),
        ("testCaseStatus", "Failed", "testFailure"),
        ("pipelineStatus", {"executionStatus": "Failed"}, "runFailure"),
        ("pipelineStatus", {"executionStatus": "Successful"}, "recovery"),
        ("pipelineStatus", {"pipelineState": "running"}, "run"),
        ("pipelineStatus", {"pipelineState": "partialSuccess"}, "runFailure"),
    ],
)
def test_reports_are_told_apart_by_their_status(field: str, status: Any, kind: str) -> None:
    assert kinds_of_update(field, new=status, entity_type="testCase" if "test" in field else "pipeline") == [kind]


def test_labels_are_told_apart() -> None:
    labels = ["PII.Sensitive", "Team.Shop", "Tier.Tier1"]
    assert kinds_of_update("tags", new=[{"tagFQN": one} for one in labels]) == ["classification", "tag", "tier"]
    assert kinds_of_update("columns.email.tags", new=[{"tagFQN": "g.t", "source": "Glossary"}]) == ["glossaryTerm"]


def test_a_column_and_its_constraint_are_two_kinds() -> None:
    assert kinds_of_update("columns", new=[{"name": "id"}]) == ["columns"]
    assert kinds_of_update("columns.id.constraint", old="NOT_NULL", new="NULL") == ["constraint"]
    assert kinds_of_update("columns.id.description", old="a", new="b") == ["description"]


def test_breaking_changes_and_bots_cross_and_come_first() -> None:
    dropped = describe("columns", old=[{"name": "id", "dataType": "INT"}])
    event = event_of("entityUpdated", dropped, entity={"name": "orders", "columns": []})
    assert names_of(event, by_bot=True) == ["breaking", "bot", "columns"]


@pytest.mark.parametrize(
    ("thread_type", "kind"), [("Task", "task"), ("Announcement", "announcement"), ("Conversation", "discussion")]
)
def test_threads_are_told_apart_by_their_type(thread_type: str, kind: str) -> None:
    thread = {"type": thread_type, "message": "Is it right?"}
    assert names_of(event_of("threadCreated", entity_type=THREAD, entity=thread)) == [kind]
    mentioning = thread | {"message": "<#E::user::ann>"}
    assert names_of(event_of("threadCreated", entity_type=THREAD, entity=mentioning)) == [kind, "mention"]


VALUES = st.sampled_from([None, "a", [{"name": "id"}], [{"tagFQN": "PII.Sensitive"}], {"testCaseStatus": "Success"}])
CHANGES = st.builds(FieldChange, name=st.sampled_from(EVERY_FIELD), old_value=VALUES, new_value=VALUES)


@given(st.sampled_from(sorted(EventType)), st.lists(CHANGES, max_size=4), st.booleans())
def test_every_category_of_an_event_gives_a_kind_and_no_other_does(
    event_type: str, changes: list[FieldChange], is_bot: bool
) -> None:
    event = event_of(event_type, ChangeDescription().with_changes(*changes))
    derived = derive(event, actor_is_bot=is_bot)
    kinds = kinds_of(event_type, derived)
    assert {one.category for one in kinds if one.category} == set(derived["changeCategory"])
    assert {one.kind for one in kinds} <= CHANGE_KINDS.keys()
    assert len(kinds) == len(set(kinds))
    assert all(CHANGE_KINDS[one.kind].crosses == (not one.category) for one in kinds)


def test_every_kind_with_events_belongs_to_a_type_or_a_category_and_the_others_say_so() -> None:
    in_categories = {kind for category in KNOWN_CATEGORIES for kind in kinds_in_category(category)}
    crossing = {name for name, kind in CHANGE_KINDS.items() if kind.crosses}
    assert in_categories | set(BY_EVENT_TYPE.values()) | crossing == CHANGE_KINDS.keys()
    without = {name for name, kind in CHANGE_KINDS.items() if not kind.has_events}
    assert without == {"profileAnomaly", "usageDrop", "queryPattern"}


def test_an_event_without_changes_has_no_kind() -> None:
    assert kinds_of("userLogin", {}) == ()
    assert kinds_of("entityUpdated", {"isBot": True}) == (EventKind("bot", ""),)
