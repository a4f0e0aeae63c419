"""Tests of warnings about filters and actions that an alert's resources do not offer."""

from __future__ import annotations

import pytest

from tocsin.alerts.request import readable
from tocsin.model.entity import Document

ALERT: Document = {"name": "a", "destinations": [{"category": "Owners", "type": "ActivityFeed", "config": {}}]}


def remarks_of(
    resources: list[str], *, alert_type: str = "Observability", **inputs: list[Document]
) -> list[tuple[str, str]]:
    alert = readable({**ALERT, "alertType": alert_type, "resources": resources, "input": inputs})
    return [(one.kind.value, one.field) for one in alert.remarks]


def choice(name: str, argument: str | None = None) -> Document:
    return {"name": name, **({"arguments": [{"name": argument, "input": ["a"]}]} if argument else {})}


def test_what_is_offered_goes_without_saying() -> None:
    filters, actions = [choice("filterByFqn", "fqnList")], [choice("GetTableSchemaChanges")]
    assert remarks_of(["table"], filters=filters, actions=actions) == []
    assert remarks_of(["topic", "table"], filters=filters, actions=actions) == []


@pytest.mark.parametrize(
    ("resources", "alert_type", "inputs", "place"),
    [
        (["table"], "Observability", {"actions": [choice("GetTopicSchemaChanges")]}, "input.actions[0].name"),
        (["table"], "Observability", {"filters": [choice("GetTableSchemaChanges")]}, "input.filters[0].name"),
        (
            ["announcement"],
            "Notification",
            {"filters": [choice("filterByMentionedName", "userList")]},
            "input.filters[0].name",
        ),
    ],
)
def test_what_is_not_offered_is_named(
    resources: list[str], alert_type: str, inputs: dict[str, list[Document]], place: str
) -> None:
    assert ("notOffered", place) in remarks_of(resources, alert_type=alert_type, **inputs)
