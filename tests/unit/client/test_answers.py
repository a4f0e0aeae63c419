"""Tests of the client's views of responses."""

from __future__ import annotations

import copy
import pickle

import pytest

from tocsin.client import Change, Entity

TABLE = Entity("table", {"id": "1", "name": "orders", "fullyQualifiedName": "a.orders", "displayName": "Orders"})


def test_every_key_is_an_attribute_in_either_spelling() -> None:
    assert (TABLE.id, TABLE.name, TABLE.fully_qualified_name) == ("1", "orders", "a.orders")
    assert TABLE.display_name == TABLE.displayName == "Orders"


def test_a_key_that_did_not_come_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="table has no field columns"):
        _ = TABLE.columns
    assert not hasattr(TABLE, "owners")


def test_an_entity_can_be_copied_pickled_and_kept_in_a_set() -> None:
    assert copy.deepcopy(TABLE) == TABLE == pickle.loads(pickle.dumps(TABLE))
    assert len({TABLE, copy.copy(TABLE)}) == 1


def change(event_type: str, **description: list[str]) -> Change:
    fields = {key: [{"name": name} for name in names] for key, names in description.items()}
    return Change({"eventType": event_type, "entityFullyQualifiedName": "a.orders", "changeDescription": fields})


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (change("entityCreated"), "created"),
        (change("entityDeleted", fieldsDeleted=["columns"]), "permanently deleted"),
        (change("entityUpdated"), "changed"),
        (
            change("entityUpdated", fieldsAdded=["tags"], fieldsUpdated=["description"]),
            "tags added, description changed",
        ),
        (change("entityUpdated", fieldsDeleted=list("abcde")), "a removed, b removed, c removed and 2 more"),
        (change("slaViolation"), "slaViolation"),
    ],
)
def test_a_change_says_in_a_few_words_what_happened(described: Change, expected: str) -> None:
    assert described.change_type == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([{"name": "cart_id"}], "column cart_id removed"),
        ('[{"name": "cart_id"}]', "column cart_id removed"),
        ([{"name": "a"}, {"name": "b"}], "columns a, b removed"),
        ([{"name": name} for name in "abcd"], "4 columns removed"),
        ([{"id": 1}], "columns removed"),
        ("not JSON", "columns removed"),
    ],
)
def test_what_came_or_went_is_named(members: object, expected: str) -> None:
    description = {"fieldsDeleted": [{"name": "columns", "oldValue": members}]}
    assert Change({"eventType": "entityUpdated", "changeDescription": description}).change_type == expected


def test_a_change_without_a_full_name_is_called_what_it_has() -> None:
    assert Change({"entityId": "1", "entity": {"name": "orders"}}).entity_name == "orders"
    assert Change({"entityId": "1"}).entity_name == "1"
