"""Tests of what the activity feed tells co-owners when an owner is gone for good."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.database.tables import change_event, notification


@pytest.mark.parametrize("follows", [True, False])
def test_co_owners_are_told_that_an_owner_is_gone_also_if_that_person_followed(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, *, follows: bool
) -> None:
    leaver_id, leaver = served.person("leaver")
    stayer_id, _ = served.person("stayer")
    owners = [{"id": one, "type": "user"} for one in (leaver_id, stayer_id)]
    asset = table(administrator, "shared", owners=owners)
    if follows:
        with leaver:
            assert leaver.put(f"/tables/{asset['id']}/followers", json=leaver_id).is_success
    notify_all(sqlite_engine)
    assert administrator.delete(f"/users/{leaver_id}?hardDelete=true").is_success
    notify_all(sqlite_engine)
    query = (
        select(notification.c.recipient_id)
        .join(change_event, change_event.c.id == notification.c.event_id)
        .where(change_event.c.entity_id == asset["id"], change_event.c.event_type == "entityUpdated")
    )
    with sqlite_engine.connect() as connection:
        assert connection.execute(query).scalars().all() == [stayer_id]
