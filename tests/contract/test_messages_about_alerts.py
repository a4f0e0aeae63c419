"""Messages about alerts that are created, changed and deleted say whom they tell, and of what."""

from __future__ import annotations

import httpx
from tests.contract.test_explain import alert
from tests.serving import Json

SECRET = "s3cret"
HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": f"https://hooks.example.org/{SECRET}"}}
NAMED = {"name": "#data", "category": "External", "type": "Slack"}
CHAT = NAMED | {"config": {"endpoint": f"https://hooks.slack.com/services/T/B/{SECRET}"}}
MAILS = {"category": "External", "type": "Email", "config": {"receivers": ["a@example.org", "b@example.org"]}}
RULES = {"resources": ["table"], "rules": [{"effect": "include", "condition": "fieldChanged == 'columns'"}]}


def changes_of(client: httpx.Client, alert_id: str, event_type: str) -> list[str]:
    query = {"entityId": alert_id, "eventType": event_type, "format": "tocsin"}
    answer = client.get("/events", params=query)
    assert SECRET not in answer.text
    texts: list[str] = answer.json()["data"][-1]["changes"]
    return texts


def test_whom_an_alert_tells_of_what_is_said_with_each_change_of_it(administrator: httpx.Client) -> None:
    owners = {"category": "Owners", "type": "Email"}
    document: Json = alert(administrator, "Watch", filteringRules=RULES, destinations=[owners, CHAT, HOOK, MAILS])
    tells = "owners (Email), #data (Slack), https://hooks.example.org/********* (Webhook) and 2 addresses (Email)"
    facts = [f"tells: {tells}", "matches: tables where fieldChanged == 'columns'"]
    at_creation = changes_of(administrator, document["id"], "entityCreated")
    assert at_creation == [*facts, "sends: at once"]
    headers = {"content-type": "application/json-patch+json"}
    patch = [{"op": "add", "path": "/description", "value": "Changed columns."}]
    path = f"/events/subscriptions/{document['id']}"
    assert administrator.patch(path, json=patch, headers=headers).is_success
    at_update = changes_of(administrator, document["id"], "entityUpdated")
    assert at_update[-2:] == facts, at_update
    assert administrator.delete(f"{path}?hardDelete=true").is_success
    at_deletion = changes_of(administrator, document["id"], "entityDeleted")
    assert f"told: {tells}" in at_deletion, at_deletion
