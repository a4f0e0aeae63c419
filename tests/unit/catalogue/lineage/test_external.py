"""Tests of lineage edges extracted from change events, in every format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tocsin.catalogue.lineage.external import ReceivedEdge, edges_in, events_in
from tocsin.errors import InvalidInput

ORDERS = {"type": "table", "fullyQualifiedName": "pg.orders"}
CLEAN = {"type": "table", "fullyQualifiedName": "dwh.clean"}
EDGE: dict[str, Any] = {"fromEntity": ORDERS | {"id": "elsewhere", "name": "orders"}, "toEntity": CLEAN | {"id": "x"}}
PLAIN = {"fromEntity": ORDERS, "toEntity": CLEAN}


def event(**changes: Any) -> dict[str, Any]:
    return {
        "eventType": "entityUpdated",
        "entityType": "table",
        "entityId": "x",
        "entityFullyQualifiedName": "dwh.clean",
        "changeDescription": changes,
    }


def field(new: Any = None, old: Any = None, name: str = "lineage") -> list[dict[str, Any]]:
    return [{"name": name, "newValue": new, "oldValue": old}]


@pytest.mark.parametrize(
    "value", [EDGE, [EDGE], json.dumps(EDGE), json.dumps([EDGE]), {"fromEntity": EDGE["fromEntity"]}]
)
def test_an_edge_comes_alone_in_a_list_as_text_or_without_its_own_end(value: Any) -> None:
    assert edges_in(event(fieldsAdded=field(value))) == [ReceivedEdge(PLAIN, is_gone=False)]


def test_what_is_deleted_is_gone_and_what_is_updated_is_put() -> None:
    assert edges_in(event(fieldsDeleted=field(old=EDGE))) == [ReceivedEdge(PLAIN, is_gone=True)]
    other_edge = {"fromEntity": CLEAN, "toEntity": CLEAN}
    assert edges_in(event(fieldsUpdated=field(EDGE, EDGE))) == [ReceivedEdge(PLAIN, is_gone=False)]
    assert edges_in(event(fieldsUpdated=field(EDGE, [EDGE, other_edge]))) == [
        ReceivedEdge(other_edge, is_gone=True),
        ReceivedEdge(PLAIN, is_gone=False),
    ]


def test_details_come_along_without_stamps_and_ids_of_elsewhere() -> None:
    pipeline = {"id": "elsewhere", "type": "pipeline", "fullyQualifiedName": "airflow.x"}
    details = {"sqlQuery": "select 1", "createdAt": 5, "updatedBy": "x", "pipeline": pipeline}
    (heard,) = edges_in(event(fieldsAdded=field(EDGE | {"lineageDetails": details})))
    known_pipeline = {"type": "pipeline", "fullyQualifiedName": "airflow.x"}
    assert heard.edge["lineageDetails"] == {"sqlQuery": "select 1", "pipeline": known_pipeline}


def test_an_event_without_lineage_has_no_edges() -> None:
    assert edges_in(event(fieldsAdded=field(EDGE, name="columns"))) == []
    assert edges_in({"eventType": "entityCreated"}) == []
    assert edges_in(event(fieldsAdded=None, fieldsDeleted="x", fieldsUpdated=[5])) == []


@pytest.mark.parametrize(
    "garbage",
    [
        *(5, None, {}, {"eventType": 5}, {"eventType": "x", "changeDescription": 5}),
        event(fieldsAdded=field("no edge")),
        event(fieldsAdded=field(5)),
        event(fieldsAdded=field([[EDGE]])),
        event(fieldsAdded=field({"toEntity": CLEAN})),
    ],
)
def test_what_is_no_event_or_no_edge_is_refused(garbage: Any) -> None:
    with pytest.raises(InvalidInput):
        edges_in(garbage)


def test_events_come_alone_in_lists_pages_and_envelopes() -> None:
    single_event = event()
    assert events_in(single_event) == [single_event]
    assert events_in([single_event, single_event]) == [single_event, single_event]
    assert events_in({"data": [single_event], "paging": {}}) == [single_event]
    assert events_in([{"specversion": "1.0", "data": single_event}]) == [single_event]
