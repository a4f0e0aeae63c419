"""Tests of warnings about filters and actions that an alert's resources do not offer."""

from __future__ import annotations

import pytest

from tocsin.model.entity import Document
from tocsin.server.alerts.offers import remarks_on
from tocsin.server.alerts.request import readable

ALERT: Document = {"name": "a", "destinations": [{"category": "Owners", "type": "ActivityFeed", "config": {}}]}


def said(resources: list[str], *, alert_type: str = "Observability", **chosen: list[Document]) -> list[tuple[str, str]]:
    given = {**ALERT, "alertType": alert_type, "resources": resources, "input": chosen}
    return [(one.kind.value, one.field) for one in remarks_on(readable(given))]


def named(name: str, argument: str | None = None) -> Document:
    return {"name": name, **({"arguments": [{"name": argument, "input": ["a"]}]} if argument else {})}


def test_what_is_offered_goes_without_saying() -> None:
    filters, actions = [named("filterByFqn", "fqnList")], [named("GetTableSchemaChanges")]
    assert said(["table"], filters=filters, actions=actions) == []
    assert said(["topic", "table"], filters=filters, actions=actions) == []


@pytest.mark.parametrize(
    ("resources", "alert_type", "chosen", "place"),
    [
        (["table"], "Observability", {"actions": [named("GetTopicSchemaChanges")]}, "input.actions[0].name"),
        (["table"], "Observability", {"filters": [named("GetTableSchemaChanges")]}, "input.filters[0].name"),
        (
            ["announcement"],
            "Notification",
            {"filters": [named("filterByMentionedName", "userList")]},
            "input.filters[0].name",
        ),
    ],
)
def test_what_is_not_offered_is_named(
    resources: list[str], alert_type: str, chosen: dict[str, list[Document]], place: str
) -> None:
    assert ("notOffered", place) in said(resources, alert_type=alert_type, **chosen)
