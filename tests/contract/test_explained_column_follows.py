"""Tests that an explanation counts who follows a column among those whom an alert reaches."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served


@pytest.mark.parametrize(("change", "reached_names"), [("of a column", ("alice",)), ("deletion", ("alice", "bob"))])
def test_who_follows_a_column_is_reached_by_what_concerns_it(
    served: Served,
    administrator: httpx.Client,
    orders: Json,
    sqlite_engine: Engine,
    change: str,
    reached_names: tuple[str, ...],
) -> None:
    for name, column in zip(("alice", "bob"), orders["columns"], strict=False):
        user_id, client = served.person(name)
        with client:
            assert client.put(f"/tables/{orders['id']}/followers/{user_id}?column={column['name']}").is_success
    bell = {"category": "Followers", "type": "ActivityFeed"}
    alert = {"alertType": "Notification", "filteringRules": {"resources": ["table"]}, "destinations": [bell]}
    create_entity(administrator, "/events/subscriptions", name="Watch", **alert)
    notify_all(sqlite_engine)
    path = f"/tables/{orders['id']}"
    if change == "deletion":
        assert administrator.delete(f"{path}?hardDelete=true").is_success
    else:
        words = {"op": "add", "path": "/columns/0/description", "value": "Of whom."}
        assert send_patch(administrator, path, words).is_success
    notify_all(sqlite_engine)
    kind = "entityDeleted" if change == "deletion" else "entityUpdated"
    event = administrator.get(f"/events?{kind}=table&timestamp=0").json()["data"][-1]
    explanation = administrator.get(f"/events/{event['id']}/explain").json()
    (watch,) = [one for one in explanation["alerts"] if one["name"] == "Watch"]
    assert {one["name"] for one in watch["reached"]["data"] if one["isDue"]} == set(reached_names)
    assert {one["recipientName"] for one in explanation["notified"]["data"]} == set(reached_names)
