"""Tests of alerts without a personal recipient: they send only what all their editors may see."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, func, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.database.tables import message

_HIDDEN = [{"tagFQN": "PII.Sensitive"}]
_DENIED = {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"}


def _hook(name: str, **fields: Json) -> Json:
    endpoint = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/ours"}}
    rules = {"filteringRules": {"resources": ["table"]}, "destinations": [endpoint]}
    return {"name": name, "alertType": "Notification", **rules, **fields}


def message_count(engine: Engine) -> int:
    notify_all(engine)
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(message)).scalar_one())


@pytest.mark.parametrize("is_edited", [True, False], ids=["led elsewhere", "its maker gone for good"])
def test_an_alert_sends_no_more_than_all_its_editors_may_see(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, *, is_edited: bool
) -> None:
    mallory_id, mallory = served.person("mallory")
    restrict(administrator, mallory_id, _DENIED)
    people = table(administrator, "people", tags=_HIDDEN)
    with mallory:
        if is_edited:
            owner = [{"id": mallory_id, "type": "user"}]
            alert = create_entity(administrator, "/events/subscriptions", **_hook("ours", owners=owner))
            path = "/destinations/0/config/endpoint"
            elsewhere = {"op": "replace", "path": path, "value": "http://127.0.0.1:9/mine"}
            assert send_patch(mallory, f"/events/subscriptions/{alert['id']}", elsewhere).status_code == 200
        else:
            create_entity(mallory, "/events/subscriptions", **_hook("ours"))
            assert administrator.delete(f"/users/{mallory_id}?hardDelete=true").is_success
    before = message_count(sqlite_engine)
    description_operation = {"op": "add", "path": "/description", "value": "Who they are."}
    assert send_patch(administrator, f"/tables/{people['id']}", description_operation).is_success
    assert message_count(sqlite_engine) == before, "of what mallory may not see, the webhook hears nothing"
    assert send_patch(administrator, f"/tables/{orders['id']}", description_operation).is_success
    assert message_count(sqlite_engine) == before + is_edited, "of what she may see, it does while she is there"
