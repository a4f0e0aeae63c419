"""Tests of what is asked about an alert before it is stored: its next times, and its messages as channels show them."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import restrict
from tests.serving import Json, Served

from tocsin.flow.schedule.cron import next_time_ms
from tocsin.model.subscription import Trigger, TriggerType

PREVIEW, TRIGGER = "/events/subscriptions/preview", "/events/subscriptions/validation/trigger"
DRAFT: Json = {"name": "Breaks", "severity": "Severity2", "runbook": "Ask Priya.", "destinations": "not yet"}


def message_of(client: httpx.Client, channel: str, **fields: object) -> Json:
    answer = client.post(PREVIEW, json={"alert": DRAFT, "channel": channel, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["message"]


@pytest.mark.parametrize("channel", ["Slack", "MsTeams", "GChat", "Email"])
def test_a_message_of_a_draft_is_shown_as_its_channel_shows_it(
    administrator: httpx.Client, orders: Json, channel: str
) -> None:
    (event,) = administrator.get("/events", params={"entityId": orders["id"]}).json()["data"]
    text = str(message_of(administrator, channel, eventId=event["id"]))
    assert "orders" in text
    assert "you own it" in text
    assert "Breaks" in text


def test_guidance_of_the_draft_is_in_its_messages(administrator: httpx.Client) -> None:
    text = str(message_of(administrator, "Slack", resource="testCase", eventType="entityUpdated", category="External"))
    assert "Severity 2 (high)" in text
    assert "Ask Priya." in text


def test_bell_and_webhook_are_shown_too(administrator: httpx.Client, orders: Json) -> None:
    (event,) = administrator.get("/events", params={"entityId": orders["id"]}).json()["data"]
    bell = message_of(administrator, "ActivityFeed", eventId=event["id"], category="Followers")
    assert bell["title"].startswith("orders")
    assert bell["reason"] == "you follow it (alert Breaks)"
    body = message_of(administrator, "Webhook", eventId=event["id"])
    assert body["entityFullyQualifiedName"] == orders["fullyQualifiedName"]
    cloud_event = message_of(administrator, "Webhook", eventId=event["id"], format="cloudEvents")
    assert cloud_event["specversion"] == "1.0"


@pytest.mark.parametrize(("resource", "says"), [("testCase", "still failing"), ("table", "still without an owner")])
def test_what_a_scheduled_check_finds_is_shown(administrator: httpx.Client, resource: str, says: str) -> None:
    mail = message_of(administrator, "Email", resource=resource, eventType="scheduledCheck")
    assert says in mail["subject"]
    assert "Sample Owner" not in mail["text"] or resource == "testCase"


def test_a_template_words_the_preview(administrator: httpx.Client) -> None:
    texts = {"templateSubject": "Mine: {{entity.name}}", "templateBody": "<p>By hand</p>"}
    template = administrator.post("/notificationTemplates", json={"name": "Mine", **texts}).json()
    reference = {"id": template["id"], "type": "notificationTemplate"}
    mail = message_of(administrator, "Email", resource="table", alert={"name": "A", "notificationTemplate": reference})
    assert mail["subject"] == "Mine: sample_table"
    assert "By hand" in mail["text"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"channel": "Slak"}, "did you mean Slack?"),
        ({"channel": ["Slack"]}, "channel"),
        ({"category": "Everybody"}, "category"),
        ({"alert": 1}, "alert"),
        ({"alert": {"severity": "bad"}}, "severity"),
        ({"alert": {"runbook": "x" * 1_001}}, "runbook"),
        ({"alert": {"trigger": {"timezone": "Mars"}}}, "trigger.timezone"),
        ({"channel": "Webhook", "format": "xml"}, "format"),
        ({"resource": None}, "resource"),
        ({"eventId": "x"}, "eventId"),
        ({"alert": {"notificationTemplate": {"id": "00000000-0000-0000-0000-000000000000", "type": "x"}}}, "not found"),
    ],
)
def test_previews_refuse_what_is_wrong_with_its_place(administrator: httpx.Client, fields: Json, says: str) -> None:
    request = {"alert": DRAFT, "channel": "Slack", "resource": "table", **fields}
    refusal = administrator.post(PREVIEW, json=request)
    assert refusal.status_code in (400, 404), refusal.text
    assert says in refusal.json()["message"]


def test_previews_show_no_more_than_their_asker_may_see(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    (event,) = administrator.get("/events", params={"entityId": orders["id"]}).json()["data"]
    request = {"alert": DRAFT, "channel": "Slack", "eventId": event["id"]}
    mallory_id, mallory = served.person("mallory")
    with mallory:
        hide = {"name": "hidden", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
        restrict(administrator, mallory_id, hide)
        assert mallory.post(PREVIEW, json=request).status_code == 404
    nora_id, nora = served.person("nora")
    with nora:
        forbid = {"name": "no", "effect": "deny", "operations": ["Create"], "resources": ["eventsubscription"]}
        restrict(administrator, nora_id, forbid)
        assert nora.post(PREVIEW, json={**request, "eventId": None, "resource": "table"}).status_code == 403


@pytest.mark.parametrize("expression", ["0 30 2 * * ?", "0 0/20 8-17 * * ?", "0 0 8 L * ?", "30 8 * * 1-5"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"])
def test_next_times_are_those_of_the_pipeline(
    served: Served, administrator: httpx.Client, expression: str, zone: str
) -> None:
    trigger = {"triggerType": "Scheduled", "cronExpression": expression, "timezone": zone}
    times = administrator.post(TRIGGER, json={"trigger": trigger}).json()["next"]
    stored = Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression=expression, timezone=zone)
    now_ms = served.app.state.parts.clock.now_ms()
    assert len(times) == 3
    assert times[0] > now_ms - 1_000
    assert [next_time_ms(stored, after_ms) for after_ms in (times[0] - 1_000, *times[:2])] == times


def test_next_times_end_with_the_schedule_and_errors_name_their_field(administrator: httpx.Client) -> None:
    def answer(**trigger: object) -> httpx.Response:
        return administrator.post(TRIGGER, json={"trigger": trigger})

    assert answer(triggerType="RealTime").json() == {"next": []}
    last_answer = answer(triggerType="Scheduled", cronExpression="0 0 8 1 1 ? 2020")
    assert last_answer.status_code == 400 or last_answer.json() == {"next": []}
    for trigger, field in (
        ({"cronExpression": "0 0 25 * * ?"}, "trigger.cronExpression"),
        ({"cronExpression": "0 0 8 * * ?", "timezone": "Mars"}, "trigger.timezone"),
        ({"cronExpression": 7}, "trigger.cronExpression"),
    ):
        refusal = answer(triggerType="Scheduled", **trigger)
        assert refusal.status_code == 400
        assert field in refusal.json()["message"]
    assert administrator.post(TRIGGER, json={"trigger": []}).status_code == 400
